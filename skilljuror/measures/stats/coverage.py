"""The planned trials behind a number: how many are final, measured and uncontaminated."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple

from skilljuror.measures.stats.intervals import Interval, t_interval

NO_VARIATION = "no variation between tasks"
"""Equal tasks give no interval: they show no variation."""
ONE_TASK = "one task gives no interval"


class TrialValue(NamedTuple):
    """One planned trial."""

    task: str
    """Name of its task."""
    condition: str
    """Name of its condition."""
    value: float | None
    """The outcome, or None."""
    final: bool
    """True if its outcome is final: a reward, a timeout, or accepted by a person."""
    contaminated: bool
    """True if it is invalid for its arm."""
    flags: str | None = None
    """Why it is, separated by commas."""
    suppressed: str | None = None
    """Why its condition gets no figures: too few usable trials by the study's rule; else None."""


@dataclass(frozen=True)
class ArmCoverage:
    """Counts of the trials of one condition."""

    condition: str
    """Its name."""
    planned: int
    """Planned trials."""
    final: int
    """Trials with a final outcome."""
    measured: int
    """Trials with a value."""
    contaminated: int
    """Trials that are invalid for the arm."""
    flags: tuple[str, ...] = ()
    """Why they are."""
    suppressed: str = ""
    """Why it gets no figures, else ""."""


@dataclass(frozen=True)
class Coverage:
    """The planned trials behind a number, and the reasons not to quote it."""

    arms: tuple[ArmCoverage, ...] = ()
    """Counts by condition; empty if unknown."""

    @classmethod
    def of(cls, trials: Iterable[TrialValue], conditions: Sequence[str]) -> "Coverage":
        """Count the trials of each condition, in this order."""
        arms: dict[str, list[TrialValue]] = {name: [] for name in conditions}
        for trial in trials:
            arms[trial.condition].append(trial)
        return cls(
            tuple(
                ArmCoverage(
                    condition=name,
                    planned=len(arm),
                    final=sum(trial.final for trial in arm),
                    measured=sum(trial.value is not None for trial in arm),
                    contaminated=sum(trial.contaminated for trial in arm),
                    flags=tuple(sorted({flag for trial in arm for flag in _flags(trial)})),
                    suppressed=next((one.suppressed for one in arm if one.suppressed), ""),
                )
                for name, arm in arms.items()
            )
        )

    @property
    def planned(self) -> int:
        return sum(arm.planned for arm in self.arms)

    @property
    def final(self) -> int:
        """Trials with a final outcome."""
        return sum(arm.final for arm in self.arms)

    @property
    def contaminated(self) -> int:
        """Trials that are invalid for their arm."""
        return sum(arm.contaminated for arm in self.arms)

    @property
    def open_trials(self) -> str:
        """Number of trials without a final outcome, by condition, as text; "" if all have one."""
        lacking = [(arm.condition, arm.planned - arm.final) for arm in self.arms]
        where = ", ".join(f"{condition} {count}" for condition, count in lacking if count)
        count = self.planned - self.final
        verb = "has" if count == 1 else "have"
        words = f"{count} of {self.planned} planned trials {verb} no final outcome ({where})"
        return words if count else ""

    @property
    def suppression(self) -> str:
        """Conditions with fewer usable trials than the study demands, as text; "" without any."""
        found = [f"{arm.condition} ({arm.suppressed})" for arm in self.arms if arm.suppressed]
        return f"too few usable trials of {' and '.join(found)}" if found else ""

    @property
    def contamination(self) -> str:
        """Number of contaminated trials by arm and why they are, as text; "" without any."""
        return " and ".join(
            f"{arm.contaminated} of {arm.planned} trials of {arm.condition} "
            f"{'is' if arm.contaminated == 1 else 'are'} contaminated"
            f"{_listed(arm.flags)}"
            for arm in self.arms
            if arm.contaminated
        )

    def __str__(self) -> str:
        measured = sum(arm.measured for arm in self.arms)
        parts = [
            f"{self.final} of {self.planned} planned trials final" if self.arms else "",
            f"{measured} measured" if measured < self.planned else "",
            self.contamination,
        ]
        return ", ".join(filter(None, parts))


def _flags(trial: TrialValue) -> list[str]:
    return trial.flags.split(", ") if trial.flags else []


def _listed(flags: Sequence[str]) -> str:
    return f" ({', '.join(flags)})" if flags else ""


NOT_COUNTED = Coverage()
"""For values without their trials."""


@dataclass(frozen=True, repr=False)
class ArmRate:
    """Mean over tasks of one condition."""

    estimate: float
    """The mean."""
    interval: Interval | None
    """Its interval over tasks; None for fewer than two tasks and if all tasks are equal."""
    tasks: int
    """Tasks with a value."""
    coverage: Coverage
    """The trials behind it."""

    @property
    def reason(self) -> str:
        """Reason for a missing interval, else ""."""
        if self.interval is not None:
            return ""
        return f"undetermined: {ONE_TASK if self.tasks < 2 else NO_VARIATION}"

    def __repr__(self) -> str:
        """The rate, after the reasons not to quote it."""
        found = self.interval
        ends = (
            f"{100 * found.level:g} % interval {found.low:.3g} to {found.high:.3g}, {found.method}"
            if found
            else self.reason
        )
        basis = f"{self.tasks} task{'' if self.tasks == 1 else 's'}"
        of = self.coverage
        problem = of.suppression or of.open_trials or of.contamination
        mark = f"not quotable, {problem}: " if problem else ""
        return f"{mark}{self.estimate:.3g} ({ends}, {basis}; {self.coverage})"


def arm_rate(trials: Sequence[TrialValue], condition: str) -> ArmRate:
    """Return the mean over tasks of a condition, with Student's interval over tasks (measures §8).
    At least one trial must have a value."""
    values: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.value is not None:
            values[trial.task].append(trial.value)
    means = [fmean(values[task]) for task in sorted(values)]
    se = stdev(means) / math.sqrt(len(means)) if len(means) > 1 else None
    interval = t_interval(fmean(means), se, len(means) - 1)
    return ArmRate(fmean(means), interval, len(means), Coverage.of(trials, [condition]))

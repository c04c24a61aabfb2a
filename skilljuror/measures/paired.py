"""Paired deltas over tasks, the headline of a study (measures §1.8), with coverage and verdict.

Trials inside a task are exchangeable and never matched one to one; the task is the unit.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.measures.rates import Arm, Interval, cut, t_interval, z_interval

NO_VARIATION = "no variation between tasks"
"""Equal tasks give no interval: they show no variation."""
ONE_TASK = "one task gives no interval"
ALPHA = 0.05
_LARGEST = {"pp": 100.0, "share": 1.0}
"""Unit of a difference of rates -> the largest that there can be, where its intervals end."""
VerdictWord = Literal["better", "worse", "equivalent", "inconclusive", "undetermined"]


class TrialValue(Struct, frozen=True):
    """One planned trial."""

    task: str
    condition: str
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


class ArmCoverage(Struct, frozen=True):
    """Counts of the trials of one condition."""

    condition: str
    planned: int
    final: int
    measured: int
    """Trials with a value."""
    contaminated: int
    flags: tuple[str, ...] = ()
    """Why they are."""
    suppressed: str = ""
    """Why it gets no figures, else ""."""


class Coverage(Struct, frozen=True):
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
                    flags=tuple(
                        sorted({f for trial in arm if trial.flags for f in trial.flags.split(", ")})
                    ),
                    suppressed=next((trial.suppressed for trial in arm if trial.suppressed), ""),
                )
                for name, arm in arms.items()
            )
        )

    @property
    def planned(self) -> int:
        return sum(arm.planned for arm in self.arms)

    @property
    def final(self) -> int:
        return sum(arm.final for arm in self.arms)

    @property
    def contaminated(self) -> int:
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
        arms = [f"{arm.condition} ({arm.suppressed})" for arm in self.arms if arm.suppressed]
        return f"too few usable trials of {' and '.join(arms)}" if arms else ""

    @property
    def contamination(self) -> str:
        """Number of contaminated trials by arm and why they are, as text; "" without any."""
        return " and ".join(
            f"{arm.contaminated} of {arm.planned} trials of {arm.condition} "
            f"{'is' if arm.contaminated == 1 else 'are'} contaminated"
            + (f" ({', '.join(arm.flags)})" if arm.flags else "")
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


class PairedDelta(Struct, frozen=True):
    """Mean over tasks of (treatment mean - control mean)."""

    delta: float | None
    """The mean; None without a task in both arms."""
    unit: str
    """pp for rates (differences are points, never percent), else the unit of the outcome."""
    tasks: int
    """Tasks with trials in both arms."""
    sd: float | None
    """Standard deviation of the per-task deltas, denominator T-1; None for fewer than two tasks."""
    se: float | None
    """sd / sqrt(T)."""
    t: Interval | None
    """Student interval with T-1 degrees of freedom: the one to quote. None for fewer than two tasks
    and if all deltas are equal."""
    z: Interval | None
    """Normal interval, too narrow for few tasks; only for comparison with published half-widths."""
    by_task: tuple[tuple[str, float], ...]
    """(task, delta), by name."""
    dropped: tuple[str, ...]
    """Tasks missing in either arm, dropped from both."""
    coverage: Coverage = Coverage()
    """Trials of treatment and control; empty if unknown."""
    clean: "PairedDelta | None" = None
    """The same without contaminated trials; None if no trial is contaminated."""
    method: str = "paired task means"

    def interval(self, level: float) -> Interval | None:
        """Student's interval of another level."""
        largest = _LARGEST.get(self.unit, math.inf)
        return cut(t_interval(self.delta, self.se, self.tasks - 1, level), -largest, largest)

    @property
    def no_interval(self) -> str:
        """Reason for a missing interval, else ""."""
        if self.t is not None:
            return ""
        if self.tasks > 1:
            return NO_VARIATION
        return ONE_TASK if self.tasks else "no task has a value in both arms"

    @property
    def refusal(self) -> str:
        """Reason not to quote the difference, else ""."""
        if reason := self.coverage.suppression or self.coverage.open_trials:
            return reason
        if self.clean is None:
            return ""
        contamination = self.coverage.contamination
        if self.clean.no_interval:
            return f"{contamination}; without them, {self.clean.no_interval}"
        few = [arm.condition for arm in self.coverage.arms if 2 * arm.contaminated > arm.planned]
        return f"{contamination}; fewer than half of {few[0]} remain" if few else ""

    def __repr__(self) -> str:
        """The difference, after the reasons not to quote it."""
        count = f"{self.tasks} task{'' if self.tasks == 1 else 's'}"
        text = "no difference" if self.delta is None else f"{self.delta:+.3g} {self.unit}"
        if self.t is None:
            text += f", undetermined: {self.no_interval} ({count}"
        else:
            ends = f"{100 * self.t.level:g} % interval {self.t.low:+.3g} to {self.t.high:+.3g}"
            text += f" ({ends}, {self.t.method}, {count}"
        basis = str(self.coverage)
        text = f"{text}{basis and f'; {basis}'})"
        if self.refusal:
            return f"not quotable, {self.refusal}: {text}"
        return f"{text}; without contaminated trials {self.clean!r}" if self.clean else text


def contrast(
    trials: Iterable[TrialValue], treatment: str, control: str, *, unit: str = "pp"
) -> PairedDelta:
    """Return `paired_delta` of planned trials with the coverage of those that enter, of the tasks planned in
    both arms, and, if some are contaminated, the same without these. Trials without a value are left out."""
    rows = list(trials)
    of_arm = [{row.task for row in rows if row.condition == arm} for arm in (treatment, control)]
    entering = [trial for trial in rows if trial.task in of_arm[0] & of_arm[1]]
    clean = [trial for trial in entering if not trial.contaminated]
    return replace(
        _delta(rows, treatment, control, unit),
        coverage=Coverage.of(entering, [treatment, control]),
        clean=_delta(clean, treatment, control, unit) if len(clean) < len(entering) else None,
    )


def _delta(trials: Iterable[TrialValue], treatment: str, control: str, unit: str) -> PairedDelta:
    arms: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in (treatment, control)}  # fmt: skip
    for trial in trials:
        if trial.value is not None:
            arms[trial.condition][trial.task].append(trial.value)
    return paired_delta(arms[control], arms[treatment], unit=unit)


def paired_delta(
    control: Arm, treatment: Arm, *, level: float = 0.95, unit: str = "pp"
) -> PairedDelta:
    """Delta = (1/T) sum of per-task differences, with equal weights (measures §1.8)."""
    both = sorted(task for task in control if control[task] and treatment.get(task))
    scale = 100.0 if unit == "pp" else 1.0
    values = [scale * _difference(fmean(treatment[task]), fmean(control[task])) for task in both]
    sd = stdev(values) if len(values) > 1 else None
    se = None if sd is None else sd / math.sqrt(len(values))
    delta = fmean(values) if values else None
    largest = _LARGEST.get(unit, math.inf)
    return PairedDelta(
        delta=delta,
        unit=unit,
        tasks=len(values),
        sd=sd,
        se=se,
        t=cut(t_interval(delta, se, len(values) - 1, level), -largest, largest),
        z=cut(z_interval(delta, se, level), -largest, largest),
        by_task=tuple(zip(both, values, strict=True)),
        dropped=tuple(sorted({*control, *treatment} - set(both))),
    )


def _difference(after: float, before: float) -> float:
    """after - before, rounded to 12 digits of the larger, so that 1 - 0.8 equals 0.2 - 0 in spite of
    binary fractions."""
    largest = max(abs(after), abs(before))
    if not largest or not math.isfinite(largest):
        return after - before
    return round(after - before, 11 - math.floor(math.log10(largest)))


def leave_one_out(delta: PairedDelta) -> tuple[tuple[float, str], tuple[float, str]] | None:
    """Return the lowest and the highest delta with one task left out, each with the name of that task; None for
    fewer than two tasks."""
    if delta.delta is None or delta.tasks < 2:
        return None
    total = delta.delta * delta.tasks
    without = [((total - value) / (delta.tasks - 1), task) for task, value in delta.by_task]
    return min(without), max(without)


class Verdict(Struct, frozen=True):
    """The conclusion about treatment minus control."""

    word: VerdictWord
    """better or worse: the 95 % interval is on one side of 0. equivalent: the 90 % interval is within
    the declared margin. inconclusive: neither. undetermined: no valid interval."""
    reason: str = ""
    """Why it is undetermined, and the arms with contaminated trials; else ""."""

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def verdict(delta: PairedDelta, margin: float | None = None, *, alpha: float = ALPHA) -> Verdict:
    """Return the verdict on a contrast. A margin is in the unit of the delta and declared in advance.

    A verdict that holds only with contaminated trials, or only without them, is inconclusive.
    """
    if delta.refusal:
        return Verdict("undetermined", delta.refusal)
    word = _word(delta, margin, alpha)
    reasons = [delta.no_interval, delta.coverage.contamination]
    without = word if delta.clean is None else _word(delta.clean, margin, alpha)
    if word not in {without, "undetermined"}:
        reasons.append(f"{word} with them, {without} without")
        word = "inconclusive"
    return Verdict(word, "; ".join(filter(None, reasons)))


def _word(delta: PairedDelta, margin: float | None, alpha: float) -> VerdictWord:
    inner, outer = equivalence_interval(delta, alpha), delta.interval(1 - alpha)
    if inner is None or outer is None:
        return "undetermined"
    if margin is not None and -margin < inner.low and inner.high < margin:
        return "equivalent"
    if outer.low > 0:
        return "better"
    return "worse" if outer.high < 0 else "inconclusive"


def equivalence_interval(delta: PairedDelta, alpha: float = ALPHA) -> Interval | None:
    """Return the interval of two one-sided tests (level 1 - 2 alpha), or None."""
    return delta.interval(1 - 2 * alpha)


class Equivalence(Struct, frozen=True):
    """The verdict with a declared margin."""

    verdict: VerdictWord
    reason: str
    """Why it is undetermined, and the arms with contaminated trials; else ""."""
    margin: float
    """Declared margin, in the unit of the delta."""
    interval: Interval | None
    """Interval of the two one-sided tests (level 1 - 2 alpha); None if undetermined."""
    coverage: Coverage = Coverage()
    """Trials of treatment and control; empty if unknown."""
    method: str = "two one-sided t tests"

    def __repr__(self) -> str:
        parts = [f"margin {self.margin:g}"]
        if ends := self.interval:
            level = f"{100 * ends.level:g} % interval"
            parts.append(f"{level} {ends.low:+.3g} to {ends.high:+.3g}")
        parts += filter(None, [str(self.coverage)])
        return f"{Verdict(self.verdict, self.reason)} ({', '.join(parts)})"


def equivalence(delta: PairedDelta, margin: float, *, alpha: float = ALPHA) -> Equivalence:
    """TOST with a margin declared in advance: equivalent if the 1 - 2 alpha interval is inside +-
    margin; better or worse if the 1 - alpha interval is on one side of zero."""
    conclusion = verdict(delta, margin, alpha=alpha)
    undetermined = conclusion.word == "undetermined"
    interval = None if undetermined else equivalence_interval(delta, alpha)
    return Equivalence(conclusion.word, conclusion.reason, margin, interval, delta.coverage)


class ArmRate(Struct, frozen=True):
    """Mean over tasks of one condition."""

    estimate: float
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
        ends, of = self.interval, self.coverage
        words = (
            f"{100 * ends.level:g} % interval {ends.low:.3g} to {ends.high:.3g}, {ends.method}"
            if ends
            else self.reason
        )
        basis = f"{self.tasks} task{'' if self.tasks == 1 else 's'}"
        problem = of.suppression or of.open_trials or of.contamination
        mark = f"not quotable, {problem}: " if problem else ""
        return f"{mark}{self.estimate:.3g} ({words}, {basis}; {of})"


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

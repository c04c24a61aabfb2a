"""Paired deltas over tasks: the headline of a study (measures §1.8).

Trials inside a task are exchangeable and never matched one to one; the task is the unit.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from skilljuror.measures.stats.coverage import (
    NO_VARIATION,
    NOT_COUNTED,
    ONE_TASK,
    Coverage,
    TrialValue,
)
from skilljuror.measures.stats.intervals import Interval, cut, t_interval, z_interval

_LARGEST = {"pp": 100.0, "share": 1.0}
"""Unit of a difference of rates -> the largest that there can be, where its intervals end."""

Arm = Mapping[str, Sequence[float]]
"""Task -> the outcomes of its trials in one condition (0 and 1 for passes)."""


@dataclass(frozen=True, repr=False)
class PairedDelta:
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
    method: str = "paired task means"
    """Name of the method."""
    coverage: Coverage = NOT_COUNTED
    """Trials of treatment and control; empty if unknown."""
    clean: "PairedDelta | None" = None
    """The same without contaminated trials; None if no trial is contaminated."""

    def interval(self, level: float) -> Interval | None:
        """Student's interval of another level."""
        return _cut(t_interval(self.delta, self.se, self.tasks - 1, level), self.unit)

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
        found = self.coverage.contamination
        if self.clean.no_interval:
            return f"{found}; without them, {self.clean.no_interval}"
        few = [arm.condition for arm in self.coverage.arms if 2 * arm.contaminated > arm.planned]
        return f"{found}; fewer than half of {few[0]} remain" if few else ""

    def __repr__(self) -> str:
        """The difference, after the reasons not to quote it."""
        basis = str(self.coverage)
        text = f"{self._difference()}{basis and f'; {basis}'})"
        if self.refusal:
            return f"not quotable, {self.refusal}: {text}"
        return f"{text}; without contaminated trials {self.clean!r}" if self.clean else text

    def _difference(self) -> str:
        count = f"{self.tasks} task{'' if self.tasks == 1 else 's'}"
        text = "no difference" if self.delta is None else f"{self.delta:+.3g} {self.unit}"
        if self.t is None:
            return f"{text}, undetermined: {self.no_interval} ({count}"
        interval = f"{100 * self.t.level:g} % interval {self.t.low:+.3g} to {self.t.high:+.3g}"
        return f"{text} ({interval}, {self.t.method}, {count}"


def contrast(
    trials: Iterable[TrialValue], treatment: str, control: str, *, unit: str = "pp"
) -> PairedDelta:
    """Return `paired_delta` of planned trials with the coverage of those that enter, of the tasks planned in
    both arms, and, if some are contaminated, the same without these. Trials without a value are left out."""
    rows = list(trials)
    of_arm = [{one.task for one in rows if one.condition == arm} for arm in (treatment, control)]
    entering = [trial for trial in rows if trial.task in of_arm[0] & of_arm[1]]
    clean = [trial for trial in entering if not trial.contaminated]
    return replace(
        _delta(rows, treatment, control, unit),
        coverage=Coverage.of(entering, [treatment, control]),
        clean=_delta(clean, treatment, control, unit) if len(clean) < len(entering) else None,
    )


def _delta(trials: Iterable[TrialValue], treatment: str, control: str, unit: str) -> PairedDelta:
    arms: dict[str, dict[str, list[float]]] = {
        treatment: defaultdict(list),
        control: defaultdict(list),
    }
    for trial in trials:
        if trial.value is not None:
            arms[trial.condition][trial.task].append(trial.value)
    return paired_delta(arms[control], arms[treatment], unit=unit)


def paired_delta(
    control: Arm, treatment: Arm, *, level: float = 0.95, unit: str = "pp"
) -> PairedDelta:
    """Delta = (1/T) sum of per-task differences, with equal weights (measures §1.8)."""
    by_task, dropped = _task_deltas(control, treatment)
    scale = 100.0 if unit == "pp" else 1.0
    values = [scale * delta for _, delta in by_task]
    sd = stdev(values) if len(values) > 1 else None
    se = None if sd is None else sd / math.sqrt(len(values))
    delta = fmean(values) if values else None
    return PairedDelta(
        delta=delta,
        unit=unit,
        tasks=len(values),
        sd=sd,
        se=se,
        t=_cut(t_interval(delta, se, len(values) - 1, level), unit),
        z=_cut(z_interval(delta, se, level), unit),
        by_task=tuple(zip((task for task, _ in by_task), values, strict=True)),
        dropped=dropped,
    )


def _cut(interval: Interval | None, unit: str) -> Interval | None:
    largest = _LARGEST.get(unit, math.inf)
    return cut(interval, -largest, largest)


def _task_deltas(control: Arm, treatment: Arm) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
    """Return per-task differences of means, by task name, and the tasks missing in either arm."""
    both = sorted(task for task in control if control[task] and treatment.get(task))
    deltas = [(task, _difference(fmean(treatment[task]), fmean(control[task]))) for task in both]
    return deltas, tuple(sorted({*control, *treatment} - set(both)))


def _difference(one: float, other: float) -> float:
    """one - other, rounded to 12 digits of the larger, so that 1 - 0.8 equals 0.2 - 0 in spite of
    binary fractions."""
    largest = max(abs(one), abs(other))
    if not largest or not math.isfinite(largest):
        return one - other
    return round(one - other, 11 - math.floor(math.log10(largest)))


@dataclass(frozen=True)
class LeaveOneOut:
    """Influence of single tasks on the paired delta."""

    low: float
    """Smallest delta with one task left out."""
    low_task: str
    """The task whose absence gives it."""
    high: float
    """Largest delta with one task left out."""
    high_task: str
    """The task whose absence gives it."""
    method: str = "leave one task out"
    """Name of the method."""


def leave_one_out(delta: PairedDelta) -> LeaveOneOut | None:
    """Return the range of the delta with one task left out; None for fewer than two tasks."""
    if delta.delta is None or delta.tasks < 2:
        return None
    total = delta.delta * delta.tasks
    without = [((total - value) / (delta.tasks - 1), task) for task, value in delta.by_task]
    (low, low_task), (high, high_task) = min(without), max(without)
    return LeaveOneOut(low, low_task, high, high_task)


@dataclass(frozen=True)
class GeometricRatio:
    """Ratio of geometric means, for times, tokens and money."""

    ratio: float | None
    """Treatment / control; None without usable tasks."""
    interval: Interval | None
    """Student interval on the log scale, transformed back."""
    tasks: int
    """Tasks with a positive mean in both arms."""
    dropped: tuple[str, ...]
    """Tasks missing in either arm or without a positive mean."""
    method: str = "paired ratio of geometric means over tasks"
    """Name of the method."""


def geometric_ratio(control: Arm, treatment: Arm, level: float = 0.95) -> GeometricRatio:
    """exp of the mean over tasks of log(treatment mean / control mean)."""
    names = sorted({*control, *treatment})
    usable = [task for task in names if _positive(control, task) and _positive(treatment, task)]
    ratios = (fmean(treatment[task]) / fmean(control[task]) for task in usable)
    logs = [round(math.log(ratio), 12) for ratio in ratios]  # 0.3 / 0.1 equals 3 / 1
    mean = fmean(logs) if logs else None
    se = stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None
    interval = t_interval(mean, se, len(logs) - 1, level)
    return GeometricRatio(
        ratio=None if mean is None else math.exp(mean),
        interval=interval
        and Interval(math.exp(interval.low), math.exp(interval.high), level, interval.method),
        tasks=len(logs),
        dropped=tuple(task for task in names if task not in set(usable)),
    )


def _positive(arm: Arm, task: str) -> bool:
    return bool(arm.get(task)) and fmean(arm[task]) > 0

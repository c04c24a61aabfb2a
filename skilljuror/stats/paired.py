"""Paired deltas over tasks: the headline of a study (measures §1.8).

Trials inside a task are exchangeable and never matched one to one; the task is the unit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from skilljuror.stats.intervals import Interval, t_interval, z_interval

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
    """Student interval with T-1 degrees of freedom: the one to quote."""
    z: Interval | None
    """Normal interval, too narrow for few tasks; for comparison with published half-widths alone."""
    by_task: tuple[tuple[str, float], ...]
    """(task, delta), by name."""
    dropped: tuple[str, ...]
    """Tasks that lack either arm and were dropped from both."""
    method: str = "paired task means"
    """Name of the method."""

    def __repr__(self) -> str:
        """The difference as one would quote it."""
        count = f"{self.tasks} task{'' if self.tasks == 1 else 's'}"
        if self.delta is None or self.t is None:
            told = "no difference" if self.delta is None else f"{self.delta:+.3g} {self.unit}"
            return f"{told}, no interval ({count})"
        interval = f"{100 * self.t.level:g} % interval {self.t.low:+.3g} to {self.t.high:+.3g}"
        return f"{self.delta:+.3g} {self.unit} ({interval}, {self.t.method}, {count})"


def paired_delta(
    control: Arm, treatment: Arm, *, level: float = 0.95, unit: str = "pp"
) -> PairedDelta:
    """Delta = (1/T) sum of per-task differences, every task weighing the same (measures §1.8)."""
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
        t=t_interval(delta, se, len(values) - 1, level),
        z=z_interval(delta, se, level),
        by_task=tuple(zip((task for task, _ in by_task), values, strict=True)),
        dropped=dropped,
    )


def _task_deltas(control: Arm, treatment: Arm) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
    """Per-task differences of means, by task name, and the tasks that lack either arm."""
    both = sorted(task for task in control if control[task] and treatment.get(task))
    deltas = [(task, fmean(treatment[task]) - fmean(control[task])) for task in both]
    return deltas, tuple(sorted({*control, *treatment} - set(both)))


@dataclass(frozen=True)
class LeaveOneOut:
    """How far one task alone carries the paired delta."""

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
    """Range of the delta over all sets that lack one task; None for fewer than two tasks."""
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
    """Treatment / control; None without a usable task."""
    interval: Interval | None
    """Student interval on the log scale, carried back."""
    tasks: int
    """Tasks with a positive mean in both arms."""
    dropped: tuple[str, ...]
    """Tasks that lack either arm or have a mean that is not positive."""
    method: str = "paired ratio of geometric means over tasks"
    """Name of the method."""


def geometric_ratio(control: Arm, treatment: Arm, level: float = 0.95) -> GeometricRatio:
    """exp of the mean over tasks of log(treatment mean / control mean)."""
    names = sorted({*control, *treatment})
    usable = [task for task in names if _positive(control, task) and _positive(treatment, task)]
    logs = [math.log(fmean(treatment[task]) / fmean(control[task])) for task in usable]
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

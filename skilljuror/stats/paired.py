"""Paired deltas over tasks: the headline of a study (measures §1.8, §1.9).

Trials inside a task are exchangeable and never matched one to one; the task is the unit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist, fmean, stdev

Arm = Mapping[str, Sequence[float]]
"""Task -> the outcomes of its trials in one condition (0 and 1 for passes)."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval and how it was made."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""
    level: float
    """Confidence level, such as 0.95."""
    method: str
    """Name of the method."""

    @property
    def halfwidth(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
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
    z: Interval | None
    """Normal interval; the one that matches published half-widths."""
    t: Interval | None
    """Student interval with T-1 degrees of freedom."""
    by_task: tuple[tuple[str, float], ...]
    """(task, delta), by name."""
    dropped: tuple[str, ...]
    """Tasks that lack either arm and were dropped from both."""
    method: str = "paired task means"
    """Name of the method."""


def paired_delta(
    control: Arm, treatment: Arm, *, level: float = 0.95, unit: str = "pp"
) -> PairedDelta:
    """Delta = (1/T) sum of per-task differences, every task weighing the same (measures §1.8)."""
    by_task, dropped = task_deltas(control, treatment)
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
        z=z_interval(delta, se, level),
        t=t_interval(delta, se, len(values) - 1, level),
        by_task=tuple(zip((task for task, _ in by_task), values, strict=True)),
        dropped=dropped,
    )


def task_deltas(control: Arm, treatment: Arm) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
    """Per-task differences of means, by task name, and the tasks that lack either arm."""
    both = sorted(task for task in control if control[task] and treatment.get(task))
    deltas = [(task, fmean(treatment[task]) - fmean(control[task])) for task in both]
    return deltas, tuple(sorted({*control, *treatment} - set(both)))


def z_interval(mean: float | None, se: float | None, level: float = 0.95) -> Interval | None:
    """mean +- z * se with the exact normal quantile (1.959964 at 95 %)."""
    if mean is None or se is None:
        return None
    reach = z_quantile(level) * se
    return Interval(mean - reach, mean + reach, level, "normal")


def t_interval(
    mean: float | None, se: float | None, freedom: int, level: float = 0.95
) -> Interval | None:
    """mean +- t * se with `freedom` degrees of freedom."""
    if mean is None or se is None or freedom < 1:
        return None
    reach = t_quantile(0.5 + level / 2, freedom) * se
    return Interval(mean - reach, mean + reach, level, f"t({freedom})")


def z_quantile(level: float) -> float:
    """Two-sided normal quantile of a confidence level."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


@dataclass(frozen=True)
class WinTieLoss:
    """Tasks that the treatment does better, as well, or worse; always with their names."""

    win: tuple[str, ...]
    """Tasks with a higher mean under treatment."""
    tie: tuple[str, ...]
    """Tasks with equal means."""
    loss: tuple[str, ...]
    """Tasks with a lower mean under treatment."""
    dropped: tuple[str, ...]
    """Tasks that lack either arm."""
    method: str = "exact comparison of task means"
    """Name of the method."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of wins, ties and losses."""
        return len(self.win), len(self.tie), len(self.loss)


def win_tie_loss(control: Arm, treatment: Arm) -> WinTieLoss:
    """Tasks by the sign of their difference, compared as exact fractions (measures §1.9, A-42)."""
    named: dict[int, list[str]] = {1: [], 0: [], -1: []}
    both = sorted(task for task in control if control[task] and treatment.get(task))
    for task in both:
        named[_sign(control[task], treatment[task])].append(task)
    dropped = tuple(sorted({*control, *treatment} - set(both)))
    return WinTieLoss(tuple(named[1]), tuple(named[0]), tuple(named[-1]), dropped)


def _sign(control: Sequence[float], treatment: Sequence[float]) -> int:
    """Sign of the difference of means, without a division."""
    before = sum(map(Fraction, control), Fraction()) * len(treatment)
    after = sum(map(Fraction, treatment), Fraction()) * len(control)
    return (after > before) - (after < before)


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

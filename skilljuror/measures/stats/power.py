"""Minimum detectable effect, and adjusted p values of a family."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from skilljuror.base.errors import require
from skilljuror.measures.stats.intervals import t_quantile
from skilljuror.measures.stats.paired import Arm


@dataclass(frozen=True)
class DetectableEffect:
    """The smallest true delta that a paired design can detect."""

    effect: float | None
    """In the unit of sd; None for fewer than two tasks and without spread."""
    sd: float
    """Standard deviation of the per-task deltas."""
    tasks: int
    """Tasks."""
    power: float
    """Probability of detecting it."""
    level: float
    """Confidence level of the two-sided test."""
    method: str = "paired t, shifted quantiles"
    """Name of the method."""


def detectable_effect(
    sd: float, tasks: int, *, power: float = 0.8, level: float = 0.95
) -> DetectableEffect:
    """(t of the level + t of the power) * sd / sqrt(T), T-1 degrees of freedom."""
    if tasks < 2 or not sd:
        return DetectableEffect(None, sd, tasks, power, level)
    reach = t_quantile(0.5 + level / 2, tasks - 1) + t_quantile(power, tasks - 1)
    return DetectableEffect(reach * sd / math.sqrt(tasks), sd, tasks, power, level)


@dataclass(frozen=True)
class VarianceParts:
    """Variance of the difference between two arms in one task, by its sources."""

    between: float
    """Between tasks, in the square of the unit; cut at 0."""
    within: float
    """Between trials of a task, of one trial in each arm."""
    noise: float
    """Mean variance of a task's difference between trials, with the trials that it has."""
    observed: float
    """Variance of the differences, as found."""

    def sd(self, trials: int) -> float:
        """Return the standard deviation of the difference over tasks with so many trials in each arm: as
        observed, times the square root of the ratio of (between + within / trials) to (between + noise)."""
        whole = self.between + self.noise
        return (
            math.sqrt(self.observed * (self.between + self.within / trials) / whole)
            if whole
            else 0.0
        )


def variance_parts(control: Arm, treatment: Arm, scale: float = 1.0) -> VarianceParts | None:
    """Part the variance of the per-task deltas into that between tasks and that between trials.

    within = mean over tasks of (s² of the treatment + s² of the control); between = variance of the
    deltas - mean over tasks of (s² / trials of the treatment + s² / trials of the control), at least 0
    (method of moments). None unless two tasks have two trials in both arms and no task has fewer.
    """
    tasks = [task for task in control if task in treatment]
    arms = [(control[task], treatment[task]) for task in tasks]
    if len(tasks) < 2 or any(len(values) < 2 for pair in arms for values in pair):
        return None
    deltas = [fmean(after) - fmean(before) for before, after in arms]
    noise = fmean(sum(variance(values) / len(values) for values in pair) for pair in arms)
    within = fmean(sum(map(variance, pair)) for pair in arms)
    parts = (max(0.0, variance(deltas) - noise), within, noise, variance(deltas))
    return VarianceParts(*(scale**2 * part for part in parts))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's adjusted p values of one declared family, in the same order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, floor = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = floor
    return tuple(adjusted)


def false_discovery_rates(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Benjamini and Hochberg's adjusted p values, in the same order; None stays None."""
    require("report", "a false discovery rate", "scipy")
    from scipy.stats import false_discovery_control

    known = iter(false_discovery_control([p for p in p_values if p is not None]).tolist())
    return [None if p is None else next(known) for p in p_values]

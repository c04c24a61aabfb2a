"""Tests over tasks, adjusted p values of a family, and the power of a design (measures §8)."""

import math
from collections.abc import Sequence
from statistics import fmean, variance

import numpy as np
from msgspec import Struct

from skilljuror.measures.rates import Arm, t_quantile

EXACT_TASKS = 16
"""Up to this number of nonzero deltas, all flips are enumerated (65,536)."""
_ROUNDING = 1e-13
"""Relative difference of sums that counts as none."""
_NODES = 200


class SignTest(Struct, frozen=True):
    """A two-sided p value over the nonzero deltas of `tasks` tasks."""

    p: float
    tasks: int
    method: str
    """exact or sampled, with the number of flips."""
    seed: int | None = None
    """Seed of the sampled flips."""


def sign_flip(deltas: Sequence[float], *, seed: int = 0, flips: int = 10_000) -> SignTest:
    """Return p of |sum| under random signs of the per-task deltas: exact for few tasks, else sampled.

    A sampled p counts the data as one flip and is never zero.
    """
    values = np.asarray([delta for delta in deltas if delta], dtype=float)
    tasks = len(values)
    if tasks < 2:  # both signs of one delta give the same |sum|
        return SignTest(1.0, tasks, f"exact sign-flip test ({2**tasks} patterns)")
    exact = tasks <= EXACT_TASKS
    if exact:
        signs = 1.0 - 2 * (np.arange(2**tasks)[:, None] >> np.arange(tasks) & 1)
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(flips, tasks))
    reached = int((np.abs(signs @ values) >= abs(values.sum()) * (1 - _ROUNDING)).sum())
    if exact:
        return SignTest(
            reached / len(signs), tasks, f"exact sign-flip test ({len(signs)} patterns)"
        )
    return SignTest(
        (reached + 1) / (flips + 1), tasks, f"sampled sign-flip test ({flips} patterns)", seed
    )


def sign_test(wins: int, losses: int) -> SignTest:
    """Exact two-sided binomial test of wins against losses; ties are ignored (measures §1.8)."""
    tasks = wins + losses
    tail = sum(math.comb(tasks, count) for count in range(min(wins, losses) + 1))
    return SignTest(min(1.0, 2 * tail / 2**tasks), tasks, "exact sign test")


def anova(groups: Sequence[tuple[int, float, float]]) -> tuple[float, float] | None:
    """Return (F, p) of the hypothesis that all groups have one mean (Fisher), from the size, the mean and the
    standard deviation (0 for one value) of each; None for fewer than two groups, and if no group varies."""
    count = sum(size for size, _, _ in groups)
    within = math.fsum((size - 1) * sd**2 for size, _, sd in groups)
    freedom = len(groups) - 1, count - len(groups)
    if min(freedom) < 1 or not within:
        return None
    mean = math.fsum(size * of_group for size, of_group, _ in groups) / count
    between = math.fsum(size * (of_group - mean) ** 2 for size, of_group, _ in groups)
    ratio = (between / freedom[0]) / (within / freedom[1])
    return ratio, _f_tail(ratio, *freedom)


def _f_tail(ratio: float, above: int, below: int) -> float:
    """P(F > ratio): the incomplete beta function with t = sin², in which the integrand is smooth, by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    end = math.atan2(math.sqrt(below), math.sqrt(above * ratio))
    angles = end * (1 + nodes) / 2
    beta = math.lgamma(above / 2) + math.lgamma(below / 2) - math.lgamma((above + below) / 2)
    logs = (below - 1) * np.log(np.sin(angles)) + (above - 1) * np.log(np.cos(angles)) - beta
    return float(end * (weights @ np.exp(logs)))


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
    known = sorted(((p, i) for i, p in enumerate(p_values) if p is not None), reverse=True)
    rates: list[float | None] = [None] * len(p_values)
    ceiling = 1.0
    for above, (p, i) in enumerate(known):
        rates[i] = ceiling = min(ceiling, p * len(known) / (len(known) - above))
    return rates


class DetectableEffect(Struct, frozen=True):
    """The smallest true delta that a paired design can detect."""

    effect: float | None
    """In the unit of sd; None for fewer than two tasks and without spread."""
    sd: float
    """Standard deviation of the per-task deltas."""
    tasks: int
    power: float
    """Probability of detecting it."""
    level: float
    """Confidence level of the two-sided test."""
    method: str = "paired t, shifted quantiles"


def detectable_effect(
    sd: float, tasks: int, *, power: float = 0.8, level: float = 0.95
) -> DetectableEffect:
    """(t of the level + t of the power) * sd / sqrt(T), T-1 degrees of freedom."""
    if tasks < 2 or not sd:
        return DetectableEffect(None, sd, tasks, power, level)
    reach = t_quantile(0.5 + level / 2, tasks - 1) + t_quantile(power, tasks - 1)
    return DetectableEffect(reach * sd / math.sqrt(tasks), sd, tasks, power, level)


class VarianceParts(Struct, frozen=True):
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
        if not whole:
            return 0.0
        return math.sqrt(self.observed * (self.between + self.within / trials) / whole)


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

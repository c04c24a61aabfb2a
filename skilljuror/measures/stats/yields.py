"""Ratios of sums over trials, with the task as the cluster: use per pass, rates, gains (measures §2.0, §8)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from skilljuror.measures.stats.intervals import Interval, rate_interval, t_interval

Sums = Mapping[str, tuple[float, float]]
"""Task -> (use of all attempts, strict passes), or any other sums that are divided."""
MIN_TASKS = 8
"""Fewer tasks give no interval of a rate or a mean: none was simulated."""
MIN_TASKS_SKEWED = 30
"""The same of pass@k and the token overhead: over fewer tasks, fewer than 93 % of the 95 % intervals hold."""
_NONE = 1e-9
"""Share of a sum below which what is left of it is a rounding error."""
_METHOD = "jackknife over tasks"


@dataclass(frozen=True)
class Yield:
    """A ratio of sums, or a function of several."""

    value: float | None
    """The ratio; None where it divides by nothing."""
    interval: Interval | None
    """By a jackknife over tasks; None where a task left out leaves no ratio, and without spread."""
    tasks: int
    """Number of tasks."""


def jackknife(
    rows: Sequence[Sequence[float]],
    statistic: Callable[[list[float]], float | None],
    back: Callable[[float], float] = float,
    level: float = 0.95,
) -> Yield:
    """Return a statistic of the sums over tasks, one row for each task, with its interval.

    Every task is left out in turn: se² = (T - 1) / T · sum of (statistic without it - their mean)², and
    Student's interval with T - 1 degrees of freedom (Efron and Tibshirani 1993, §11.5). `back` is the rising
    function that leads from the scale of the statistic to that of the value.
    """
    totals = [math.fsum(column) for column in zip(*rows, strict=True)]
    whole = statistic(totals) if totals else None
    if whole is None:
        return Yield(None, None, len(rows))
    without = [
        statistic([_left(total, part) for total, part in zip(totals, row, strict=True)])
        for row in rows
    ]
    known = [value for value in without if value is not None]
    made = None
    if len(known) == len(rows) > 1:
        mean = fmean(known)
        spread = math.fsum((value - mean) ** 2 for value in known) * (len(known) - 1) / len(known)
        se = math.sqrt(spread) if spread > _NONE**2 else None
        made = t_interval(whole, se, len(known) - 1, level)
    ends = made and Interval(back(made.low), back(made.high), level, _METHOD)
    return Yield(back(whole), ends, len(rows))


def _left(total: float, part: float) -> float:
    left = total - part
    return left if abs(left) > _NONE * abs(total) else 0.0


def per_pass(arm: Sums, control: Sums | None = None, level: float = 0.95) -> Yield:
    """Return the use per strict pass of an arm, or its ratio to that of a control with the same tasks, by a
    jackknife on the log scale."""
    arms = [arm] if control is None else [arm, control]
    rows = [[part for sums in arms for part in sums[task]] for task in sorted(arm)]
    return jackknife(rows, _log_ratio, math.exp, level)


def _log_ratio(sums: list[float]) -> float | None:
    """log(first / second), of four also minus log(third / fourth)."""
    if min(sums) <= 0:
        return None
    return math.fsum(
        sign * math.log(part) for sign, part in zip((1, -1, -1, 1), sums, strict=False)
    )


def share(tasks: Sums, level: float = 0.95) -> Yield:
    """Return sum of the parts / sum of the wholes of a rate, by a jackknife of its log odds: near 0 and 1,
    an interval of the rate itself is too narrow. Without an interval if one task has all of the parts, or
    all that is not of them."""
    rows = [(part, whole - part) for part, whole in tasks.values()]
    made = jackknife(rows, _log_ratio, lambda odds: 1 / (1 + math.exp(-odds)), level)
    part, other = (math.fsum(column) for column in zip(*rows, strict=True)) if rows else (0.0, 0.0)
    value = part / (part + other) if part + other else None
    return Yield(value, made.interval, len(rows))


def mean_rate(tasks: Mapping[str, float]) -> Yield:
    """Return the mean over tasks of a rate, with Student's interval, cut to [0, 1] (measures §8)."""
    rates = [*tasks.values()]
    se = stdev(rates) / math.sqrt(len(rates)) if len(rates) > 1 else None
    mean = fmean(rates) if rates else None
    return Yield(mean, rate_interval(mean, se, len(rates) - 1), len(rates))


def normalised_gain(control: Mapping[str, float], treatment: Mapping[str, float]) -> Yield:
    """Return (treatment - control) / (1 - control) of means over the same tasks (measures §1.7)."""

    def gain(sums: list[float]) -> float | None:
        before, after, tasks = sums
        return (after - before) / (tasks - before) if tasks - before > _NONE * tasks else None

    return jackknife([(control[task], treatment[task], 1.0) for task in sorted(control)], gain)

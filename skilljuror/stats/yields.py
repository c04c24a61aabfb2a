"""Use per strict pass: a ratio of sums, with the task as the cluster (measures §2.0)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from skilljuror.stats.intervals import Interval, t_interval

Sums = Mapping[str, tuple[float, int]]
"""Task -> (use of all attempts, strict passes)."""
_NONE = 1e-9
"""Share of a sum below which what is left of it is a rounding error."""


@dataclass(frozen=True)
class Yield:
    """Use per strict pass, or the ratio of two of them."""

    value: float | None
    """Sum of the use / sum of the passes; None without a pass or without use."""
    interval: Interval | None
    """By a jackknife over tasks on the log scale; None if one task has all passes, and without spread."""
    tasks: int
    """Number of tasks."""


def per_pass(arm: Sums, control: Sums | None = None, level: float = 0.95) -> Yield:
    """Return the use per strict pass of an arm, or its ratio to that of a control with the same tasks.

    Every task is left out in turn, in both arms: se² = (T - 1) / T · sum of (log without it - their
    mean)², and Student's interval with T - 1 degrees of freedom (Efron and Tibshirani 1993, §11.5).
    """
    arms = [(1, arm)] if control is None else [(1, arm), (-1, control)]
    logs: list[list[float | None]] = [_logs(sums, sorted(arm)) for _, sums in arms]
    signs = [sign for sign, _ in arms]
    whole, *without = (_sum(signs, parts) for parts in zip(*logs, strict=True))
    if whole is None:
        return Yield(None, None, len(arm))
    known = [value for value in without if value is not None]
    interval = None
    if len(known) == len(arm) > 1:
        mean = fmean(known)
        spread = math.fsum((value - mean) ** 2 for value in known) * (len(known) - 1) / len(known)
        se = math.sqrt(spread) if spread > _NONE**2 else None
        interval = t_interval(whole, se, len(known) - 1, level)
    ends = interval and Interval(
        math.exp(interval.low), math.exp(interval.high), level, "jackknife over tasks"
    )
    return Yield(math.exp(whole), ends, len(arm))


def _logs(sums: Sums, tasks: list[str]) -> list[float | None]:
    """Log of use per pass over all tasks, then without each of them; None where there is none."""
    use, passes = math.fsum(use for use, _ in sums.values()), sum(n for _, n in sums.values())
    parts = [(use, passes), *((use - sums[task][0], passes - sums[task][1]) for task in tasks)]
    return [
        math.log(part / count) if part > _NONE * use and count else None for part, count in parts
    ]


def _sum(signs: list[int], parts: tuple[float | None, ...]) -> float | None:
    total = 0.0
    for sign, part in zip(signs, parts, strict=True):
        if part is None:
            return None
        total += sign * part
    return total

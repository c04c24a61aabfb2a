"""What a study could have seen: minimum detectable effect, and the verdict on equivalence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from skilljuror.stats.intervals import Interval, t_interval, t_quantile
from skilljuror.stats.paired import PairedDelta

EquivalenceVerdict = Literal["better", "worse", "equivalent", "inconclusive"]


@dataclass(frozen=True)
class DetectableEffect:
    """The smallest true delta that a paired design would find."""

    effect: float | None
    """In the unit of sd; None for fewer than two tasks."""
    sd: float
    """Standard deviation of the per-task deltas that it rests on."""
    tasks: int
    """Tasks."""
    power: float
    """Probability of finding it."""
    level: float
    """Confidence level of the two-sided test."""
    method: str = "paired t, shifted quantiles"
    """Name of the method."""


def detectable_effect(
    sd: float, tasks: int, *, power: float = 0.8, level: float = 0.95
) -> DetectableEffect:
    """(t of the level + t of the power) * sd / sqrt(T), T-1 degrees of freedom."""
    if tasks < 2:
        return DetectableEffect(None, sd, tasks, power, level)
    reach = t_quantile(0.5 + level / 2, tasks - 1) + t_quantile(power, tasks - 1)
    return DetectableEffect(reach * sd / math.sqrt(tasks), sd, tasks, power, level)


@dataclass(frozen=True)
class Equivalence:
    """Better, worse, equivalent within a declared margin, or inconclusive."""

    verdict: EquivalenceVerdict
    """What the interval allows to say."""
    margin: float
    """Declared margin, in the unit of the delta."""
    interval: Interval | None
    """Interval of the two one-sided tests (level 1 - 2 alpha)."""
    method: str = "two one-sided t tests"
    """Name of the method."""


def equivalence(delta: PairedDelta, margin: float, *, alpha: float = 0.05) -> Equivalence:
    """TOST with a margin declared before looking: equivalent when the 1 - 2 alpha interval lies
    inside +- margin; better or worse when the 1 - alpha interval lies on one side of zero."""
    inner = t_interval(delta.delta, delta.se, delta.tasks - 1, 1 - 2 * alpha)
    outer = t_interval(delta.delta, delta.se, delta.tasks - 1, 1 - alpha)
    return Equivalence(_verdict(inner, outer, margin), margin, inner)


def _verdict(inner: Interval | None, outer: Interval | None, margin: float) -> EquivalenceVerdict:
    if inner is None or outer is None:
        return "inconclusive"
    if -margin < inner.low and inner.high < margin:
        return "equivalent"
    if outer.low > 0:
        return "better"
    return "worse" if outer.high < 0 else "inconclusive"


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p values of one declared family, in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, floor = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = floor
    return tuple(adjusted)

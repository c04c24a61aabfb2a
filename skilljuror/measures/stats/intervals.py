"""Confidence intervals of means and shares (measures §1.8, §1.10; the task is the cluster)."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

RESAMPLES = 2000
"""Draws of a bootstrap."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval and its method."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""
    level: float
    """Confidence level, such as 0.95."""
    method: str
    """Name of the method."""


def z_interval(mean: float | None, se: float | None, level: float = 0.95) -> Interval | None:
    """mean +- z * se with the exact normal quantile (1.959964 at 95 %); None without spread, because an
    interval of width 0 would claim certainty."""
    if mean is None or not se:
        return None
    reach = NormalDist().inv_cdf(0.5 + level / 2) * se
    return Interval(mean - reach, mean + reach, level, "normal")


def t_interval(
    mean: float | None, se: float | None, freedom: int, level: float = 0.95
) -> Interval | None:
    """mean +- t * se with `freedom` degrees of freedom; None without spread, as `z_interval`."""
    if mean is None or not se or freedom < 1:
        return None
    reach = t_quantile(0.5 + level / 2, freedom) * se
    return Interval(mean - reach, mean + reach, level, f"t({freedom})")


def rate_interval(
    rate: float | None, se: float | None, freedom: int, level: float = 0.95, *, lowest: float = 0.0
) -> Interval | None:
    """Return the t interval of a rate, cut to [0, 1]; of a difference of rates with -1 as the lowest."""
    return cut(t_interval(rate, se, freedom, level), lowest, 1.0)


def cut(interval: Interval | None, low: float, high: float) -> Interval | None:
    """Return an interval without the values that its parameter cannot have."""
    return interval and replace(interval, low=max(low, interval.low), high=min(high, interval.high))


def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's distribution.

    Newton's method from the normal quantile, which is never farther from zero. Above the median the
    distribution function is concave, so that no step overshoots.
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    t, step = NormalDist().inv_cdf(probability), math.inf
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    while step > 1e-15 * t:
        log_density = scale - (freedom + 1) / 2 * math.log1p(t * t / freedom)
        density = math.exp(log_density) / math.sqrt(freedom * math.pi)
        step = (probability - _t_probability(t, freedom)) / density
        t += step
    return t


def _t_probability(t: float, freedom: int) -> float:
    """P(T <= t) by the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and
    26.7.4)."""
    cosine = 1 / (1 + t * t / freedom)  # of the angle, squared
    odd = freedom % 2
    term, total = 1.0, 0.0
    for k in range(freedom // 2):
        total += term
        term *= cosine * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    angle = math.atan(t / math.sqrt(freedom))
    if odd:
        within = 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * total)
    else:
        within = math.sin(angle) * total
    return 0.5 + within / 2


def wilson_interval(passes: int, trials: int, level: float = 0.95) -> Interval | None:
    """Wilson's score interval of a share, with a width also at 0 and 1; None without trials."""
    if trials < 1:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle = passes + z * z / 2
    reach = z * math.sqrt(passes * (trials - passes) / trials + z * z / 4)
    low, high = ((middle + end) / (trials + z * z) for end in (-reach, reach))
    low, high = (low if passes else 0.0), (high if passes < trials else 1.0)
    return Interval(low, high, level, "Wilson")

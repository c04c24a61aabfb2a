"""Rates, means and ratios with intervals over tasks (measures §1.8, §1.10, §2.0, §8; the task is the cluster)."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

Arm = Mapping[str, Sequence[float]]
"""Task -> the outcomes of its trials in one condition (0 and 1 for passes)."""
Sums = Mapping[str, tuple[float, float]]
"""Task -> (use of all attempts, strict passes), or any other sums that are divided."""
MIN_TASKS = 8
"""Fewer tasks give no interval of a rate or a mean: none was simulated."""
MIN_TASKS_SKEWED = 30
"""The same of pass@k and the token overhead: over fewer tasks, fewer than 93 % of the 95 % intervals hold."""
RESAMPLES = 2000
"""Draws of a bootstrap."""
_NONE = 1e-9
"""Share of a sum below which what is left of it is a rounding error."""


class Interval(Struct, frozen=True):
    """A confidence interval, its level, such as 0.95, and the name of its method."""

    low: float
    high: float
    level: float
    method: str


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


class Estimate(Struct, frozen=True):
    """A mean, a rate or a ratio over tasks."""

    value: float | None
    """None where it divides by nothing, and without a task."""
    interval: Interval | None
    """None without spread, for one task, and where a task left out leaves no ratio."""
    tasks: int
    """Number of tasks that enter."""
    dropped: tuple[str, ...] = ()
    """Tasks without a value in either arm."""


def mean_rate(tasks: Mapping[str, float]) -> Estimate:
    """Return the mean over tasks of a rate, with Student's interval, cut to [0, 1] (measures §8)."""
    rates = [*tasks.values()]
    se = stdev(rates) / math.sqrt(len(rates)) if len(rates) > 1 else None
    mean = fmean(rates) if rates else None
    return Estimate(mean, rate_interval(mean, se, len(rates) - 1), len(rates))


def jackknife(
    rows: Sequence[Sequence[float]],
    statistic: Callable[[list[float]], float | None],
    back: Callable[[float], float] = float,
    level: float = 0.95,
) -> Estimate:
    """Return a statistic of the sums over tasks, one row for each task, with its interval.

    Every task is left out in turn: se² = (T - 1) / T · sum of (statistic without it - their mean)², and
    Student's interval with T - 1 degrees of freedom (Efron and Tibshirani 1993, §11.5). `back` is the rising
    function that leads from the scale of the statistic to that of the value.
    """
    totals = [math.fsum(column) for column in zip(*rows, strict=True)]
    whole = statistic(totals) if totals else None
    if whole is None:
        return Estimate(None, None, len(rows))
    known: list[float] = []
    for row in rows:
        left = [total - part for total, part in zip(totals, row, strict=True)]
        pairs = zip(left, totals, strict=True)
        value = statistic([rest if abs(rest) > _NONE * abs(all_) else 0.0 for rest, all_ in pairs])
        known += [] if value is None else [value]
    ends = None
    if len(known) == len(rows) > 1:
        mean = fmean(known)
        spread = math.fsum((value - mean) ** 2 for value in known) * (len(known) - 1) / len(known)
        se = math.sqrt(spread) if spread > _NONE**2 else None
        ends = t_interval(whole, se, len(known) - 1, level)
    interval = ends and Interval(back(ends.low), back(ends.high), level, "jackknife over tasks")
    return Estimate(back(whole), interval, len(rows))


def per_pass(arm: Sums, control: Sums | None = None, level: float = 0.95) -> Estimate:
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


def share(tasks: Sums, level: float = 0.95) -> Estimate:
    """Return sum of the parts / sum of the wholes of a rate, by a jackknife of its log odds: near 0 and 1,
    an interval of the rate itself is too narrow. Without an interval if one task has all of the parts, or
    all that is not of them."""
    rows = [(part, whole - part) for part, whole in tasks.values()]
    found = jackknife(rows, _log_ratio, lambda odds: 1 / (1 + math.exp(-odds)), level)
    part, other = (math.fsum(column) for column in zip(*rows, strict=True)) if rows else (0.0, 0.0)
    value = part / (part + other) if part + other else None
    return Estimate(value, found.interval, len(rows))


def normalised_gain(control: Mapping[str, float], treatment: Mapping[str, float]) -> Estimate:
    """Return (treatment - control) / (1 - control) of means over the same tasks (measures §1.7)."""

    def gain(sums: list[float]) -> float | None:
        before, after, tasks = sums
        return (after - before) / (tasks - before) if tasks - before > _NONE * tasks else None

    return jackknife([(control[task], treatment[task], 1.0) for task in sorted(control)], gain)


def geometric_ratio(control: Arm, treatment: Arm, level: float = 0.95) -> Estimate:
    """exp of the mean over tasks of log(treatment mean / control mean), for times, tokens and money; Student's
    interval on the log scale. Tasks without a positive mean in both arms are dropped."""
    names = sorted({*control, *treatment})
    usable = [
        task
        for task in names
        if all(arm.get(task) and fmean(arm[task]) > 0 for arm in (control, treatment))
    ]
    ratios = (fmean(treatment[task]) / fmean(control[task]) for task in usable)
    logs = [round(math.log(ratio), 12) for ratio in ratios]  # 0.3 / 0.1 equals 3 / 1
    mean = fmean(logs) if logs else None
    se = stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None
    ends = t_interval(mean, se, len(logs) - 1, level)
    return Estimate(
        None if mean is None else math.exp(mean),
        ends and Interval(math.exp(ends.low), math.exp(ends.high), level, ends.method),
        len(logs),
        tuple(task for task in names if task not in set(usable)),
    )

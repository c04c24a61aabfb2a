"""Agreement of a judge with itself, and its effect on a rate."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skilljuror.measures.stats.intervals import RESAMPLES, Interval, rate_interval


def modal_label(labels: Sequence[str]) -> str:
    """Return the most frequent label; unknown for a tie."""
    (first, most), *others = Counter(labels).most_common(2)
    return "unknown" if any(count == most for _, count in others) else first


class RepeatedItem(NamedTuple):
    """One item with several answers of a judge."""

    cluster: str
    """Its task."""
    labels: tuple[str, ...]
    """yes, no or another; all answers have equal weight."""
    stands_for: int = 1
    """Items of this task with these answers."""


@dataclass(frozen=True)
class RepeatedRate:
    """A rate yes / (yes + no), or a difference of two, over all answers of a judge to each item."""

    value: float | None
    """Pooled over items, with weight 1 / answers of the item; None if nothing is decided."""
    se: float | None
    """Standard deviation of the resamples; None for fewer than two clusters."""
    interval: Interval | None
    """Student's interval with clusters - 1 degrees of freedom; cut to [0, 1], of a difference to [-1, 1]."""
    seed: int
    """Seed of the resampling (numpy PCG64)."""
    method: str = "tasks and one random repeat of each item resampled"
    """Name of the method."""


def repeated_rate(items: Sequence[RepeatedItem], *, seed: int = 0) -> RepeatedRate:
    """Return the rate of one arm. The interval covers variation between tasks and between runs of the
    judge, not its systematic errors."""
    return _resampled([items], seed)


def repeated_difference(
    control: Sequence[RepeatedItem], treatment: Sequence[RepeatedItem], *, seed: int = 0
) -> RepeatedRate:
    """Return treatment minus control, with the same tasks resampled in both."""
    return _resampled([control, treatment], seed)


def _resampled(arms: Sequence[Sequence[RepeatedItem]], seed: int) -> RepeatedRate:
    names = sorted({item.cluster for arm in arms for item in arm})
    places = {name: place for place, name in enumerate(names)}
    tables = [
        (
            np.array([places[item.cluster] for item in arm], dtype=int),
            np.array([_share(item, "yes") for item in arm], dtype=float),
            np.array([_share(item, "no") for item in arm], dtype=float),
            np.array([item.stands_for for item in arm], dtype=int),
        )
        for arm in arms
    ]
    rates = [_pooled(yes @ many, no @ many) for _, yes, no, many in tables]
    value = rates[-1] - sum(rates[:-1])
    known = None if math.isnan(value) else value
    if known is None or len(names) < 2:
        return RepeatedRate(known, None, None, seed)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(RESAMPLES):
        copies = rng.multinomial(len(names), np.full(len(names), 1 / len(names)))
        rates = []
        for owner, yes, no, many in tables:
            times = copies[owner] * many  # each copy of an item has an answer of its own
            yes_count = rng.binomial(times, yes)
            left = np.divide(no, 1 - yes, out=np.zeros_like(no), where=yes < 1)
            no_count = rng.binomial(times - yes_count, np.minimum(left, 1.0))
            rates.append(_pooled(yes_count.sum(), no_count.sum()))
        drawn.append(rates[-1] - sum(rates[:-1]))
    usable = np.array(drawn)[np.isfinite(drawn)]
    if len(usable) < 2:
        return RepeatedRate(known, None, None, seed)
    # the bootstrap divides by the number of clusters where the sample variance has one less
    se = float(usable.std() * math.sqrt(len(names) / (len(names) - 1)))
    interval = rate_interval(known, se, len(names) - 1, lowest=1.0 - len(arms))
    return RepeatedRate(known, se, interval, seed)


def _share(item: RepeatedItem, label: str) -> float:
    return item.labels.count(label) / len(item.labels)


def _pooled(yes: float, no: float) -> float:
    return float(yes / (yes + no)) if yes + no > 0 else math.nan

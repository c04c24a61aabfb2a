"""Agreement of labellings, accuracy of a judge by people's labels, and the sample that people label."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from statistics import NormalDist
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from skilljuror.measures.rates import RESAMPLES, Estimate, Interval

Table = NDArray[np.float64]
"""Weighted counts of pairs of labels; further axes before the last two are resamples."""


class Agreement(Struct, frozen=True):
    """Agreement of two labellings."""

    items: int
    """Items that both labelled."""
    observed: float | None
    """Share of equal labels; None without an item."""
    kappa: float | None
    """Cohen's kappa; None if chance agreement is complete."""
    ac1: float | None
    """Gwet's AC1, which does not collapse when one label is rare."""
    confusion: tuple[tuple[str, str, int], ...]
    """(first label, second label, items), sorted."""
    method: str = "Cohen kappa, Gwet AC1"
    clusters: int = 0
    """Resampled clusters; by default every item is one."""
    observed_interval: Interval | None = None
    """Of `observed`, by percentile bootstrap; None for fewer than two clusters."""
    kappa_interval: Interval | None = None
    """Of `kappa`; resamples without a value are left out."""
    ac1_interval: Interval | None = None
    """Of `ac1`."""
    seed: int = 0
    """Seed of the resampling (numpy PCG64)."""


def agreement(
    first: Sequence[str],
    second: Sequence[str],
    clusters: Sequence[Hashable] | None = None,
    weights: Sequence[float] | None = None,
    *,
    seed: int = 0,
    level: float = 0.95,
) -> Agreement:
    """Return the agreement of two labellings, in the same order of items.

    `clusters` names the cluster of each item, such as its task; whole clusters are resampled because
    their items are alike. `weights` are the items that each one represents: 1 / sampling probability.
    """
    pairs = Counter(zip(first, second, strict=True))
    confusion = tuple((a, b, count) for (a, b), count in sorted(pairs.items()))
    if not pairs:
        return Agreement(0, None, None, None, confusion)
    names = {label: place for place, label in enumerate(sorted({*first, *second}))}
    owners = range(len(first)) if clusters is None else clusters
    tables = _zeros(owners, len(names))
    represented = [1.0] * len(first) if weights is None else weights
    for owner, a, b, weight in zip(owners, first, second, represented, strict=True):
        tables[owner][names[a], names[b]] += weight
    whole = np.sum([*tables.values()], axis=0)
    drawn = _resampled(list(tables.values()), seed)
    (observed, kappa, ac1), (of_observed, of_kappa, of_ac1) = (
        [_number(measure(whole)) for measure in (_observed, _kappa, _ac1)],
        [_percentiles(drawn, measure, level) for measure in (_observed, _kappa, _ac1)],
    )
    return Agreement(
        len(first), observed, kappa, ac1, confusion, clusters=len(tables), observed_interval=of_observed,
        kappa_interval=of_kappa, ac1_interval=of_ac1, seed=seed,
    )  # fmt: skip


class Alpha(Struct, frozen=True):
    """Krippendorff's alpha of any number of raters, with missing labels."""

    alpha: float | None
    """1 for full agreement, 0 for chance; None if all labels are equal, or no item has two."""
    interval: Interval | None
    """Percentile bootstrap over clusters; None for fewer than two."""
    items: int
    """Items with two or more labels."""
    labels: int
    """Labels of these items."""
    clusters: int
    """Resampled clusters."""
    seed: int
    """Seed of the resampling (numpy PCG64)."""
    method: str = "Krippendorff alpha, nominal"


def krippendorff_alpha(
    items: Sequence[Sequence[str | None]],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    level: float = 0.95,
) -> Alpha:
    """Return nominal alpha. Each item is a list of labels, None for a missing one."""
    owners = range(len(items)) if clusters is None else clusters
    given = [
        (owner, labels)
        for owner, item in zip(owners, items, strict=True)
        if len(labels := [label for label in item if label is not None]) > 1
    ]
    names = {
        label: place for place, label in enumerate(sorted({a for _, own in given for a in own}))
    }
    tables = _zeros([owner for owner, _ in given], len(names))
    for owner, labels in given:
        counts = np.zeros(len(names))
        for label in labels:
            counts[names[label]] += 1
        pairs = np.outer(counts, counts) - np.diag(counts)
        tables[owner] += pairs / (len(labels) - 1)
    drawn = _resampled(list(tables.values()), seed)
    return Alpha(
        alpha=_number(_alpha(np.sum([*tables.values()], axis=0))) if given else None,
        interval=_percentiles(drawn, _alpha, level),
        items=len(given),
        labels=sum(len(labels) for _, labels in given),
        clusters=len(tables),
        seed=seed,
    )


def _zeros(owners: Sequence[Hashable], labels: int) -> dict[Hashable, Table]:
    return {owner: np.zeros((labels, labels)) for owner in owners}


def _resampled(tables: list[Table], seed: int) -> Table | None:
    """Return the sums of tables drawn with replacement, one per resample."""
    if len(tables) < 2:
        return None
    # equal tables are drawn together: items without clusters come in few kinds
    kinds, counts = np.unique(np.stack(tables), axis=0, return_counts=True)
    shares = counts / len(tables)
    drawn = np.random.default_rng(seed).multinomial(len(tables), shares, size=RESAMPLES)
    sums: Table = np.tensordot(drawn.astype(float), kinds, axes=1)
    return sums


def _percentiles(
    drawn: Table | None, measure: Callable[[Table], Table], level: float
) -> Interval | None:
    values = np.array([]) if drawn is None else measure(drawn)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = np.percentile(values, [50 * (1 - level), 50 * (1 + level)])
    return Interval(float(low), float(high), level, "percentile bootstrap over clusters")


def _number(value: Table) -> float | None:
    return float(value) if np.isfinite(value) else None


def _observed(table: Table) -> Table:
    share: Table = table.trace(axis1=-2, axis2=-1) / table.sum(axis=(-2, -1))
    return share


def _kappa(table: Table) -> Table:
    total = table.sum(axis=(-2, -1))
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
    return _beyond(_observed(table), chance)


def _ac1(table: Table) -> Table:
    total = table.sum(axis=(-2, -1))[..., None]
    mean = (table.sum(axis=-1) + table.sum(axis=-2)) / (2 * total)
    others = table.shape[-1] - 1
    spread = (mean * (1 - mean)).sum(axis=-1)
    return _beyond(_observed(table), spread / others if others else spread)


def _alpha(table: Table) -> Table:
    """1 - observed / expected disagreement of a table of coincidences."""
    each = table.sum(axis=-1)
    total = each.sum(axis=-1)
    apart = total - table.trace(axis1=-2, axis2=-1)
    expected = (total**2 - (each**2).sum(axis=-1)) / (total - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Table = 1 - apart / expected
    return found


def _beyond(observed: Table, chance: Table) -> Table:
    """(observed - chance) / (1 - chance); nan if chance is 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)


def weighted_share(
    hits: Sequence[bool], weights: Sequence[float], level: float = 0.95
) -> Estimate | None:
    """Return the weighted share of hits, with Wilson's interval at Kish's effective number of items, (sum of
    weights)^2 / sum of squares; None without items. The items count as its tasks."""
    if not hits:
        return None
    total = math.fsum(weights)
    effective = total**2 / math.fsum(weight**2 for weight in weights)
    share = math.fsum(weight for hit, weight in zip(hits, weights, strict=True) if hit) / total
    z = NormalDist().inv_cdf(0.5 + level / 2)
    s = z * z / effective
    middle = (share + s / 2) / (1 + s)
    reach = math.sqrt(s * share * (1 - share) + s * s / 4) / (1 + s)
    low = 0.0 if share == 0 else max(0.0, middle - reach)
    high = 1.0 if share == 1 else min(1.0, middle + reach)
    return Estimate(share, Interval(low, high, level, "Wilson, effective size"), len(hits))


class Accuracy(Struct, frozen=True):
    """Accuracy of a judge's yes against people's labels, weighted by 1 / sampling probability."""

    sensitivity: Estimate | None
    """Share of people's yes that the judge labelled yes (unknown is not yes)."""
    specificity: Estimate | None
    """Share of people's no that the judge did not label yes."""
    precision: Estimate | None
    """Share of the judge's yes that people labelled yes."""
    undecided: int
    """Items that people labelled neither yes nor no, ignored."""


def judge_accuracy(items: Sequence[tuple[str, str, float]], level: float = 0.95) -> Accuracy:
    """Return sensitivity, specificity and precision of a judge's yes, from (judge's label, person's label,
    number of items that this one represents)."""
    yes = [(judge == "yes", weight) for judge, person, weight in items if person == "yes"]
    no = [(judge != "yes", weight) for judge, person, weight in items if person == "no"]
    called = [
        (person == "yes", weight)
        for judge, person, weight in items
        if judge == "yes" and person in {"yes", "no"}
    ]
    sensitivity, specificity, precision = (
        weighted_share([hit for hit, _ in rows], [weight for _, weight in rows], level)
        for rows in (yes, no, called)
    )
    return Accuracy(sensitivity, specificity, precision, len(items) - len(yes) - len(no))


class Sampled(Struct, frozen=True):
    """One item of a sample, its group, and its sampling probability in it: drawn / items."""

    item: str
    stratum: Hashable
    probability: float


def stratified_sample(
    strata: Mapping[str, Hashable], size: int, seed: int = 0, totals: dict[Any, int] | None = None
) -> tuple[Sampled, ...]:
    """Draw `size` items, from each stratum in proportion to the square root of its size, so that rare
    strata are represented (Bankier's power allocation). The order alternates between strata, so that the
    first part of the sample is such a sample too.

    `strata` maps items to strata. Within a stratum items are ordered by sha256 of seed and item: a larger
    sample contains the smaller one, and new items change little. With `totals`, sizes of strata, their first `size` do.
    """
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for item in sorted(strata, key=lambda item: sha256(f"{seed}\n{item}".encode()).digest()):
        groups[strata[item]].append(item)
    totals = totals or {stratum: len(group) for stratum, group in groups.items()}
    turns = {
        item: ((place + 0.5) / math.sqrt(totals[stratum]), repr(stratum))
        for stratum, group in groups.items()
        for place, item in enumerate(group)
    }
    drawn = sorted(strata, key=turns.__getitem__)[:size]
    counts = Counter(strata[item] for item in drawn)
    return tuple(
        Sampled(item, stratum, counts[stratum] / totals[stratum])
        for item in drawn
        for stratum in [strata[item]]
    )

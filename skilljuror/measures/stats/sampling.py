"""Stratified random sample of the items that people label, reproducible by its seed."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True)
class Sampled:
    """One item of a sample."""

    item: str
    """Its id."""
    stratum: Hashable
    """Its group."""
    probability: float
    """Sampling probability in its stratum: drawn / items."""


def stratified_sample(
    strata: Mapping[str, Hashable], size: int, seed: int = 0
) -> tuple[Sampled, ...]:
    """Draw `size` items, from each stratum in proportion to the square root of its size, so that rare
    strata are represented (Bankier's power allocation). The order alternates between strata, so that the
    first part of the sample is such a sample too.

    `strata` maps items to strata. Within a stratum items are ordered by sha256 of seed and item: a larger
    sample contains the smaller one, and new items change little.
    """
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for item in sorted(strata, key=lambda item: sha256(f"{seed}\n{item}".encode()).digest()):
        groups[strata[item]].append(item)
    turns = {
        item: ((place + 0.5) / math.sqrt(len(group)), repr(stratum))
        for stratum, group in groups.items()
        for place, item in enumerate(group)
    }
    drawn = sorted(strata, key=turns.__getitem__)[:size]
    counts = Counter(strata[item] for item in drawn)
    return tuple(
        Sampled(item, stratum, counts[stratum] / len(groups[stratum]))
        for item in drawn
        for stratum in [strata[item]]
    )

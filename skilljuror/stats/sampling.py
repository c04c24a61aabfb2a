"""Which items people are asked about: a stratified random sample, the same for the same seed."""

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
    """The group that it was drawn from."""
    probability: float
    """Chance that an item of this stratum had to be drawn: drawn / items."""


def stratified_sample(
    strata: Mapping[str, Hashable], size: int, seed: int = 0
) -> tuple[Sampled, ...]:
    """`size` items, of every stratum in proportion to the square root of its items, so that a rare one
    has its say (Bankier's power allocation); in turns, so that whoever stops early has such a sample, too.

    `strata` maps items to strata. Inside a stratum the order is that of sha256 of seed and item, so that
    a larger sample holds the smaller one, and items that come later change little of it.
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

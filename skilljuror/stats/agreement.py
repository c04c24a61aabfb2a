"""How far two labellings of the same items agree."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Agreement:
    """Agreement of two labellings."""

    items: int
    """Items that both labelled."""
    observed: float | None
    """Share of equal labels; None without an item."""
    kappa: float | None
    """Cohen's kappa; None where chance agreement is complete."""
    ac1: float | None
    """Gwet's AC1, which does not collapse when one label is rare."""
    confusion: tuple[tuple[str, str, int], ...]
    """(first label, second label, items), sorted."""
    method: str = "Cohen kappa, Gwet AC1"
    """Name of the method."""


def agreement(first: Sequence[str], second: Sequence[str]) -> Agreement:
    """Agreement of two labellings in the same order of items."""
    pairs = Counter(zip(first, second, strict=True))
    items = pairs.total()
    table = tuple((a, b, count) for (a, b), count in sorted(pairs.items()))
    if not items:
        return Agreement(0, None, None, None, table)
    observed = sum(count for a, b, count in table if a == b) / items
    labels = sorted({*first, *second})
    left = [sum(label == given for given in first) / items for label in labels]
    right = [sum(label == given for given in second) / items for label in labels]
    by_chance = sum(a * b for a, b in zip(left, right, strict=True))
    mean = [(a + b) / 2 for a, b in zip(left, right, strict=True)]
    spread = sum(share * (1 - share) for share in mean)
    gwet = spread / (len(labels) - 1) if len(labels) > 1 else 0.0
    return Agreement(
        items, observed, _beyond_chance(observed, by_chance), _beyond_chance(observed, gwet), table
    )


def _beyond_chance(observed: float, chance: float) -> float | None:
    return (observed - chance) / (1 - chance) if chance < 1 else None

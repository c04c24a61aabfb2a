"""Stretches of a text, counted in values, in which values count as close to each other."""

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from skilljuror.judge.values import Placed


@dataclass(frozen=True)
class Window:
    """A stretch of a text."""

    size: int
    """Values in it."""
    first: dict[str, tuple[int, str]]
    """Its watched values: where each stands first, and on which line."""


def windows(
    found: Sequence[Placed], sizes: Sequence[int], watched: Container[str], fewest: int
) -> Iterator[Window]:
    """Windows of each size at half its distance, where they hold enough watched values.

    A text that is no longer than a window is one window; larger sizes add nothing then.
    """
    places = [i for i, (value, _) in enumerate(found) if value in watched]
    for size in sizes:
        for start in range(0, max(1, len(found) - size // 2), size // 2):
            here = places[bisect_left(places, start) : bisect_left(places, start + size)]
            if len(here) >= fewest:
                yield Window(min(size, len(found) - start), _first(found, here))
        if len(found) <= size:
            return


def _first(found: Sequence[Placed], here: list[int]) -> dict[str, tuple[int, str]]:
    first: dict[str, tuple[int, str]] = {}
    for i in here:
        value, line = found[i]
        first.setdefault(value, (i, line))
    return first

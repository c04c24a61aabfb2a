"""Recognise steps that were renumbered throughout: no amount changed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from skilljuror.audit.comparison.unit_matching import MatchedBundles, numbered_heading
from skilljuror.base.skill import Unit

_MENTION = re.compile(
    r"\b(steps?|phases?|stages?|parts?|sections?|workflows?) (\d+)\b", re.IGNORECASE
)


class Renumbering:
    """The new number of each numbered heading of the parent."""

    def __init__(self, both: MatchedBundles) -> None:
        matching = both.matching
        pairs = [*matching.same, *((pair.before, pair.after) for pair in matching.alike)]
        self._numbers: dict[str, str] = {}
        if not _is_ascending(both.new):
            return
        found: dict[str, set[str]] = defaultdict(set)
        for before, after in pairs:
            old, new = map(numbered_heading, (before, after))
            if old and new and old[1] == new[1] and old[3] == new[3]:
                found[old[2]].add(new[2])
        self._numbers = {old: next(iter(new)) for old, new in found.items() if len(new) == 1}

    def applied(self, unit: Unit) -> str:
        """Return the text of a unit of the parent with the new numbers of headings."""
        if not self._numbers:
            return unit.text
        if match := numbered_heading(unit):
            return f"{match[1]}{self._numbers.get(match[2], match[2])}{match[3]}"
        return _MENTION.sub(
            lambda match: f"{match[1]} {self._numbers.get(match[2], match[2])}", unit.text
        )


def _is_ascending(units: Iterable[Unit]) -> bool:
    """Whether the numbers of sibling headings go up everywhere, so that each number is one step."""
    return all(number < following for number, following in _neighbours(units))


def _neighbours(units: Iterable[Unit]) -> Iterator[tuple[int, int]]:
    last: dict[tuple[str, tuple[str, ...], str], int] = {}
    for unit in units:
        if match := numbered_heading(unit):
            place = unit.file, unit.headings, match[1]
            if place in last:
                yield last[place], int(match[2])
            last[place] = int(match[2])

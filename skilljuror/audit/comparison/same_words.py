"""Find text by its words alone: a list made a sentence, a label made a heading."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.base.skill import Unit

_REGROUPED = frozenset({"heading", "item", "statement"})
_EDGES = ".,;:!?()[]{}\"'`*_|—–…"  # signs around a word that a change of markup may change
_NUMBER = re.compile(r"^\d+(?:\.\d+)*[.)]\s+")
_LONG = 3  # words from which an equal text elsewhere is a copy and no coincidence


@lru_cache(maxsize=1 << 15)
def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without markup and punctuation, in lower case unless all capitals."""
    words = (word.strip(_EDGES) for word in text.replace("`", " ").split())
    return tuple(
        word if word.isupper() and len(word) > 1 else word.lower()
        for word in words
        if word and word != "-"
    )


def _words(unit: Unit, normaliser: TextNormaliser) -> tuple[str, ...]:
    """The words of a unit; a heading without its number, because list items have none in their text either."""
    text = normaliser.text(unit)
    return plain_words(_NUMBER.sub("", text) if unit.kind == "heading" else text)


class Regrouping(NamedTuple):
    """Neighbouring units of both sides with the same words in the same order."""

    before: tuple[Unit, ...]
    after: tuple[Unit, ...]


class _Side:
    """The units of one side in reading order, and which of them have no counterpart yet."""

    def __init__(
        self, units: Sequence[Unit], rest: Collection[int], normaliser: TextNormaliser
    ) -> None:
        self.units = units
        self.words = [
            _words(unit, normaliser) if id(unit) in rest and unit.kind in _REGROUPED else ()
            for unit in units
        ]

    def starts(self) -> Iterator[int]:
        return (n for n, words in enumerate(self.words) if words)

    def take(self, places: range) -> tuple[Unit, ...]:
        for place in places:
            self.words[place] = ()
        return tuple(self.units[place] for place in places)

    def follows(self, place: int) -> bool:
        """Whether the unit after `place` is free and on the same page."""
        after = place + 1
        return (
            after < len(self.units)
            and bool(self.words[after])
            and self.units[after].file == self.units[place].file
        )


def regroupings(
    old: Sequence[Unit],
    new: Sequence[Unit],
    rest: Collection[int],
    normaliser: TextNormaliser,
) -> Iterator[Regrouping]:
    """Yield runs of units with equal words that begin and end together, shortest first.

    `rest` holds the `id` of each unit without a counterpart. No unit is in two runs.
    """
    before, after = (_Side(units, rest, normaliser) for units in (old, new))
    places: dict[str, list[int]] = defaultdict(list)
    for place in after.starts():
        places[after.words[place][0]].append(place)
    for place in before.starts():
        candidates = places[before.words[place][0]] if before.words[place] else ()
        runs = (_run(before, place, after, other) for other in candidates if after.words[other])
        found = next(filter(None, runs), None)
        if found:
            yield Regrouping(before.take(found[0]), after.take(found[1]))


def _run(before: _Side, first: int, after: _Side, other: int) -> tuple[range, range] | None:
    """The shortest runs from two units on that end together, or None."""
    here, there = first, other
    old, new = list(before.words[here]), list(after.words[there])
    while True:
        shared = min(len(old), len(new))
        if old[:shared] != new[:shared]:
            return None
        if len(old) == len(new):
            return range(first, here + 1), range(other, there + 1)
        side, place = (before, here) if len(old) < len(new) else (after, there)
        if not side.follows(place):
            return None
        old, new = old[shared:], new[shared:]
        if side is before:
            here += 1
            old = list(before.words[here])
        else:
            there += 1
            new = list(after.words[there])


class WordStream:
    """All words of one bundle, in reading order, to find a text whatever its markup."""

    def __init__(self, units: Iterable[Unit], normaliser: TextNormaliser) -> None:
        self._normaliser = normaliser
        units = list(units)
        self.code = frozenset(unit.text for unit in units if unit.kind == "code")
        words = [word for unit in units for word in _words(unit, normaliser)]
        self._text = f" {'  '.join(words)} "  # each word has blanks of its own on both sides
        self._vocabulary = frozenset(words)

    def count(self, unit: Unit) -> int:
        """Return how often the words of a unit occur one after another."""
        words = _words(unit, self._normaliser)
        if not words or not self._vocabulary.issuperset(words):
            return 0
        return self._text.count(f" {'  '.join(words)} ")


def is_copy(unit: Unit, other: WordStream) -> bool:
    """Whether a text of one side is on the other as well, in any markup; a short one as a line of code."""
    long = len(plain_words(unit.text)) >= _LONG
    return other.count(unit) > 0 if long else unit.kind == "code" and unit.text in other.code


def is_as_often(unit: Unit, own: WordStream, other: WordStream) -> bool:
    """Whether a text of one side is on the other at least as often, in any markup."""
    return not plain_words(unit.text) or 0 < own.count(unit) <= other.count(unit)

"""The features worth looking for: those that some event's text offered, and where."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from skilljuror.judge.features.extraction import (
    ENOUGH,
    HEADING,
    NAME,
    PHRASE,
    heading,
    listed_name,
    numbers,
    of_number,
    of_piece,
    offered,
    pieces,
)
from skilljuror.judge.features.key_values import settings, told_by_tables, value_of
from skilljuror.judge.features.tokenisation import Feature, words_of
from skilljuror.judge.replay.shown_text import Group

SHORTEST = 2
"""Words of the shortest phrase that a source can offer."""


class Watch:
    """Collects what sources offer, then finds it again in any text, in one pass each."""

    def __init__(self, common: frozenset[str]) -> None:
        self.weights: dict[str, int] = {}
        """feature -> the highest weight that a source gave it."""
        self._common = common
        self._sought = common
        """Tokens that are passed over in a search."""
        self._quotes: dict[tuple[Group, str], str] = {}
        self._first_words: set[str] = set()
        self._vocabulary: set[str] = set()
        self._numbers = False
        self._values: set[str] = set()
        """Values of watched settings: a number in one spelling, or the first word."""
        self._hits: dict[str, tuple[str, ...]] = {}
        """Piece of a line -> what is watched of it; texts repeat their pieces."""

    def add(self, group: Group, lines: Sequence[str], listing: bool) -> None:
        """A source's lines: remember what may be recognised, and on which line it stands."""
        fenced = False
        for line, told in told_by_tables(lines):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            for feature, weight in self._offered(line, fenced, listing):
                self._learn(group, feature, weight, line)
            for feature, weight in chain.from_iterable(map(settings, told if not listing else ())):
                self._learn(group, feature, weight, line)

    def add_whole(self, group: Group, features: Iterable[tuple[str, str]]) -> None:
        """Features, each with a line, that are enough alone and that somebody else looks for."""
        for feature, line in features:
            self.weights[feature] = ENOUGH
            self._quotes.setdefault((group, feature), line)

    def _learn(self, group: Group, feature: str, weight: int, line: str) -> None:
        if feature not in self.weights:
            self._index(feature)
        self.weights[feature] = max(weight, self.weights.get(feature, 0))
        self._quotes.setdefault((group, feature), line)

    def _offered(self, line: str, fenced: bool, listing: bool) -> Iterable[Feature]:
        if not listing:
            return offered(line, fenced, self._common)
        name = listed_name(line)
        return [(name, ENOUGH)] if name else []

    def _index(self, feature: str) -> None:
        self._hits.clear()
        if feature.startswith("#"):
            self._numbers = True
            return
        if "=" in feature:
            self._values.add(value_of(feature))
        words = words_of(feature.removeprefix(NAME))
        self._vocabulary.update(words[:1])
        if " " in feature and not feature.startswith(HEADING):
            self._first_words.add(words[0])

    def add_names(self, features: Sequence[str]) -> None:
        """Names to look for that no source offers as its own, common or not: they have no weight."""
        self._sought = self._common.difference(feature.lower() for feature in features)
        for feature in features:
            self.weights.setdefault(feature, 0)
            self._index(feature)

    def quote(self, group: Group, feature: str) -> str:
        """The first line of a group's text that offers a feature."""
        return self._quotes.get((group, feature), "")

    def offers(self, group: Group, feature: str) -> bool:
        """Whether a group's own text holds a feature."""
        return (group, feature) in self._quotes

    def find(self, lines: Iterable[str]) -> dict[str, str]:
        """Watched features in a text, each with the first line it stands on."""
        found: dict[str, str] = {}
        for line, told in told_by_tables(lines):
            for feature in self._on(line):
                found.setdefault(feature, line)
            for feature, _ in chain.from_iterable(map(settings, told)):
                if feature in self.weights:
                    found.setdefault(feature, line)
        return found

    def find_listed(self, lines: Iterable[str]) -> dict[str, str]:
        """The entries that a listing shows, each with its line."""
        named = ((listed_name(line), line) for line in lines)
        return {name: line for name, line in named if name}

    def _on(self, line: str) -> Iterator[str]:
        words = words_of(line)
        somewhere = self._numbers or self._values
        if not somewhere and self._vocabulary.isdisjoint(words):
            return
        starts = (i for i, word in enumerate(words) if word in self._first_words)
        for i in starts:
            yield from self._phrases(words[i : i + PHRASE])
        title = heading(line, words)
        if title in self.weights:
            yield title
        for piece in pieces(line):
            yield from self._of_piece(piece)
        yield from self._with_values(line, words)

    def _of_piece(self, piece: str) -> tuple[str, ...]:
        if piece.isalpha() and piece.islower():
            return ()
        hits = self._hits.get(piece)
        if hits is None:
            features = of_piece(piece, self._sought)
            hits = self._hits[piece] = tuple(one for one in features if one in self.weights)
        return hits

    def _with_values(self, line: str, words: list[str]) -> Iterator[str]:
        """Watched numbers of a line, and watched settings, where one of their values stands."""
        written = numbers(line)
        for number in written:
            yield from (one for one, _ in of_number(number) if one in self.weights)
        here = not self._values.isdisjoint(words) or any(
            f"{float(number.replace(',', '')):g}" in self._values for number in written
        )
        if here:
            yield from (setting for setting, _ in settings(line) if setting in self.weights)

    def _phrases(self, words: list[str]) -> Iterator[str]:
        """Watched phrases that begin with the first word."""
        for length in range(SHORTEST, len(words) + 1):
            phrase = " ".join(words[:length])
            if phrase in self.weights:
                yield phrase

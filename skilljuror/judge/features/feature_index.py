"""Index the features of sources, and find them in other text."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain

from skilljuror.judge.features.commands import COMMAND_PREFIX, commands_on, program_of
from skilljuror.judge.features.extraction import (
    DECISIVE_WEIGHT,
    ENTRY_PREFIX,
    HEADING_PREFIX,
    PHRASE_WORDS,
    company,
    entry_feature,
    features_of,
    features_of_token,
    heading,
    number_features,
    numbers,
    tokens_of,
)
from skilljuror.judge.features.key_values import settings, value_of, with_table_settings
from skilljuror.judge.features.tokenisation import WeightedFeature, tokenize

SHORTEST_PHRASE = 2
"""Words of the shortest phrase that a source can offer."""


class FeatureIndex:
    """Collects the features of sources, then finds them in any text in one pass.

    A source is any hashable key. `common` are common tokens, in lower case, and values; they are not
    features.
    """

    def __init__(self, common: frozenset[str]) -> None:
        self.weights: dict[str, int] = {}
        """Feature -> the highest weight that a source gave it."""
        self._common = common
        self._skipped = common
        """Tokens to skip in a search."""
        self._quotes: dict[tuple[Hashable, str], str] = {}
        """(source, feature) -> the first line of the source with it."""
        self._first_words: set[str] = set()
        """First words of the phrases."""
        self._vocabulary: set[str] = set()
        """First words of all features: a line without any of them has no feature."""
        self._programs: set[str] = set()
        """Programs of the commands."""
        self._has_numbers = False
        self._setting_values: set[str] = set()
        """Values of the settings: a number in one spelling, or the first word."""
        self._token_hits: dict[str, tuple[str, ...]] = {}
        """Token -> the features in it; texts repeat their tokens."""

    def add_source(self, source: Hashable, lines: Sequence[str], *, listing: bool) -> None:
        """Add the features of a source's lines; those of a listing are the names of its entries."""
        fenced = False
        for line, cells in with_table_settings(lines):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            for feature, weight in self._features_of(line, fenced, listing):
                self._learn(source, feature, weight, line)
            for feature, weight in chain.from_iterable(map(settings, cells if not listing else ())):
                self._learn(source, feature, weight, line)

    def add_decisive(self, source: Hashable, features: Iterable[tuple[str, str]]) -> None:
        """Add (feature, line) pairs of decisive weight that are searched for elsewhere."""
        for feature, line in features:
            self.weights[feature] = DECISIVE_WEIGHT
            self._quotes.setdefault((source, feature), line)

    def add_names(self, features: Sequence[str]) -> None:
        """Add names without a source, common or not; they have no weight."""
        self._skipped = self._common.difference(feature.lower() for feature in features)
        for feature in features:
            self.weights.setdefault(feature, 0)
            self._index(feature)

    def _learn(self, source: Hashable, feature: str, weight: int, line: str) -> None:
        if feature not in self.weights:
            self._index(feature)
        self.weights[feature] = max(weight, self.weights.get(feature, 0))
        self._quotes.setdefault((source, feature), line)

    def _features_of(self, line: str, fenced: bool, listing: bool) -> Iterable[WeightedFeature]:
        if not listing:
            return features_of(line, fenced, self._common)
        entry = entry_feature(line)
        return [(entry, DECISIVE_WEIGHT)] if entry else []

    def _index(self, feature: str) -> None:
        self._token_hits.clear()
        if feature.startswith("#"):
            self._has_numbers = True
            return
        if feature.startswith(COMMAND_PREFIX):
            self._programs.add(program_of(feature))
            self._vocabulary.update(tokenize(program_of(feature))[:1])
            return
        if "=" in feature:
            self._setting_values.add(value_of(feature))
        words = tokenize(feature.removeprefix(ENTRY_PREFIX))
        self._vocabulary.update(words[:1])
        if " " in feature and not feature.startswith(HEADING_PREFIX):
            self._first_words.add(words[0])

    def quote(self, source: Hashable, feature: str) -> str:
        """Return the first line of a source with a feature; "" if there is none."""
        return self._quotes.get((source, feature), "")

    def offers(self, source: Hashable, feature: str) -> bool:
        """Whether a source's own text has a feature."""
        return (source, feature) in self._quotes

    def find(self, lines: Iterable[str]) -> dict[str, str]:
        """Return every indexed feature in a text, with its first line."""
        hits: dict[str, str] = {}
        for line, cells in with_table_settings(lines):
            for feature in self._on(line):
                hits.setdefault(feature, line)
            for feature, _ in chain.from_iterable(map(settings, cells)):
                if feature in self.weights:
                    hits.setdefault(feature, line)
        return hits

    def find_entries(self, lines: Iterable[str]) -> dict[str, str]:
        """Return every entry of a listing, indexed or not, with its line."""
        entries = ((entry_feature(line), line) for line in lines)
        return {entry: line for entry, line in entries if entry}

    def _on(self, line: str) -> Iterator[str]:
        words = tokenize(line)
        somewhere = self._has_numbers or self._setting_values
        if not somewhere and self._vocabulary.isdisjoint(words):
            return
        starts = (i for i, word in enumerate(words) if word in self._first_words)
        for i in starts:
            yield from self._phrases(words[i : i + PHRASE_WORDS])
        title = heading(line, words)
        if title in self.weights:
            yield title
        for token in tokens_of(line):
            yield from self._in_token(token)
        if self._programs:
            yield from commands_on(line, self.weights, self._programs)
        yield from self._with_values(line, words)

    def _in_token(self, token: str) -> tuple[str, ...]:
        if token.isalpha() and token.islower():
            return ()
        hits = self._token_hits.get(token)
        if hits is None:
            features = features_of_token(token, self._skipped)
            hits = tuple(feature for feature in features if feature in self.weights)
            self._token_hits[token] = hits
        return hits

    def _with_values(self, line: str, words: list[str]) -> Iterator[str]:
        """Indexed numbers of a line, and indexed settings whose value is on it."""
        written = numbers(line)
        found = [
            name for one in written for name, _ in number_features(one) if name in self.weights
        ]
        yield from found
        words_beside = company(line) if found else ()
        named = (f"{name} {word}" for name in found for word in words_beside)
        yield from (name for name in named if name in self.weights)
        has_value = not self._setting_values.isdisjoint(words) or any(
            f"{float(number.replace(',', '')):g}" in self._setting_values for number in written
        )
        if has_value:
            yield from (setting for setting, _ in settings(line) if setting in self.weights)

    def _phrases(self, words: list[str]) -> Iterator[str]:
        """Indexed phrases that begin with the first word."""
        for length in range(SHORTEST_PHRASE, len(words) + 1):
            phrase = " ".join(words[:length])
            if phrase in self.weights:
                yield phrase

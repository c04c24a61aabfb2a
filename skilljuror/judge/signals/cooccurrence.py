"""Values that occur together both in a resource and in one action.

Each value alone is too common to prove a use, but k of the m values of one small passage (a line, a
table row, a few lines without a gap) close to each other in an action are improbable. The
improbability is counted in bits; parameters and rule are in rubrics/eru.yaml:

    sum of the surprise of the k values  -  log2(C(m, k))  -  log2(ways to place k values among
    the n of a window)  -  log2(passages of the resource)  -  log2(windows looked at so far)

Numbers that continue a sequence (1 2 3, 10 20 30, 64 128 256) do not count after the second, nor do
values that other text of the run has together.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skilljuror.judge.features.field_names import field_names, name_bits
from skilljuror.judge.features.values import (
    COOCCURRENCE_PREFIX,
    ValueOnLine,
    continued_counts,
    surprise_bits,
    values_of,
    without_list_marker,
)

MAX_PASSAGE_LINES = 12
"""Lines of the longest passage."""

_MAX_PASSAGES = 16
"""A value in more passages than this is too common to select one."""

Passage = dict[str, str]
"""The values of a passage in order, each with its line."""


@dataclass(frozen=True)
class CooccurrenceRule:
    """The parameters of the formula, from rubrics/eru.yaml."""

    enough_bits: float
    """Bits from which co-occurring values prove their origin."""
    fewest_values: int
    """Minimum co-occurring values."""
    most_values: int
    """Maximum values of a passage."""
    window: int
    """Size, in values, of the part of an action in which values count as close."""
    most_bits: float
    """Maximum bits of one value."""
    everyday: frozenset[str]
    """Values that are more common than their digits suggest."""
    everyday_bits: float
    """Maximum bits of such a value."""


@dataclass(frozen=True)
class CooccurrenceMatch:
    """Values of a passage that occur together in an action."""

    feature: str
    """Feature of the passage."""
    values: tuple[str, ...]
    """The values, rarest first."""
    line: str
    """The line of the action with the rarest of them."""
    source: str
    """The line of the passage with the rarest of them."""
    bits: float
    """How improbable that is."""

    @property
    def name(self) -> str:
        """The feature of these values alone."""
        return COOCCURRENCE_PREFIX + " ".join(self.values)


@dataclass(frozen=True)
class _Window:
    """A stretch of the values of a text."""

    size: int
    """Values in it."""
    first: dict[str, tuple[int, str]]
    """Value of some passage -> (its first place in the window, from 0; its line)."""


class Reading(NamedTuple):
    """How to find values on a line, and how common they are."""

    values_of: Callable[[str], list[str]]
    """Values of a line, in order."""
    bits_of: Callable[[str], float]
    """Surprise of a value in bits."""


VALUES = Reading(values_of, surprise_bits)
"""Numbers, dates and times."""

FIELDS = Reading(field_names, name_bits)
"""Names of fields, each of which stands for a value."""


def passages(lines: Iterable[str], reading: Reading = VALUES) -> Iterator[Passage]:
    """Yield the passages of a text: each line, and each block of lines without a gap or a table."""
    block: list[list[ValueOnLine]] = []
    for line in lines:
        on_line = [(value, line) for value in reading.values_of(without_list_marker(line))]
        yield _passage(on_line)
        if line.strip() and "|" not in line:
            block.append(on_line)
            continue
        yield from _block_passage(block)
        block = []
    yield from _block_passage(block)


def _block_passage(block: list[list[ValueOnLine]]) -> Iterator[Passage]:
    if len(block) <= MAX_PASSAGE_LINES:
        yield _passage(placed for on_line in block for placed in on_line)


def _passage(values: Iterable[ValueOnLine]) -> Passage:
    passage: Passage = {}
    for value, line in values:
        passage.setdefault(value, line)
    return passage


class CooccurrenceDetector:
    """The passages of one agent's resources, and other occurrences of their values in its run."""

    def __init__(self, rule: CooccurrenceRule, reading: Reading = VALUES) -> None:
        self._rule = rule
        self._reading = reading
        self._passages: dict[str, Passage] = {}
        self._passage_counts: dict[str, int] = {}
        """Feature -> number of passages in its text."""
        self._by_value: dict[str, list[str]] = defaultdict(list)
        self._known: dict[str, set[str]] = defaultdict(set)
        """Feature -> its values that other text has together."""
        self._passages_of: dict[tuple[str, ...], dict[str, Passage]] = {}
        """Lines of a source -> its passages; cached, because every text is added first and shown later."""
        self._looked = 0
        """Windows of actions searched so far."""

    def add(self, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Add the passages of a source; yield (feature, its first line) of each."""
        learned = self._indexed(lines)
        for feature, passage in learned.items():
            self._passage_counts[feature] = max(len(learned), self._passage_counts.get(feature, 0))
            if feature not in self._passages:
                self._passages[feature] = passage
                for value in passage:
                    self._by_value[value].append(feature)
            yield feature, next(iter(passage.values()))

    def _indexed(self, lines: Sequence[str]) -> dict[str, Passage]:
        key = tuple(lines)
        if key not in self._passages_of:
            fewest, most = self._rule.fewest_values, self._rule.most_values
            kept = (
                passage
                for passage in passages(lines, self._reading)
                if fewest <= len(passage) <= most
            )
            self._passages_of[key] = {
                COOCCURRENCE_PREFIX + " ".join(passage): passage for passage in kept
            }
        return self._passages_of[key]

    def show(self, lines: Sequence[str]) -> tuple[list[str], list[str]]:
        """Record a source's shown text. Return (features of its passages that can prove a use, features
        of other passages that no longer can)."""
        shown = self._indexed(lines) if self._passages else {}
        spoilt = self.said_elsewhere(lines, spare=shown)
        return [feature for feature in shown if self._can_prove(feature)], spoilt

    def said_elsewhere(self, lines: Iterable[str], *, spare: Container[str] = ()) -> list[str]:
        """Record other text; return the passages, except `spare`, that can no longer prove a use."""
        touched: dict[str, None] = {}
        for window in self._windows(lines):
            for feature in self._candidates(window):
                if feature not in spare:
                    self._known[feature] |= window.first.keys() & self._passages[feature].keys()
                    touched[feature] = None
        return [feature for feature in touched if not self._can_prove(feature)]

    def used(self, lines: Iterable[str]) -> list[CooccurrenceMatch]:
        """Return matches of passages in lines that the agent wrote."""
        best: dict[str, CooccurrenceMatch] = {}
        for window in self._windows(lines):
            self._looked += 1
            for feature in self._candidates(window):
                match = self._match(feature, window, self._looked)
                if match.bits >= max(self._rule.enough_bits, best.get(feature, _NOTHING).bits):
                    best[feature] = match
        return list(best.values())

    def _windows(self, lines: Iterable[str]) -> Iterator[_Window]:
        """Windows that overlap by half and have enough values of passages."""
        if not self._passages:
            return
        written = [(value, line) for line in lines for value in self._reading.values_of(line)]
        half = self._rule.window // 2
        for start in range(0, max(1, len(written) - half), half):
            part = written[start : start + 2 * half]
            first: dict[str, tuple[int, str]] = {}
            for i, (value, line) in enumerate(part):
                if value in self._by_value:
                    first.setdefault(value, (i, line))
            if len(first) >= self._rule.fewest_values:
                yield _Window(len(part), first)

    def _candidates(self, window: _Window) -> list[str]:
        """Passages with enough values in a window, found by values of few passages."""
        candidates: dict[str, None] = {}
        for value in window.first:
            features = self._by_value[value]
            if len(features) <= _MAX_PASSAGES:
                candidates.update(dict.fromkeys(features))
        values, fewest = window.first.keys(), self._rule.fewest_values
        return [name for name in candidates if len(values & self._passages[name]) >= fewest]

    def _surprise(self, value: str) -> float:
        everyday = value in self._rule.everyday
        return min(
            self._reading.bits_of(value),
            self._rule.everyday_bits if everyday else self._rule.most_bits,
        )

    def _can_prove(self, feature: str) -> bool:
        """Whether a complete match of a passage would prove a use."""
        passage = self._passages[feature]
        whole = {value: (i, line) for i, (value, line) in enumerate(passage.items())}
        return self._match(feature, _Window(len(whole), whole), 1).bits >= self._rule.enough_bits

    def _match(self, feature: str, window: _Window, looked: int) -> CooccurrenceMatch:
        """The most improbable combination of a passage's values in a window."""
        passage, known = self._passages[feature], self._known.get(feature, ())
        new = [value for value in passage if value in window.first and value not in known]
        rarest_first = sorted(
            set(new) - continued_counts(new), key=lambda value: (-self._surprise(value), value)
        )
        against = math.log2(self._passage_counts[feature]) + math.log2(looked)
        best = _NOTHING
        for k in range(self._rule.fewest_values, len(rarest_first) + 1):
            chosen = rarest_first[:k]
            bits = (
                sum(map(self._surprise, chosen)) - against - math.log2(math.comb(len(passage), k))
            )
            bits -= _placement_bits(chosen, passage, window)
            if bits > best.bits:
                lines = window.first[rarest_first[0]][1], passage[rarest_first[0]]
                best = CooccurrenceMatch(feature, tuple(chosen), *lines, bits)
        return best


def _placement_bits(chosen: list[str], passage: Passage, window: _Window) -> float:
    """log2 of the ways to place the values; in the order of the passage there are fewer."""
    places = [window.first[value][0] for value in passage if value in chosen]
    ways = math.comb if places == sorted(places) else math.perm
    return math.log2(ways(max(window.size, len(chosen)), len(chosen)))


_NOTHING = CooccurrenceMatch("", (), "", "", -math.inf)

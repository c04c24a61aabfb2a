"""Values that stand together in a resource and come back together in one action.

Each alone is too common to prove anything; that k of the m values of one small passage (a line,
a row of a table, a few lines without a gap) stand close to each other in what the agent did is
improbable. How improbable is counted in bits; parameters and rule are in rubrics/eru.yaml:

    sum of the surprise of the k values  -  log2(C(m, k))  -  log2(ways to place k values among
    the n of a window)  -  log2(passages of the resource)  -  log2(windows looked at so far)

Numbers that only count on (1 2 3, 10 20 30, 64 128 256) say nothing after the second, nor do
values that anything else in the run held together.
"""

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from skilljuror.judge.features.values import (
    TOGETHER,
    Placed,
    counting_on,
    plain_bits,
    unnumbered,
    values,
)

LONGEST = 12
"""Lines of the longest passage."""

_ANCHORS = 16
"""Passages in which a value may stand and still lead to them."""

Passage = dict[str, str]
"""The values of a passage in order, each with the line on which it stands."""


@dataclass(frozen=True)
class TogetherRule:
    """The parameters of the formula, from rubrics/eru.yaml."""

    enough: float
    """Bits from which values that came back together prove where they come from."""
    fewest: int
    """Fewest values that have to come back."""
    most: int
    """Values of the largest passage that is looked for."""
    window: int
    """Values of the stretch of an action in which values count as close."""
    cap: float
    """Most bits of one value."""
    everyday: frozenset[str]
    """Values that are more common than their digits tell."""
    everyday_bits: float
    """Most bits of such a value."""


@dataclass(frozen=True)
class Match:
    """Values of a passage that an action holds together."""

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
        """The feature of what came back: the values alone."""
        return TOGETHER + " ".join(self.values)


@dataclass(frozen=True)
class _Window:
    size: int
    """Values in it."""
    first: dict[str, tuple[int, str]]
    """Its watched values: where each stands first, and on which line."""


def passages(lines: Iterable[str]) -> Iterator[Passage]:
    """The lines of a text with values, and its stretches of lines without a gap or a table."""
    block: list[list[Placed]] = []
    for line in lines:
        here = [(value, line) for value in values(unnumbered(line))]
        yield _passage(here)
        if line.strip() and "|" not in line:
            block.append(here)
            continue
        yield from _whole(block)
        block = []
    yield from _whole(block)


def _whole(block: list[list[Placed]]) -> Iterator[Passage]:
    if len(block) <= LONGEST:
        yield _passage(placed for here in block for placed in here)


def _passage(found: Iterable[Placed]) -> Passage:
    passage: Passage = {}
    for value, line in found:
        passage.setdefault(value, line)
    return passage


class Together:
    """The passages of one agent's resources, and what else its run held of their values."""

    def __init__(self, rule: TogetherRule) -> None:
        self._rule = rule
        self._passages: dict[str, Passage] = {}
        self._rivals: dict[str, int] = {}
        """feature -> passages of the text in which it stands."""
        self._by_value: dict[str, list[str]] = defaultdict(list)
        self._known: dict[str, set[str]] = defaultdict(set)
        """feature -> those of its values that something else held together."""
        self._fit: dict[tuple[str, ...], dict[str, Passage]] = {}
        """Text of a source -> its passages: every text is learned first and shown later."""
        self._looked = 0
        """Windows of actions looked at so far."""

    def add(self, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Learn a source's passages: the feature of each, with its first line."""
        fit = self._fitting(lines)
        for feature, passage in fit.items():
            self._rivals[feature] = max(len(fit), self._rivals.get(feature, 0))
            if feature not in self._passages:
                self._passages[feature] = passage
                for value in passage:
                    self._by_value[value].append(feature)
            yield feature, next(iter(passage.values()))

    def _fitting(self, lines: Sequence[str]) -> dict[str, Passage]:
        key = tuple(lines)
        if key not in self._fit:
            fewest, most = self._rule.fewest, self._rule.most
            fit = (one for one in passages(lines) if fewest <= len(one) <= most)
            self._fit[key] = {TOGETHER + " ".join(one): one for one in fit}
        return self._fit[key]

    def show(self, lines: Sequence[str]) -> tuple[list[str], list[str]]:
        """A source shows its text: its passages that can prove something, and others' that cannot
        any more."""
        shown = self._fitting(lines) if self._passages else {}
        spoilt = self.hear(lines, spare=shown)
        return [feature for feature in shown if self._tells(feature)], spoilt

    def hear(self, lines: Iterable[str], *, spare: Container[str] = ()) -> list[str]:
        """Something said this: the passages, except some, that can prove nothing any more."""
        touched: dict[str, None] = {}
        for window in self._windows(lines):
            for feature in self._candidates(window):
                if feature not in spare:
                    self._known[feature] |= window.first.keys() & self._passages[feature].keys()
                    touched[feature] = None
        return [feature for feature in touched if not self._tells(feature)]

    def used(self, lines: Iterable[str]) -> list[Match]:
        """The agent did this: the passages of which it holds enough values together."""
        best: dict[str, Match] = {}
        for window in self._windows(lines):
            self._looked += 1
            for feature in self._candidates(window):
                match = self._match(feature, window, self._looked)
                if match.bits >= max(self._rule.enough, best.get(feature, _NOTHING).bits):
                    best[feature] = match
        return list(best.values())

    def _windows(self, lines: Iterable[str]) -> Iterator[_Window]:
        """Windows at half their size, where they hold enough watched values."""
        if not self._passages:
            return
        found = [(value, line) for line in lines for value in values(line)]
        half = self._rule.window // 2
        for start in range(0, max(1, len(found) - half), half):
            part = found[start : start + 2 * half]
            first: dict[str, tuple[int, str]] = {}
            for i, (value, line) in enumerate(part):
                if value in self._by_value:
                    first.setdefault(value, (i, line))
            if len(first) >= self._rule.fewest:
                yield _Window(len(part), first)

    def _candidates(self, window: _Window) -> list[str]:
        """Passages with enough values in a window, found by values that stand in few of them."""
        found: dict[str, None] = {}
        for value in window.first:
            here = self._by_value[value]
            if len(here) <= _ANCHORS:
                found.update(dict.fromkeys(here))
        least = self._rule.fewest
        return [one for one in found if len(window.first.keys() & self._passages[one]) >= least]

    def _surprise(self, value: str) -> float:
        everyday = value in self._rule.everyday
        return min(plain_bits(value), self._rule.everyday_bits if everyday else self._rule.cap)

    def _tells(self, feature: str) -> bool:
        """Whether a passage that came back whole would prove anything."""
        passage = self._passages[feature]
        whole = {value: (i, line) for i, (value, line) in enumerate(passage.items())}
        return self._match(feature, _Window(len(whole), whole), 1).bits >= self._rule.enough

    def _match(self, feature: str, window: _Window, looked: int) -> Match:
        """The values of a passage in a window that are the most improbable together."""
        passage, known = self._passages[feature], self._known.get(feature, ())
        new = [value for value in passage if value in window.first and value not in known]
        on = counting_on(new)
        ranked = sorted(set(new) - on, key=lambda value: (-self._surprise(value), value))
        against = math.log2(self._rivals[feature]) + math.log2(looked)
        best = _NOTHING
        for k in range(self._rule.fewest, len(ranked) + 1):
            chosen = ranked[:k]
            bits = (
                sum(map(self._surprise, chosen)) - against - math.log2(math.comb(len(passage), k))
            )
            bits -= _placings(chosen, passage, window)
            if bits > best.bits:
                lines = window.first[ranked[0]][1], passage[ranked[0]]
                best = Match(feature, tuple(chosen), *lines, bits)
        return best


def _placings(chosen: list[str], passage: Passage, window: _Window) -> float:
    """log2 of the ways to place the values; in the order of the passage there are fewer."""
    places = [window.first[value][0] for value in passage if value in chosen]
    ways = math.comb if places == sorted(places) else math.perm
    return math.log2(ways(max(window.size, len(chosen)), len(chosen)))


_NOTHING = Match("", (), "", "", -math.inf)

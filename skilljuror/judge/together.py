"""Values that stand together in a resource and come back together in one action.

Each alone is too common to prove anything; that some k of the m values of a passage stand
close to each other in what the agent did is improbable. How improbable is counted in bits,
by the formula of rubrics/eru.yaml (rule `together`):

    sum of the surprise of the k values  -  log2(ways to place them among the n of a window)
    -  log2(C(m, k))  -  log2(passages of the resource)  -  log2(windows looked at so far)

The surprise of a value is -log2 of its share among the values that the run held before,
outside the resource, mixed with a prior and capped, so that it takes several values. Values
that only count on (1 2 3, 10 20 30, 64 128 256) say nothing after the second.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from skilljuror.judge.passages import Passage, passages
from skilljuror.judge.values import TOGETHER, Placed, counting_on, placed, plain_bits
from skilljuror.judge.windows import Window, windows

_ANCHORS = 16
"""Passages in which a value may stand and still lead to them."""

_REMEMBERED = 8
"""Most sets of a passage's values that are remembered as held together elsewhere."""


@dataclass(frozen=True)
class TogetherRule:
    """The parameters of the formula, from rubrics/eru.yaml."""

    enough: float
    """Bits from which values that came back together prove where they come from."""
    fewest: int
    """Fewest values that have to come back."""
    most: int
    """Values of the largest passage that is looked for."""
    windows: tuple[int, ...]
    """Sizes of the stretches of an action in which values count as close, in values."""
    prior: float
    """How many values of a run the prior is worth."""
    cap: float
    """Most bits of one value."""
    everyday: frozenset[str]
    """Values that are more common than their digits tell."""
    everyday_bits: float
    """Most bits of such a value before anything is counted."""


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


class Together:
    """The passages of one agent's resources, and what its run held of their values."""

    def __init__(self, rule: TogetherRule) -> None:
        self._rule = rule
        self._passages: dict[str, Passage] = {}
        self._rivals: dict[str, int] = {}
        """feature -> passages of the text in which it stands."""
        self._by_value: dict[str, list[str]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._own: dict[str, Counter[str]] = defaultdict(Counter)
        """feature -> the part of the counts that comes from texts in which it stands."""
        self._heard: dict[str, list[tuple[frozenset[str], bool]]] = defaultdict(list)
        """feature -> sets of its values that something else held together, and if for good."""
        self._stood: set[str] = set()
        """Lines with values that something else held."""
        self._looked = 0
        """Windows of actions looked at so far."""

    def add(self, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Learn a source's passages: the feature of each, with its first line."""
        fit = list(self._fitting(lines))
        for feature, passage in fit:
            self._rivals[feature] = max(len(fit), self._rivals.get(feature, 0))
            if feature not in self._passages:
                self._passages[feature] = passage
                for value in passage:
                    self._by_value[value].append(feature)
            yield feature, next(iter(passage.values()))

    def _fitting(self, lines: Sequence[str]) -> Iterator[tuple[str, Passage]]:
        for passage in passages(lines):
            if self._rule.fewest <= len(passage) <= self._rule.most:
                yield TOGETHER + " ".join(passage), passage

    def forget(self) -> None:
        """The context was compacted: only what was heard for good is still known."""
        for feature, heard in self._heard.items():
            self._heard[feature] = [one for one in heard if one[1]]
        self._stood.clear()

    def show(self, lines: Sequence[str]) -> tuple[list[str], list[str]]:
        """A source shows its text: its passages that can prove something, and others' that cannot."""
        if not self._passages:
            return [], []
        found = list(placed(lines))
        shown = dict.fromkeys(feature for feature, _ in self._fitting(lines))
        spoilt = self._note(found, lasting=False, own=shown)
        self._count(found, own=shown)
        return [feature for feature in shown if self._tells(feature)], spoilt

    def hear(
        self, lines: Iterable[str], *, lasting: bool = False, spare: Container[str] = ()
    ) -> list[str]:
        """Something else said this: the passages, except some, that can prove nothing any more."""
        if not self._passages:
            return []
        found = list(placed(lines))
        spoilt = self._note(found, lasting=lasting, own=spare)
        self._count(found, own=())
        self._stood.update(line.strip() for _, line in found)
        return spoilt

    def used(self, lines: Iterable[str]) -> list[Match]:
        """The agent did this: passages of which it holds enough values together."""
        if not self._passages:
            return []
        found = [(value, line) for value, line in placed(lines) if line.strip() not in self._stood]
        best: dict[str, Match] = {}
        for window in windows(found, self._rule.windows, self._by_value, self._rule.fewest):
            self._looked += 1
            for feature in self._candidates(window):
                match = self._match(feature, window, self._looked)
                if match.bits >= max(self._rule.enough, best.get(feature, _NOTHING).bits):
                    best[feature] = match
        return list(best.values())

    def _candidates(self, window: Window) -> list[str]:
        """Passages with enough values in a window, found by values that stand in few of them."""
        found: dict[str, None] = {}
        for value in window.first:
            here = self._by_value[value]
            if len(here) <= _ANCHORS:
                found.update(dict.fromkeys(here))
        least = self._rule.fewest
        return [one for one in found if len(window.first.keys() & self._passages[one]) >= least]

    def _note(self, found: list[Placed], *, lasting: bool, own: Container[str]) -> list[str]:
        touched: dict[str, None] = {}
        for window in windows(found, self._rule.windows, self._by_value, self._rule.fewest):
            for feature in self._candidates(window):
                if feature not in own:
                    held = frozenset(window.first.keys() & self._passages[feature].keys())
                    self._remember(feature, held, lasting)
                    touched[feature] = None
        return [feature for feature in touched if not self._tells(feature)]

    def _remember(self, feature: str, held: frozenset[str], lasting: bool) -> None:
        heard = self._heard[feature]
        if any(held <= known and (good or not lasting) for known, good in heard):
            return
        if len(heard) == _REMEMBERED:
            known, good = heard.pop()
            held, lasting = held | known, lasting or good
        heard.append((held, lasting))

    def _count(self, found: list[Placed], own: Iterable[str]) -> None:
        counts = Counter(value for value, _ in found)
        self._counts.update(counts)
        self._counts[""] += len(found)
        for feature in own:
            part = self._own[feature]
            part[""] += len(found)
            part.update({value: counts[value] for value in self._passages[feature]})

    def _surprise(self, feature: str, value: str) -> float:
        rule, own = self._rule, self._own[feature]
        prior = plain_bits(value)
        if value in rule.everyday:
            prior = min(prior, rule.everyday_bits)
        seen = self._counts[value] - own[value] + rule.prior * 2**-prior
        return min(rule.cap, -math.log2(seen / (self._counts[""] - own[""] + rule.prior)))

    def _tells(self, feature: str) -> bool:
        """Whether a passage that came back whole would prove anything."""
        passage = self._passages[feature]
        whole = {value: (i, line) for i, (value, line) in enumerate(passage.items())}
        return self._match(feature, Window(len(whole), whole), looked=1).bits >= self._rule.enough

    def _match(self, feature: str, window: Window, looked: int) -> Match:
        """The weakest case for a passage over everything that held some of it before."""
        held = [known for known, _ in self._heard.get(feature, ())] or [frozenset[str]()]
        found = (self._best(feature, window, known) for known in held)
        weakest = min(found, key=lambda match: match.bits)
        return replace(weakest, bits=weakest.bits - math.log2(looked))

    def _best(self, feature: str, window: Window, known: frozenset[str]) -> Match:
        passage = self._passages[feature]
        new = [value for value in passage if value in window.first and value not in known]
        new = [value for value in new if value not in counting_on(new)]
        surprise = {value: self._surprise(feature, value) for value in new}
        ranked = sorted(new, key=lambda value: (-surprise[value], value))
        against = math.log2(self._rivals[feature])
        best = _NOTHING
        for k in range(self._rule.fewest, len(ranked) + 1):
            chosen = ranked[:k]
            bits = sum(surprise[value] for value in chosen) - against
            bits -= math.log2(math.comb(len(passage), k)) + self._placings(chosen, passage, window)
            if bits > best.bits:
                lines = window.first[ranked[0]][1], passage[ranked[0]]
                best = Match(feature, tuple(chosen), *lines, bits)
        return best

    @staticmethod
    def _placings(chosen: list[str], passage: Passage, window: Window) -> float:
        """log2 of the ways to place the values; in the order of the passage there are fewer."""
        order = [value for value in passage if value in chosen]
        places = [window.first[value][0] for value in order]
        ways = math.comb if places == sorted(places) else math.perm
        return math.log2(ways(max(window.size, len(chosen)), len(chosen)))


_NOTHING = Match("", (), "", "", -math.inf)

"""What text is worth in a root: how much of it says what must be done, in which order, and with what.

A reader who opens nothing else must not miss a duty, a step or the way to a file. Examples and
catalogues are worth little there, however long they are.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from skilljuror.knowledge.markdown.block_index import Block
from skilljuror.knowledge.units.code_and_data import RawUnit
from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.knowledge.units.prose import markdown_units

DUTY = 1.0
"""A statement, item or row that binds whoever follows the skill."""
STEP = 0.5
"""One thing to do after another, or a box to tick."""
ROUTE = 0.5
"""A line that names a file of the skill, or a row that leads from a task to a tool."""
PLAIN = 0.02
"""Any other sentence."""
PROSE_DENSITY = 0.04
"""Share of modal words from which an untagged fence is prose; sentences that bind have one in 10 to
25 words, trees and transcripts have none."""

_BINDING = frozenset({
    "must", "must not", "mustn't", "shall", "shall not", "never", "always", "do not", "don't",
    "mandatory", "forbidden", "prohibited", "only",
})  # fmt: skip
_STRESSED = frozenset({"NO", "NOT", "WITHOUT", "ALL", "ANY", "CRITICAL", "IMPORTANT", "WARNING"})
"""Words that bind where they stand in capitals."""
_EXCLUDING = frozenset({"no", "without"})
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_FLAG = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")
_BOX = re.compile(r"\[[ xX]\] ")


class SectionWorth:
    """The worth of each line of a flat page, its embedded files left out."""

    def __init__(self, lines: Sequence[str], fences: Iterable[Block], names: Iterable[str]) -> None:
        """`names` are those of the files of the skill."""
        self._names = frozenset(names)
        prose = {
            line
            for fence in fences
            if not fence.info.strip() and is_prose(lines[fence.start + 1 : fence.end - 1])
            for line in range(fence.start + 1, fence.end)
        }
        worth, duties, steps = ([0.0] * len(lines) for _ in range(3))
        for unit in markdown_units(lines):
            place = unit.start - 1
            told = unit.kind in {"statement", "item", "row"} or (
                unit.kind == "code" and place in prose
            )
            duties[place] += told and is_duty(unit.text)
            steps[place] += unit.kind == "step"
            worth[place] += STEP * (unit.kind == "step") + told * self._worth_of(unit)
        self._worth, self._duties, self._steps = map(_sums, (worth, duties, steps))
        self._prose = sorted(prose)

    def _worth_of(self, unit: RawUnit) -> float:
        if is_duty(unit.text):
            return DUTY
        if _BOX.match(unit.text):
            return STEP
        return ROUTE if self._routes(unit) else PLAIN

    def _routes(self, unit: RawUnit) -> bool:
        """Whether a unit names a file, or is a row whose first cell says a task in words and a later
        one names what does it."""
        tokens = critical_tokens(unit.text)
        if any(token.partition(":")[2].rpartition("/")[2] in self._names for token in tokens):
            return True
        first, _, rest = unit.text.partition(" | ")
        return unit.kind == "row" and not _names_tool(first) and _names_tool(rest)

    def worth(self, ranges: Iterable[tuple[int, int]]) -> float:
        """What the lines of the ranges are worth."""
        return _within(self._worth, ranges)

    def duties(self, ranges: Iterable[tuple[int, int]]) -> float:
        """How many units of the ranges bind."""
        return _within(self._duties, ranges)

    def steps(self, ranges: Iterable[tuple[int, int]]) -> float:
        """How many items of the ranges follow another one."""
        return _within(self._steps, ranges)

    def is_prose_fence(self, fence: Block) -> bool:
        """Whether a fence holds sentences."""
        place = bisect_left(self._prose, fence.start + 1)
        return place < len(self._prose) and self._prose[place] == fence.start + 1


def is_duty(text: str) -> bool:
    """Whether a sentence binds: it holds must, never, always, only, do not and the like, in capitals
    or plain."""
    words = {token.partition(":")[2] for token in critical_tokens(text) if token[:4] in _MODAL}
    plain = {word.lower() for word in words}
    return bool(words & _STRESSED or plain & _BINDING or plain >= _EXCLUDING)


_MODAL = frozenset({"mod:", "cmp:"})


def is_prose(lines: Sequence[str]) -> bool:
    """Whether the lines of a fence without a language are sentences that say what to do: as many of
    their words are modal as in prose."""
    text = _FLAG.sub("", "\n".join(lines))
    modal = sum(token.startswith("mod:") for token in critical_tokens(text))
    return modal > 0 and modal >= PROSE_DENSITY * len(_WORD.findall(text))


def _names_tool(text: str) -> bool:
    return any(token.startswith(("code:", "path:")) for token in critical_tokens(text))


def _sums(values: Sequence[float]) -> list[float]:
    return [0.0, *accumulate(values)]


def _within(sums: Sequence[float], ranges: Iterable[tuple[int, int]]) -> float:
    return sum(sums[end] - sums[start] for start, end in ranges)

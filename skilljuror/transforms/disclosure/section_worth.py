"""The worth of text in a root: how much it says about duties, steps and files.

A reader who opens only the root must not miss a duty, a step or the way to a file. Examples and
catalogues are worth little there, whatever their length.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from skilljuror.knowledge.markdown.block_index import Block
from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.knowledge.units.prose import RawUnit, markdown_units

DUTY = 1.0  # a statement, item or row that binds the agent
STEP = 0.5  # an ordered item, or a box to tick
ROUTE = 0.5  # a line that names a file of the skill, or a row from a task to a tool
PLAIN = 0.02  # any other sentence
PROSE_DENSITY = 0.04
"""Minimum share of modal words in an untagged fence of prose. Sentences that bind have one in 10 to 25
words, trees and transcripts have none."""

_BINDING = frozenset({
    "must", "must not", "shall", "shall not", "never", "always", "do not", "mandatory", "forbidden",
    "prohibited", "only",
})  # fmt: skip
_STRESSED = frozenset({"NO", "NOT", "WITHOUT", "ALL", "ANY", "CRITICAL", "IMPORTANT", "WARNING"})
"""Words that bind if capitalised."""
_EXCLUDING = frozenset({"no", "without"})
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_FLAG = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")
_BOX = re.compile(r"\[[ xX]\] ")


class SectionWorth:
    """The worth of each line of a flat page, without its embedded files."""

    def __init__(self, lines: Sequence[str], fences: Iterable[Block], names: Iterable[str]) -> None:
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
            prose_unit = unit.kind in {"statement", "item", "row"} or (
                unit.kind == "code" and place in prose
            )
            duties[place] += prose_unit and is_duty(unit.text)
            steps[place] += unit.kind == "step"
            worth[place] += STEP * (unit.kind == "step") + prose_unit * self._worth_of(unit)
        self._worth, self._duties, self._steps = (
            [0.0, *accumulate(values)] for values in (worth, duties, steps)
        )
        self._prose = sorted(prose)

    def _worth_of(self, unit: RawUnit) -> float:
        if is_duty(unit.text):
            return DUTY
        if _BOX.match(unit.text):
            return STEP
        return ROUTE if self._routes(unit) else PLAIN

    def _routes(self, unit: RawUnit) -> bool:
        tokens = critical_tokens(unit.text)
        if any(token.partition(":")[2].rpartition("/")[2] in self._names for token in tokens):
            return True
        first, _, rest = unit.text.partition(" | ")
        return unit.kind == "row" and not _names_tool(first) and _names_tool(rest)

    def worth(self, ranges: Iterable[tuple[int, int]]) -> float:
        return _within(self._worth, ranges)

    def duties(self, ranges: Iterable[tuple[int, int]]) -> float:
        """Return the number of units that bind."""
        return _within(self._duties, ranges)

    def steps(self, ranges: Iterable[tuple[int, int]]) -> float:
        """Return the number of items that follow another one."""
        return _within(self._steps, ranges)

    def is_prose_fence(self, fence: Block) -> bool:
        place = bisect_left(self._prose, fence.start + 1)
        return place < len(self._prose) and self._prose[place] == fence.start + 1


def is_duty(text: str) -> bool:
    """Whether a sentence binds: it has must, never, always, only, do not or the like, capitalised or plain."""
    words = {token.partition(":")[2] for token in critical_tokens(text) if token[:4] in _MODAL}
    plain = {word.lower() for word in words}
    return bool(words & _STRESSED or plain & _BINDING or plain >= _EXCLUDING)


_MODAL = frozenset({"mod:", "cmp:"})


def is_prose(lines: Sequence[str]) -> bool:
    """Whether a fence without a language holds instructions: modal words are as frequent as in prose."""
    text = _FLAG.sub("", "\n".join(lines))
    modal = sum(token.startswith("mod:") for token in critical_tokens(text))
    return modal > 0 and modal >= PROSE_DENSITY * len(_WORD.findall(text))


def _names_tool(text: str) -> bool:
    return any(token.startswith(("code:", "path:")) for token in critical_tokens(text))


def _within(sums: Sequence[float], ranges: Iterable[tuple[int, int]]) -> float:
    return sum(sums[end] - sums[start] for start, end in ranges)

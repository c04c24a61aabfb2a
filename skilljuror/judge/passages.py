"""Small passages of a text in which values stand together.

A passage is a row of a table, an item of a list, a sentence, a line of code, or a run of
lines that each give a name its value.
"""

import re
from collections.abc import Iterable, Iterator

from skilljuror.judge.settings import settings
from skilljuror.judge.values import Placed, values

LONGEST_SENTENCE = 3
"""Lines of the longest sentence; what goes on longer is code or data, line by line."""

LONGEST_RUN = 12
"""Lines of the longest run of names with values."""

Passage = dict[str, str]
"""The values of a passage in order, each with the line on which it stands."""

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_END = re.compile(r"(?<=[.!?;])\s")


def passages(lines: Iterable[str]) -> Iterator[Passage]:
    """The passages of a text that hold a value; one may lie inside another."""
    reader = _Reader()
    for line in lines:
        yield from reader.read(line)
    yield from reader.close()


class _Reader:
    """What is open while a text is read line by line."""

    def __init__(self) -> None:
        self._sentence: list[list[Placed]] = []
        self._run: list[list[Placed]] = []
        self._item = False
        self._fenced = False

    def read(self, line: str) -> Iterator[Passage]:
        """The passages that a line ends."""
        bare = line.strip()
        apart = bare.startswith("```") or line.count("|") > 1 or self._fenced
        if bare.startswith("```"):
            self._fenced = not self._fenced
        here = [(value, line) for value in values(_ITEM.sub("", line, count=1))]
        yield from self._in_run(bare, here)
        if apart or not bare or bare.startswith("#"):
            yield from self._end_sentence()
            yield from _passage(here if apart else [])
        else:
            yield from self._in_sentence(line, here)

    def close(self) -> Iterator[Passage]:
        """The passages that the end of the text ends."""
        yield from self._end_run()
        yield from self._end_sentence()

    def _in_run(self, bare: str, here: list[Placed]) -> Iterator[Passage]:
        named = bool(here) and "|" not in bare and any(name for name in settings(bare))
        if not named or len(self._run) == LONGEST_RUN:
            yield from self._end_run()
        if named:
            self._run.append(here)

    def _end_run(self) -> Iterator[Passage]:
        if len(self._run) > 1:
            yield from _passage(one for here in self._run for one in here)
        self._run = []

    def _in_sentence(self, line: str, here: list[Placed]) -> Iterator[Passage]:
        item = bool(_ITEM.match(line))
        if item:
            yield from self._end_sentence()
            self._item = True
        *ended, last = _END.split(line) if not self._item else [line]
        for part in ended:
            self._sentence.append([(value, line) for value in values(part)])
            yield from self._end_sentence()
        self._sentence.append([(value, line) for value in values(last)] if ended else here)

    def _end_sentence(self) -> Iterator[Passage]:
        parts = self._sentence
        if len(parts) > LONGEST_SENTENCE:
            for here in parts:
                yield from _passage(here)
        else:
            yield from _passage(one for here in parts for one in here)
        self._sentence, self._item = [], False


def _passage(found: Iterable[Placed]) -> Iterator[Passage]:
    passage: Passage = {}
    for value, line in found:
        passage.setdefault(value, line)
    if passage:
        yield passage

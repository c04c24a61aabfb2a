"""Whether the words right after a run restate what it printed.

Two texts about one thing share words anyway. A restatement says again what one line of the
output says. One sentence of the words holds at least two telling words of that line that the
run's own command does not say (one is enough to take up a failure), and a third of all such
words of the line; or it holds one such word and two thirds of everything on the line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skilljuror.judge.features.tokenisation import STOP_WORDS, words_of
from skilljuror.judge.replay.timeline import Acted

RESTATED = 2
"""New words of one line of the output that one sentence must hold."""

FAILURE = 1
"""The same for a run that failed: the agent has every reason to speak of it."""

PART = 1 / 3
"""Share of the line's new words that must be among them."""

WHOLE = 2 / 3
"""Share of all words of a line that restate it with one new word among them."""

LONG = 3
"""Fewest words of that."""

_ENDINGS = ("ing", "ed", "es", "s")
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")


def stem(word: str) -> str:
    """A word without its commonest English ending."""
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def stems(line: str, generic: frozenset[str]) -> set[str]:
    """The telling words of a line by their stems."""
    telling = (
        stem(word)
        for word in words_of(line)
        if len(word) >= 4 and word not in STOP_WORDS and not word.isdigit()
    )
    return {key for key in telling if key not in generic}


@dataclass(frozen=True)
class Restatement:
    """Words that judge the output of a run."""

    action: Acted
    """The words."""
    clock: int
    """Their place in the agent's run."""
    shared: tuple[str, ...]
    """Telling words that both hold."""
    line: str
    """The line of the words."""
    printed: str
    """The line of the output."""


@dataclass(frozen=True)
class _Output:
    """What a run printed."""

    lines: Sequence[str]
    told: set[str]
    """What its command says."""
    fewest: int
    """New words that restate a line of it."""

    def restated(self, printed: set[str], shared: set[str]) -> bool:
        """Whether the shared words of a line restate it."""
        fresh = len(shared - self.told)
        if fresh >= self.fewest and fresh >= PART * len(printed - self.told):
            return True
        return fresh > 0 and len(shared) >= LONG and len(shared) >= WHOLE * len(printed)


class Restated:
    """Restatements of the outputs of one agent's runs of bundled code."""

    def __init__(self, generic: frozenset[str]) -> None:
        self.found: dict[int, Restatement] = {}
        """Position of a run's event -> the words right after it."""
        self._generic = generic
        self._printed: dict[int, _Output] = {}
        """Runs since the agent's last action."""

    def finish(
        self, i: int, output: Sequence[str], command: Iterable[str], *, failed: bool
    ) -> None:
        """The output of a run arrived."""
        told = {key for line in command for key in stems(line, self._generic)}
        self._printed[i] = _Output(output, told, FAILURE if failed else RESTATED)

    def act(self, action: Acted, clock: int) -> None:
        """The agent did something: words may restate what was printed since its last action."""
        said = list(self._sentences(action.text)) if self._printed and not action.call else []
        for i, output in self._printed.items() if said else ():
            match = self._match(output, said)
            if match:
                shared, sentence, printed = match
                self.found[i] = Restatement(action, clock, shared, sentence, printed)
        self._printed.clear()

    def _sentences(self, text: str) -> Iterator[tuple[str, set[str]]]:
        for sentence in _SENTENCE.split(text):
            yield sentence, stems(sentence, self._generic)

    def _match(
        self, output: _Output, said: list[tuple[str, set[str]]]
    ) -> tuple[tuple[str, ...], str, str] | None:
        """The first line of the output that a sentence restates: (shared words, both sides)."""
        anything = set().union(*(words for _, words in said)) - output.told
        for line in output.lines:
            printed = stems(line, self._generic)
            if printed.isdisjoint(anything):
                continue
            for sentence, words in said:
                if output.restated(printed, printed & words):
                    return tuple(sorted(printed & words)), sentence, line
        return None

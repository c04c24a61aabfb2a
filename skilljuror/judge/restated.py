"""Whether the words right after a run restate what it printed.

Two texts about one thing share words anyway. A restatement says again what one line of the
output says: one sentence of the words holds at least two telling words of that line, and
at least a third of all that the line has. What the run's own command says tells nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skilljuror.judge.timeline import Acted
from skilljuror.judge.words import STOP_WORDS, words_of

RESTATED = 2
"""Telling words of one line of the output that one sentence must hold."""

PART = 3
"""One in so many telling words of the line must be among them."""

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


class Restated:
    """Restatements of the outputs of one agent's runs of bundled code."""

    def __init__(self, generic: frozenset[str]) -> None:
        self.found: dict[int, Restatement] = {}
        """Position of a run's event -> the words right after it."""
        self._generic = generic
        self._printed: dict[int, tuple[Sequence[str], set[str]]] = {}
        """Runs since the agent's last action: output, and what their commands say."""

    def finish(self, i: int, output: Sequence[str], command: Iterable[str]) -> None:
        """The output of a run arrived."""
        told = {key for line in command for key in stems(line, self._generic)}
        self._printed[i] = output, told

    def act(self, action: Acted, clock: int) -> None:
        """The agent did something: words may restate what was printed since its last action."""
        said = list(self._sentences(action.text)) if self._printed and not action.call else []
        for i, (output, told) in self._printed.items() if said else ():
            match = self._match(output, said, told)
            if match:
                shared, sentence, printed = match
                self.found[i] = Restatement(action, clock, shared, sentence, printed)
        self._printed.clear()

    def _sentences(self, text: str) -> Iterator[tuple[str, set[str]]]:
        for sentence in _SENTENCE.split(text):
            yield sentence, stems(sentence, self._generic)

    def _match(
        self, output: Sequence[str], said: list[tuple[str, set[str]]], told: set[str]
    ) -> tuple[tuple[str, ...], str, str] | None:
        """The first line of the output that a sentence restates: (shared words, both sides)."""
        anything = set().union(*(words for _, words in said)) - told
        for line in output:
            printed = stems(line, self._generic) - told
            if len(printed & anything) < RESTATED:
                continue
            for sentence, words in said:
                shared = printed & words
                if len(shared) >= max(RESTATED, len(printed) / PART):
                    return tuple(sorted(shared)), sentence, line
        return None

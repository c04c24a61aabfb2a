"""Whether the words right after a run restate what it printed.

Two texts about one thing share words anyway. A restatement says again what one line of the
output says. One sentence of the words holds at least two telling words of that line that the
run's own command does not say (one is enough to take up a failure), and a third of all such
words of the line; or it holds one such word and two thirds of everything on the line. A count or a
negation with its word ("37 burrows", "no shadow") counts as two more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from skilljuror.judge.features.tokenisation import STOP_WORDS, words_of
from skilljuror.judge.replay.timeline import AgentAction

NEW_WORDS = 2
"""Words of one line of the output, not said by the command, that one sentence must hold."""

NEW_WORDS_AFTER_FAILURE = 1
"""The same for a run that failed: the agent has every reason to speak of it."""

SHARE_OF_NEW_WORDS = 1 / 3
"""Share of the line's new words that must be among them."""

SHARE_OF_ALL_WORDS = 2 / 3
"""Share of all words of a line that restate it with one new word among them."""

FEWEST_WORDS = 3
"""Words of a line that such a share must come to at least."""

MOST_SENTENCES = 300
"""Sentences after a run that are compared with what it printed; what is said after them is not."""

_ENDINGS = ("ing", "ed", "es", "s")
_QUALIFIED = re.compile(r"(?<![\w.,-])(\d+|no|not|without) ([a-z]{4,})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")


def stem(word: str) -> str:
    """A word without its commonest English ending."""
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def stems(line: str, generic: frozenset[str]) -> set[str]:
    """The words of a line that tell something, by their stems; `generic` stems tell nothing."""
    words = (
        stem(word)
        for word in words_of(line)
        if len(word) >= 4 and word not in STOP_WORDS and not word.isdigit()
    )
    telling = {word for word in words if word not in generic}
    pairs = ((how, stem(word)) for how, word in _QUALIFIED.findall(line.lower()))
    return telling | {f"{how} {word}" for how, word in pairs if word in telling}


def _count(new: set[str]) -> int:
    """How many words these are; one with its count or its negation is three in all."""
    return len(new) + sum(" " in word for word in new)


@dataclass(frozen=True)
class Restatement:
    """Words that judge the output of a run."""

    action: AgentAction
    """The words."""
    clock: int
    """Their place in the agent's run."""
    shared: tuple[str, ...]
    """Stems that both hold."""
    line: str
    """The line of the words."""
    printed: str
    """The line of the output."""


@dataclass(frozen=True)
class _Output:
    """What a run printed."""

    lines: Sequence[str]
    command_words: set[str]
    """Stems that its command says."""
    fewest: int
    """New words that restate a line of it."""

    def restated(self, printed: set[str], shared: set[str]) -> bool:
        """Whether the shared words of a line restate it."""
        new = _count(shared - self.command_words)
        if new >= self.fewest and new >= SHARE_OF_NEW_WORDS * len(printed - self.command_words):
            return True
        fewest = max(FEWEST_WORDS, SHARE_OF_ALL_WORDS * len(printed))
        return new > 0 and len(shared) >= fewest


class RestatementDetector:
    """Restatements of the outputs of one agent's runs of bundled code."""

    def __init__(self, generic: frozenset[str]) -> None:
        self.restatements: dict[int, Restatement] = {}
        """Event of a run -> the words right after it that restate what it printed."""
        self._generic = generic
        self._printed: dict[int, _Output] = {}
        """Event of a run since the agent's last action -> what the run printed."""

    def finish(
        self, i: int, output: Sequence[str], command: Iterable[str], *, failed: bool
    ) -> None:
        """The output of the run of event `i` arrived."""
        said = {word for line in command for word in stems(line, self._generic)}
        fewest = NEW_WORDS_AFTER_FAILURE if failed else NEW_WORDS
        self._printed[i] = _Output(output, said, fewest)

    def act(self, action: AgentAction, clock: int) -> None:
        """The agent did something: words may restate what was printed since its last action."""
        said = self._sentences(action.text) if self._printed and not action.call else ()
        sentences = list(islice(said, MOST_SENTENCES))
        for i, output in self._printed.items() if sentences else ():
            match = self._match(output, sentences)
            if match:
                shared, sentence, printed = match
                self.restatements[i] = Restatement(action, clock, shared, sentence, printed)
        self._printed.clear()

    def _sentences(self, text: str) -> Iterator[tuple[str, set[str]]]:
        for sentence in _SENTENCE.split(text):
            yield sentence, stems(sentence, self._generic)

    def _match(
        self, output: _Output, sentences: list[tuple[str, set[str]]]
    ) -> tuple[tuple[str, ...], str, str] | None:
        """(shared stems, sentence, line) of the first line of the output that a sentence restates."""
        anything = set().union(*(words for _, words in sentences)) - output.command_words
        for line in output.lines:
            printed = stems(line, self._generic)
            if printed.isdisjoint(anything):
                continue
            for sentence, words in sentences:
                if output.restated(printed, printed & words):
                    return tuple(sorted(printed & words)), sentence, line
        return None

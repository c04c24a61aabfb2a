"""Detect words right after a run that restate its output.

Texts about one subject share words, so a restatement needs one sentence that has, of one line of the
output, at least two content words that are not in the run's command (one after a failure) and a third
of all such words; or one such word and two thirds of all content words of the line. A count or a
negation with its word ("37 burrows", "no shadow") counts as two more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from skilljuror.judge.features.tokenisation import STOP_WORDS, tokenize
from skilljuror.judge.replay.timeline import AgentAction

NEW_WORDS = 2
"""Minimum words of an output line, not in the command, in one sentence."""

NEW_WORDS_AFTER_FAILURE = 1
"""The same for a failed run, which the agent is likely to discuss."""

SHARE_OF_NEW_WORDS = 1 / 3
"""Minimum share of the line's new words."""

SHARE_OF_ALL_WORDS = 2 / 3
"""Minimum share of all words of a line, with one new word among them."""

FEWEST_WORDS = 3
"""Minimum words for that share."""

MOST_SENTENCES = 300
"""Maximum sentences after a run that are compared with its output."""

_ENDINGS = ("ing", "ed", "es", "s")
_QUALIFIED = re.compile(r"(?<![\w.,-])(\d+|no|not|without) ([a-z]{4,})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")


def stem(word: str) -> str:
    """Return a word without its most common English ending."""
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def stems(line: str, generic: frozenset[str]) -> set[str]:
    """Return the stems of a line's content words, without `generic` ones."""
    words = (
        stem(word)
        for word in tokenize(line)
        if len(word) >= 4 and word not in STOP_WORDS and not word.isdigit()
    )
    telling = {word for word in words if word not in generic}
    pairs = ((how, stem(word)) for how, word in _QUALIFIED.findall(line.lower()))
    return telling | {f"{how} {word}" for how, word in pairs if word in telling}


def _count(new: set[str]) -> int:
    """Number of words; one with its count or negation is three in total."""
    return len(new) + sum(" " in word for word in new)


@dataclass(frozen=True)
class Restatement:
    """Words that restate the output of a run."""

    action: AgentAction
    """The words."""
    clock: int
    """Their clock in the agent's run."""
    shared: tuple[str, ...]
    """Common stems."""
    line: str
    """The line of the words."""
    printed: str
    """The line of the output."""


@dataclass(frozen=True)
class _Output:
    """The output of a run."""

    lines: Sequence[str]
    command_words: set[str]
    """Stems of its command."""
    fewest: int
    """Minimum new words that restate a line."""

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
        """Event of a run -> the words right after it that restate its output."""
        self._generic = generic
        self._printed: dict[int, _Output] = {}
        """Event of a run since the agent's last action -> output of the run."""

    def finish(
        self, i: int, output: Sequence[str], command: Iterable[str], *, failed: bool
    ) -> None:
        """Record the output of the run of event `i`."""
        command_words = {word for line in command for word in stems(line, self._generic)}
        fewest = NEW_WORDS_AFTER_FAILURE if failed else NEW_WORDS
        self._printed[i] = _Output(output, command_words, fewest)

    def act(self, action: AgentAction, clock: int) -> None:
        """Record an action: words may restate output since the agent's last action."""
        spoken = self._sentences(action.text) if self._printed and not action.call else ()
        sentences = list(islice(spoken, MOST_SENTENCES))
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

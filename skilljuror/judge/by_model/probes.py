"""Questions asked in another way: what should not matter to a judge, and may."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

from skilljuror.judge.by_model.questions import Question
from skilljuror.llm import as_data

PADDING = 24_000
"""Most characters that a question is padded with."""
_ACCESSES = re.compile(r"<accesses json>\n(.*)\n</accesses>")
_NOTHING = "This line belongs to nothing and says nothing. "


def reordered(question: Question) -> Question | None:
    """The same question with its accesses in reverse order; None where it has but one."""
    if len(question.events) < 2:
        return None
    return _with_last_message(
        question,
        lambda text: _ACCESSES.sub(
            lambda block: as_data("accesses", json.loads(block[1])[::-1]), text
        ),
    )


def padded(question: Question) -> Question:
    """The same question with as much again of text that says nothing, up to PADDING characters."""

    def pad(text: str) -> str:
        body, _, demand = text.rpartition("\n")
        filler = _NOTHING * (min(len(text), PADDING) // len(_NOTHING) + 1)
        told = "Lines that belong to nothing, to be passed over:"
        return "\n".join([body, told, as_data("padding", filler), demand])

    return _with_last_message(question, pad)


def _with_last_message(question: Question, change: Callable[[str], str]) -> Question:
    *first, last = question.messages
    return replace(question, messages=(*first, {**last, "content": change(last["content"])}))


PROBES: dict[str, Callable[[Question], Question | None]] = {"order": reordered, "length": padded}
"""Name on the command line -> how a question is asked instead."""

"""Probes: variations of a question that should not change a judge's answer."""

from collections.abc import Callable
from dataclasses import replace

from skilljuror.judge.by_model.questions import Question

PADDING = 24_000
"""Maximum characters of padding."""
_NOTHING = "This line belongs to nothing and says nothing. "


def reordered(question: Question) -> Question | None:
    """Return the question with its accesses in reverse order; None if it has only one."""
    if len(question.events) < 2:
        return None
    return replace(question, accesses=question.accesses[::-1])


def padded(question: Question) -> Question:
    """Return the question with as much meaningless text again, up to PADDING characters."""
    length = len(question.messages[-1]["content"])
    return replace(question, padding=_NOTHING * (min(length, PADDING) // len(_NOTHING) + 1))


PROBES: dict[str, Callable[[Question], Question | None]] = {"order": reordered, "length": padded}
"""Name on the command line -> variation."""

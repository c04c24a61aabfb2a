"""How a family of metrics answers: one number or one reason per row, the same rows every time."""

import math
from collections.abc import Iterator, Mapping

from skilljuror.models.measure import Measure, TrialContext

Row = tuple[str, str]
"""A metric's name and its key, "" for none."""

Answer = float | str
"""A number, or the reason why there is none."""

MAIN = "main"
"""Name of the agent whose ordered steps are the headline."""

SUB = "sub"
"""Key of the rows that pool all sub-agents."""


def rows(context: TrialContext, answers: Mapping[Row, Answer]) -> Iterator[Measure]:
    """One Measure per answer; a number that is not finite is a null too (JSON has no infinity)."""
    for (metric, key), answer in answers.items():
        if isinstance(answer, str):
            yield Measure(context.trial, metric, None, key, answer)
        elif math.isfinite(answer):
            yield Measure(context.trial, metric, float(answer), key)
        else:
            yield Measure(context.trial, metric, None, key, "not_finite")


def share(part: float, whole: float, reason: str) -> Answer:
    """part / whole, or `reason` when there is nothing to divide by."""
    return part / whole if whole else reason

"""What a family of metrics is, and how it answers: the same rows for every trial, each a number or
the reason why there is none."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from skilljuror.models.measure import Measure, TrialContext

MeasureKey = tuple[str, str]
"""A measure's name and its sub-key, "" for none."""

ValueOrReason = float | str
"""A number, or the reason why there is none."""

MAIN = "main"
"""Name of the agent whose ordered steps are the headline."""

SUB = "sub"
"""Sub-key of the rows that pool all sub-agents."""


class Metric(Protocol):
    """Turns what is known of one trial into rows; a null carries its reason.

    The same rows come out for every trial: pure, total on empty and truncated trials.
    """

    def __call__(self, context: TrialContext) -> Iterable[Measure]:
        """The rows of this family for one trial."""
        ...


def to_measures(
    context: TrialContext, values: Mapping[MeasureKey, ValueOrReason]
) -> Iterator[Measure]:
    """One Measure per value; a number that is not finite is a null too (JSON has no infinity)."""
    for (metric, key), value in values.items():
        if isinstance(value, str):
            yield Measure(context.trial, metric, None, key, value)
        elif math.isfinite(value):
            yield Measure(context.trial, metric, float(value), key)
        else:
            yield Measure(context.trial, metric, None, key, "not_finite")


def share(part: float, whole: float, reason: str) -> ValueOrReason:
    """part / whole, or `reason` when there is nothing to divide by."""
    return part / whole if whole else reason

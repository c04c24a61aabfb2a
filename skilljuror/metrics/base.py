"""What a family of metrics is, and how it answers: the same rows for every trial, each a number or
the reason why there is none."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
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


SCOPE_KEYS = '"" main agent, "sub" sub-agents'
"""Sub-keys of measures that are taken of both, in words."""


@dataclass(frozen=True)
class Definition:
    """A measure in words."""

    line: str
    """What the number is, in one line."""
    unit: str
    """Its unit; "flag" for 0 or 1."""
    source: str
    """Section of docs/formulas.md that defines it, or "own"."""
    keys: str = ""
    """What the sub-keys are; "" for none. Key "sub" pools all sub-agents."""
    level: str = "trial"
    """What one row is about."""


class Metric(Protocol):
    """A family of measures: turns what is known of one trial into rows; a null carries its reason.

    The same rows come out for every trial: pure, total on empty and truncated trials.
    """

    definitions: Mapping[str, Definition]
    """Name -> meaning of every measure that it gives."""

    def __call__(self, context: TrialContext) -> Iterable[Measure]:
        """The rows of this family for one trial."""
        ...


@dataclass(frozen=True)
class DefinedMetric:
    """A function that measures, with the definitions of its measures: a `Metric`."""

    definitions: Mapping[str, Definition]
    """Name -> meaning of every measure that it gives."""
    measure: Callable[[TrialContext], Iterable[Measure]]
    """The function."""

    def __call__(self, context: TrialContext) -> Iterable[Measure]:
        """The rows of this family for one trial."""
        return self.measure(context)


def defines(
    definitions: Mapping[str, Definition],
) -> Callable[[Callable[[TrialContext], Iterable[Measure]]], DefinedMetric]:
    """Make a function from a trial to its rows a metric, with what its rows mean."""
    return partial(DefinedMetric, definitions)


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

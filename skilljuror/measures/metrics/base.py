"""The `Metric` interface: the same rows for every trial, each a number or the reason why it is null."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from skilljuror.base.results import Measure, TrialContext

MeasureKey = tuple[str, str]
"""Measure and sub-key ("" without one)."""

ValueOrReason = float | str
"""A number, or the reason why it is null."""

MAIN = "main"
"""Agent whose ordered steps are the headline."""

SUB = "sub"
"""Sub-key of rows that pool all sub-agents."""


SCOPE_KEYS = '"" main agent, "sub" sub-agents'
"""Description of the sub-keys of measures with a row for each scope."""


@dataclass(frozen=True)
class Definition:
    """Definition of a measure."""

    line: str
    """Description in one line."""
    unit: str
    """Unit; "flag" for 0 or 1."""
    source: str
    """Section of docs/formulas.md that defines it, or "own"."""
    keys: str = ""
    """Meaning of the sub-keys; "" without any. Key "sub" pools all sub-agents."""
    level: str = "trial"
    """Subject of one row."""


class Metric(Protocol):
    """A family of measures: maps a trial to rows; a null has a reason.

    Returns the same rows for every trial: pure, and total on empty and truncated trials.
    """

    definitions: Mapping[str, Definition]
    """Name -> definition of every measure that it returns."""

    def __call__(self, context: TrialContext) -> Iterable[Measure]: ...


@dataclass(frozen=True)
class DefinedMetric:
    """A measuring function with its definitions: a `Metric`."""

    definitions: Mapping[str, Definition]
    measure: Callable[[TrialContext], Iterable[Measure]]

    def __call__(self, context: TrialContext) -> Iterable[Measure]:
        return self.measure(context)


def defines(
    definitions: Mapping[str, Definition],
) -> Callable[[Callable[[TrialContext], Iterable[Measure]]], DefinedMetric]:
    """Turn a function from a trial to rows into a metric with these definitions."""
    return partial(DefinedMetric, definitions)


def to_measures(
    context: TrialContext, values: Mapping[MeasureKey, ValueOrReason]
) -> Iterator[Measure]:
    """Yield one Measure per value; non-finite numbers become null too (JSON has no infinity)."""
    for (metric, key), value in values.items():
        if isinstance(value, str):
            yield Measure(context.trial, metric, None, key, value)
        elif math.isfinite(value):
            yield Measure(context.trial, metric, float(value), key)
        else:
            yield Measure(context.trial, metric, None, key, "not_finite")


def share(part: float, whole: float, reason: str) -> ValueOrReason:
    """part / whole, or `reason` if whole is 0."""
    return part / whole if whole else reason

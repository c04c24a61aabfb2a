"""Measures of one trial: their interface, the registry of families, and the steps and events that they count."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Protocol

from msgspec import Struct

from skilljuror.base.errors import UsageError, resolve
from skilljuror.base.results import Measure, TrialContext
from skilljuror.base.trajectory import ResourceEvent, Step

MeasureKey = tuple[str, str]
"""Measure and sub-key ("" without one)."""
ValueOrReason = float | str
"""A number, or the reason why it is null."""
Values = dict[MeasureKey, ValueOrReason]
MAIN = "main"
"""Agent whose ordered steps are the headline."""
SUB = "sub"
"""Sub-key of rows that pool all sub-agents."""
SCOPES = ("", SUB)
"""Key of the main agent's rows and of the sub-agents' rows."""
SCOPE_KEYS = '"" main agent, "sub" sub-agents'
"""Description of the sub-keys of measures with a row for each scope."""


class Definition(Struct, frozen=True):
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


class DefinedMetric(Struct, frozen=True):
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


METRICS = {
    name: f"skilljuror.measures.run_measures:{name}"
    for name in ("outcome", "efficiency", "process", "timing", "invocation", "exposure")
}


@cache
def families(further: tuple[str, ...] = ()) -> dict[str, Metric]:
    """Return name -> metric: all registered, and further ones of other packages.

    Raises UsageError for one that cannot be loaded, is invalid, or redefines a measure.
    """
    names = dict.fromkeys([*METRICS, *further])
    loaded: dict[str, Metric] = {name: resolve(METRICS, name, "metric", Metric) for name in names}
    owners: dict[str, str] = {}
    for name, metric in loaded.items():
        for measure, definition in dict(metric.definitions).items():
            if not isinstance(definition, Definition):
                raise UsageError(
                    f"metric {name!r}: the definition of {measure!r} must be a Definition"
                )
            if owners.setdefault(measure, name) != name:
                raise UsageError(
                    f"metric {name!r} defines {measure!r}, which {owners[measure]!r} already"
                    " defines; rename it"
                )
    return loaded


def definitions(further: tuple[str, ...] = ()) -> dict[str, Definition]:
    """Return measure -> definition for all families. Raises UsageError like `families`."""
    return {
        measure: definition
        for metric in families(further).values()
        for measure, definition in metric.definitions.items()
    }


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


_WITHOUT_SKILLS = frozenset({
    "agent_steps", "step_tokens", "log_complete", "fewer_than_three_steps", "offered_skills", "units_offered",
})  # fmt: skip
"""Measures of these families that no use of a Skill changes."""
_EVER = frozenset({
    "skill_invoked", "support_read", "script_exec", "helper_use", "exposed", "root_shown",
})  # fmt: skip
"""Measures that no further use changes once they are 1."""


def measures_of_use(context: TrialContext, values: Values) -> Iterator[Measure]:
    """Yield measures of use: all null without a log; null too where an unknown tool may have opened a Skill."""
    if context.trajectory is None:
        values = dict.fromkeys(values, "no_trajectory")
    elif context.unknown_use:
        values = {
            (name, key): value
            if name in _WITHOUT_SKILLS or (name in _EVER and value == 1)
            else "unknown_tool"
            for (name, key), value in values.items()
        }
    return to_measures(context, values)


def part_share(part: float, whole: float, reason: str) -> ValueOrReason:
    """part / whole, or `reason` if whole is 0."""
    return part / whole if whole else reason


def agent_steps(context: TrialContext, scope: str = "") -> tuple[Step, ...]:
    """Steps of the main agent, or of all sub-agents."""
    if context.trajectory is None:
        return ()
    main = scope != SUB
    return tuple([step for step in context.trajectory.steps if (step.agent == MAIN) == main])


def task_events(context: TrialContext, scope: str = "") -> tuple[ResourceEvent, ...]:
    """Events of the scope on Skills offered for the task, without the agent program's own."""
    main = scope != SUB
    return tuple([
        event for event in context.events if (event.agent == MAIN) == main and not event.bundled
    ])


def used_events(context: TrialContext, scope: str = "") -> tuple[ResourceEvent, ...]:
    """Events of `task_events` that use a resource: no edit, write or mention (events.md)."""
    return tuple([event for event in task_events(context, scope) if event.counts])


def seconds_to(context: TrialContext, step: int) -> ValueOrReason:
    """Seconds from the log's start to a step of the main agent; 0 for step 0."""
    if step == 0:
        return 0.0
    reached = next((row.timestamp for row in agent_steps(context) if row.index == step), None)
    start = context.trajectory.started_at if context.trajectory else None
    if reached is None or start is None:
        return "no_timestamps"
    return max(0.0, reached - start)


def resource_of(event: ResourceEvent) -> tuple[str, str]:
    """Skill and canonical path."""
    return event.skill, event.resource

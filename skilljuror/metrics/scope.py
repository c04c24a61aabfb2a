"""Which steps and which events a measure looks at.

The main agent's ordered steps are the headline; what sub-agents did stands under its own
key. Events on skills that belong to the agent program itself are left out everywhere.
"""

from skilljuror.metrics.base import MAIN, SUB, ValueOrReason
from skilljuror.models.events import ResourceEvent
from skilljuror.models.measure import TrialContext
from skilljuror.models.trajectory import Step

Resource = tuple[str, str]
"""Skill (the part after the last colon) and canonical path: one resource, however spelled."""

SCOPES = ("", SUB)
"""Key of the main agent's rows and of the sub-agents' rows."""


def agent_steps(context: TrialContext, scope: str = "") -> tuple[Step, ...]:
    """The steps of the main agent in order, or those of all sub-agents."""
    if context.trajectory is None:
        return ()
    main = scope != SUB
    return tuple([step for step in context.trajectory.steps if (step.agent == MAIN) == main])


def task_events(context: TrialContext, scope: str = "") -> tuple[ResourceEvent, ...]:
    """Every event of the scope on a skill that was offered for the task."""
    return tuple([
        event for event in context.events if in_scope(event.agent, scope) and not event.bundled
    ])


def used_events(context: TrialContext, scope: str = "") -> tuple[ResourceEvent, ...]:
    """The events of `task_events` that are a use: no edit, write or mention (events.md)."""
    return tuple([event for event in task_events(context, scope) if event.counts])


def skill_positions(context: TrialContext) -> tuple[int, ...]:
    """0-based positions of the main agent's Skill-related steps, ascending (measures §3).

    Step 0 is before the first step and no position.
    """
    touched = {event.step for event in used_events(context)}
    return tuple(i for i, step in enumerate(agent_steps(context)) if step.index in touched)


def seconds_to(context: TrialContext, step: int) -> ValueOrReason:
    """Seconds from the start of the log to the message of a step of the main agent; 0 for step 0."""
    if step == 0:
        return 0.0
    reached = next((row.timestamp for row in agent_steps(context) if row.index == step), None)
    trajectory = context.trajectory
    start = trajectory.started_at if trajectory else None
    if reached is None or start is None:
        return "no_timestamps"
    return max(0.0, reached - start)


def resource_of(event: ResourceEvent) -> Resource:
    """The resource an event is about."""
    return event.skill.rpartition(":")[2], event.resource


def in_scope(agent: str, scope: str) -> bool:
    """Whether an agent belongs to a scope."""
    return (agent == MAIN) == (scope != SUB)

"""Select the steps and events of a measure.

The main agent's ordered steps are the headline; sub-agents have their own key. Events on the agent
program's own Skills are always excluded.
"""

from skilljuror.base.results import TrialContext
from skilljuror.base.trajectory import ResourceEvent, Step
from skilljuror.measures.metrics.base import MAIN, SUB, MeasureKey, ValueOrReason

Resource = tuple[str, str]
"""Skill and canonical path."""

SCOPES = ("", SUB)
"""Key of the main agent's rows and of the sub-agents' rows."""


def agent_steps(context: TrialContext, scope: str = "") -> tuple[Step, ...]:
    if context.trajectory is None:
        return ()
    main = scope != SUB
    return tuple([step for step in context.trajectory.steps if (step.agent == MAIN) == main])


def task_events(context: TrialContext, scope: str = "") -> tuple[ResourceEvent, ...]:
    """Events of the scope on Skills offered for the task."""
    return tuple([
        event for event in context.events if in_scope(event.agent, scope) and not event.bundled
    ])


def used_events(context: TrialContext, scope: str = "") -> tuple[ResourceEvent, ...]:
    """Events of `task_events` that use a resource: no edit, write or mention (events.md)."""
    return tuple([event for event in task_events(context, scope) if event.counts])


def skill_positions(context: TrialContext) -> tuple[int, ...]:
    """0-based positions of the main agent's Skill-related steps, ascending (measures §3); step 0 is
    before the first step and has none."""
    touched = {event.step for event in used_events(context)}
    return tuple(i for i, step in enumerate(agent_steps(context)) if step.index in touched)


def seconds_to(context: TrialContext, step: int) -> ValueOrReason:
    """Seconds from the log's start to a step of the main agent; 0 for step 0."""
    if step == 0:
        return 0.0
    reached = next((row.timestamp for row in agent_steps(context) if row.index == step), None)
    trajectory = context.trajectory
    start = trajectory.started_at if trajectory else None
    if reached is None or start is None:
        return "no_timestamps"
    return max(0.0, reached - start)


_WITHOUT_SKILLS = frozenset({
    "agent_steps", "step_tokens", "log_complete", "fewer_than_three_steps", "offered_skills", "units_offered",
})  # fmt: skip
"""Measures of these families that no use of a Skill changes."""
_EVER = frozenset({
    "skill_invoked", "support_read", "script_exec", "helper_use", "exposed", "root_shown",
})  # fmt: skip
"""Measures that no further use changes once they are 1."""


def with_unknown_use(
    context: TrialContext, values: dict[MeasureKey, ValueOrReason]
) -> dict[MeasureKey, ValueOrReason]:
    """Values of measures of use; null where an unknown tool may have opened a Skill."""
    if not context.unknown_use:
        return values
    return {
        (name, key): value
        if name in _WITHOUT_SKILLS or (name in _EVER and value == 1)
        else "unknown_tool"
        for (name, key), value in values.items()
    }


def resource_of(event: ResourceEvent) -> Resource:
    return event.skill, event.resource


def in_scope(agent: str, scope: str) -> bool:
    return (agent == MAIN) == (scope != SUB)

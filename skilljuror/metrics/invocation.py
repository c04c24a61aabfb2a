"""Invocation: whether, how and when an offered Skill was taken up at all (measures §5)."""

from collections.abc import Iterator
from typing import get_args

from skilljuror.metrics.base import MeasureKey, ValueOrReason, to_measures
from skilljuror.metrics.scope import Resource, agent_steps, resource_of, seconds_to, used_events
from skilljuror.metrics.timing import THIRDS, part_of
from skilljuror.models.events import FANOUT, ResourceEvent, Via
from skilljuror.models.measure import Measure, TrialContext

MODES: tuple[Via, ...] = get_args(Via)


def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; sub-agents count for what was opened, not for when."""
    invoked = next((event for event in used_events(context) if is_invocation(event)), None)
    values: dict[MeasureKey, ValueOrReason] = {
        ("skill_invoked", ""): float(invoked is not None),
        ("skill_invoked", "sub"): float(any(map(is_invocation, used_events(context, "sub")))),
        ("invocation_step", ""): float(invoked.step) if invoked else "never",
        ("invocation_seconds", ""): seconds_to(context, invoked.step) if invoked else "never",
        ("return_visits", ""): _return_visits(context),
        **{
            ("invocation_mode", mode): float(invoked is not None and invoked.via == mode)
            for mode in MODES
        },
        **_offered(context),
    }
    if context.trajectory is None:
        return to_measures(context, dict.fromkeys(values, "no_trajectory"))
    return to_measures(context, values)


def is_invocation(event: ResourceEvent) -> bool:
    """A successful activation, or a read of SKILL.md that showed content (measures §5).

    Of an offered Skill: a phantom is another one, or another variant's.
    """
    if event.phantom:
        return False
    if event.kind == "activate":
        return bool(event.ok)
    return event.kind == "read" and event.resource_class == "root" and _content_read(event)


def _content_read(event: ResourceEvent) -> bool:
    return event.content_exposed != "none"


def _return_visits(context: TrialContext) -> int:
    """Resources opened again in a later third than the one they were first opened in."""
    positions = {step.index: i for i, step in enumerate(agent_steps(context))}
    first_third: dict[Resource, int] = {}
    returned: set[Resource] = set()
    for event in used_events(context):
        if event.kind not in FANOUT or event.phantom:
            continue
        third = _third(event.step, positions)
        if first_third.setdefault(resource_of(event), third) < third:
            returned.add(resource_of(event))
    return len(returned)


def _third(step: int, positions: dict[int, int]) -> int:
    """0-based third of a step; step 0, before the first, belongs to the first third."""
    return part_of(positions[step], len(positions), THIRDS) if step in positions else 0


def _offered(context: TrialContext) -> dict[MeasureKey, ValueOrReason]:
    offered = _offered_names(context)
    if offered is None:
        return dict.fromkeys(
            (("offered_skills", ""), ("offered_never_opened", "")), "offer_not_logged"
        )
    events = (*used_events(context), *used_events(context, "sub"))
    opened = {resource_of(event)[0] for event in events if event.kind in FANOUT and _opened(event)}
    return {
        ("offered_skills", ""): len(offered),
        ("offered_never_opened", ""): len(offered - opened),
    }


def _opened(event: ResourceEvent) -> bool:
    return event.ok is not False and not event.phantom


def _offered_names(context: TrialContext) -> set[str] | None:
    """Skills offered for the task: by the manifest where it is known, else by the log."""
    manifest, trajectory = context.manifest, context.trajectory
    if manifest is not None and manifest.known:
        return set(manifest.skills)
    if trajectory is None or trajectory.offered is None:
        return None
    return {skill.name.rpartition(":")[2] for skill in trajectory.offered if not skill.bundled}

"""Invocation: whether, how and when an offered Skill was used (measures §5)."""

from collections.abc import Iterator
from typing import get_args

from skilljuror.base.results import Measure, TrialContext
from skilljuror.base.trajectory import FANOUT, OPENING, ResourceEvent, Via
from skilljuror.measures.metrics.base import (
    SCOPE_KEYS,
    Definition,
    MeasureKey,
    ValueOrReason,
    defines,
    share,
    to_measures,
)
from skilljuror.measures.metrics.scope import (
    Resource,
    agent_steps,
    resource_of,
    seconds_to,
    task_events,
    used_events,
    with_unknown_use,
)
from skilljuror.measures.metrics.timing import THIRDS, part_of

MODES: tuple[Via, ...] = get_args(Via)


@defines({
    "skill_invoked": Definition(
        "A Skill was activated, or its SKILL.md read with content", "flag", "§5", SCOPE_KEYS
    ),
    "invocation_mode": Definition("Mode of the first invocation", "flag", "own", "mode"),
    "invocation_step": Definition(
        "Step of the first invocation, 0 before the first step; null: never", "step", "own"
    ),
    "invocation_seconds": Definition(
        "From the start of the log to the first invocation; null: never", "seconds", "own"
    ),
    "return_visits": Definition(
        "Resources opened again in a later third than the first time", "resources", "own"
    ),
    "root_shown": Definition(
        "Lines of the opened SKILL.md files that the main agent was shown, of all their lines; null:"
        " none opened, or the lines are unknown",
        "share", "own",
    ),
    "offered_skills": Definition("Skills offered for the task", "skills", "§5"),
    "offered_never_opened": Definition("Offered Skills that were never opened", "skills", "own"),
})  # fmt: skip
def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; sub-agents only count for resources opened, not for times."""
    invoked = next((event for event in used_events(context) if is_invocation(event)), None)
    values: dict[MeasureKey, ValueOrReason] = {
        ("skill_invoked", ""): float(invoked is not None),
        ("skill_invoked", "sub"): float(any(map(is_invocation, used_events(context, "sub")))),
        ("invocation_step", ""): float(invoked.step) if invoked else "never",
        ("invocation_seconds", ""): seconds_to(context, invoked.step) if invoked else "never",
        ("return_visits", ""): _return_visits(context),
        ("root_shown", ""): _root_shown(context),
        **{
            ("invocation_mode", mode): float(invoked is not None and invoked.via == mode)
            for mode in MODES
        },
        **_offered(context),
    }
    if context.trajectory is None:
        return to_measures(context, dict.fromkeys(values, "no_trajectory"))
    return to_measures(context, with_unknown_use(context, values))


def is_invocation(event: ResourceEvent) -> bool:
    """A successful activation, or a read of SKILL.md with content (measures §5).

    Only of an offered Skill: a phantom belongs to another one, or to another variant.
    """
    if event.phantom:
        return False
    if event.kind == "activate":
        return bool(event.ok)
    return (
        event.kind == "read" and event.resource_class == "root" and event.content_exposed != "none"
    )


def _return_visits(context: TrialContext) -> int:
    """Resources opened again in a later third than the first time."""
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


def _root_shown(context: TrialContext) -> ValueOrReason:
    """Share of the lines of the opened roots that were shown, by the content of the events."""
    texts = {
        (one.skill, one.path): one.text
        for one in (context.manifest.resources if context.manifest else ())
    }
    opened: dict[Resource, list[ResourceEvent]] = {}
    for event in task_events(context):
        if event.resource_class == "root" and event.content_exposed != "none" and not event.phantom:
            opened.setdefault(resource_of(event), []).append(event)
    shown = lines = 0
    for root, events in opened.items():
        text = texts.get(root)
        if any(event.content_exposed == "full" for event in events):
            length = len(text.splitlines()) if text else 1
            seen = length
        elif text is None or any(event.lines is None for event in events):
            return "unknown_lines"
        else:
            length = len(text.splitlines())
            ranges = [pair for event in events for pair in event.lines or ()]
            seen = len({
                line for first, last in ranges for line in range(first, min(last, length) + 1)
            })
        shown, lines = shown + seen, lines + length
    return share(shown, lines, "never")


def _third(step: int, positions: dict[int, int]) -> int:
    """0-based third of a step; step 0 (before the first) is in the first third."""
    return part_of(positions[step], len(positions), THIRDS) if step in positions else 0


def _offered(context: TrialContext) -> dict[MeasureKey, ValueOrReason]:
    offered = _offered_names(context)
    if offered is None:
        return dict.fromkeys(
            (("offered_skills", ""), ("offered_never_opened", "")), "offer_not_logged"
        )
    events = (*used_events(context), *used_events(context, "sub"))
    opened = {
        event.skill
        for event in events
        if event.kind in OPENING and event.ok is not False and not event.phantom
    }
    return {
        ("offered_skills", ""): len(offered),
        ("offered_never_opened", ""): len(offered - opened),
    }


def _offered_names(context: TrialContext) -> set[str] | None:
    """Skills offered for the task: from the manifest if known, else from the log."""
    manifest, trajectory = context.manifest, context.trajectory
    if manifest is not None and manifest.known:
        return set(manifest.skills)
    if trajectory is None or trajectory.offered is None:
        return None
    return {skill.name for skill in trajectory.offered if not skill.bundled}

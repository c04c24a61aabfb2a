"""Exposure: knowledge units in an agent's context by step.

Every variant contains the same units; a unit is exposed when its lines in this variant were shown.
"""

from collections.abc import Collection, Iterable, Sequence

from skilljuror.base.skill import MappedUnit, UnitLocation
from skilljuror.base.trajectory import Exposure, ResourceEvent, Trajectory, UnitExposure
from skilljuror.events.evidence.line_index import ResourceKey

_EXPOSING_KINDS = frozenset({"activate", "read", "search"})


def expose(
    trajectory: Trajectory,
    events: Sequence[ResourceEvent],
    units: Sequence[MappedUnit],
    variant: str,
    skills: Collection[str] = (),
) -> Exposure:
    """Return the units of a variant that reached an agent, with the step of every arrival.

    An event that shows a file in full shows all its units; one that shows lines shows the units
    that overlap them; one without known lines shows none and counts in `extra["unplaced_events"]`.
    Skills of the agent program are excluded. `skills` are the variant's folder names; without them
    each Skill is at the top.
    """
    units_of = units_by_resource(units, variant, skills)
    seen: list[UnitExposure] = []
    shown_bytes = unplaced = 0
    for event in filter(exposes_text, events):
        shown_bytes += event.shown_bytes or 0
        if event.content_exposed == "partial" and event.lines is None:
            unplaced += 1
            continue
        full = event.content_exposed == "full"
        seen += [
            UnitExposure(trajectory.trajectory, unit, event.agent, event.step, event.ordinal)
            for unit, place in units_of.get((event.skill, event.resource), ())
            if full or _overlaps(place, event)
        ]
    extra = {"unplaced_events": float(unplaced)}
    return Exposure(sum(map(len, units_of.values())), tuple(seen), shown_bytes, extra=extra)


def units_by_resource(
    units: Iterable[MappedUnit], variant: str, skills: Collection[str] = ()
) -> dict[ResourceKey, list[tuple[str, UnitLocation]]]:
    """Return (Skill, path in it) -> the units of a variant in that file, each with its place."""
    found: dict[ResourceKey, list[tuple[str, UnitLocation]]] = {}
    for mapped in units:
        if place := mapped.places.get(variant):
            resource = _resource_of(place.file, skills)
            found.setdefault(resource, []).append((mapped.unit.unit, place))
    return found


def exposes_text(event: ResourceEvent) -> bool:
    """Whether an event brought text of a task's Skill into a context."""
    return not event.bundled and event.kind in _EXPOSING_KINDS and event.content_exposed != "none"


def _resource_of(file: str, skills: Collection[str]) -> ResourceKey:
    """(Skill, path in it) of a variant's file; the Skill is the outermost folder with such a name."""
    folders = file.split("/")[:-1]
    at = next((at for at, name in enumerate(folders) if name in skills), 0)
    skill, _, path = file.split("/", at)[-1].partition("/")
    return skill, path


def _overlaps(place: UnitLocation, event: ResourceEvent) -> bool:
    return any(first <= place.end and place.start <= last for first, last in event.lines or ())

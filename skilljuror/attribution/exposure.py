"""Exposure: which knowledge units had reached an agent's context at which step.

The same units are asked about in every variant: a unit stands somewhere in each of them, and
it is exposed when the lines at which it stands in this variant were shown.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct, field

from skilljuror.attribution.evidence.line_index import ResourceKey
from skilljuror.attribution.resolution.skill_catalog import bare_skill_name
from skilljuror.models.events import Exposure, ResourceEvent, UnitExposure
from skilljuror.models.knowledge import MappedUnit, UnitLocation
from skilljuror.models.trajectory import Trajectory

_EXPOSING_KINDS = frozenset({"activate", "read", "search"})


class _Arrivals(Struct):
    """First sight of every unit in every agent's context, in order."""

    first: dict[tuple[str, str], ResourceEvent] = field(default_factory=dict)
    """(unit, agent) -> the event that brought it first."""
    times: dict[tuple[str, str], int] = field(default_factory=dict)
    """(unit, agent) -> how many events brought it."""

    def add(self, units: Iterable[str], event: ResourceEvent) -> None:
        """Note that an event showed these units to its agent."""
        for unit in units:
            key = unit, event.agent
            self.first.setdefault(key, event)
            self.times[key] = self.times.get(key, 0) + 1


def expose(
    trajectory: Trajectory,
    events: Sequence[ResourceEvent],
    units: Sequence[MappedUnit],
    variant: str,
    skills: Collection[str] = (),
) -> Exposure:
    """The units of a variant that reached an agent, at the step at which each arrived.

    An event that shows a file in full shows all its units; one that shows lines shows the units
    that have a line in common with them; one that shows a part nobody could place shows none
    and is counted in `extra["unplaced_events"]`. Skills of the agent program itself are left out.
    `skills` are the folder names of the variant's; without them each lies at the top.
    """
    units_of: dict[ResourceKey, list[tuple[str, UnitLocation]]] = {}
    for mapped in units:
        if place := mapped.places.get(variant):
            resource = _resource_of(place.file, skills)
            units_of.setdefault(resource, []).append((mapped.unit.unit, place))
    arrivals = _Arrivals()
    shown_bytes = unplaced = 0
    for event in filter(exposes_text, events):
        shown_bytes += event.shown_bytes or 0
        if event.content_exposed == "partial" and event.lines is None:
            unplaced += 1
            continue
        candidates = units_of.get((bare_skill_name(event.skill), event.resource), ())
        full = event.content_exposed == "full"
        arrivals.add((unit for unit, place in candidates if full or _overlaps(place, event)), event)
    seen = tuple(
        UnitExposure(
            trajectory=trajectory.trajectory,
            unit=unit,
            agent=agent,
            step=event.step,
            times=arrivals.times[unit, agent],
        )
        for (unit, agent), event in arrivals.first.items()
    )
    extra = {"unplaced_events": float(unplaced)}
    return Exposure(sum(map(len, units_of.values())), seen, shown_bytes, extra=extra)


def exposes_text(event: ResourceEvent) -> bool:
    """Whether an event brought text of a task's Skill into a context."""
    return not event.bundled and event.kind in _EXPOSING_KINDS and event.content_exposed != "none"


def _resource_of(file: str, skills: Collection[str]) -> ResourceKey:
    """(skill, path in it) of a file of the variant: a skill is the outermost folder of its name."""
    folders = file.split("/")[:-1]
    at = next((at for at, name in enumerate(folders) if name in skills), 0)
    skill, _, path = file.split("/", at)[-1].partition("/")
    return skill, path


def _overlaps(place: UnitLocation, event: ResourceEvent) -> bool:
    return any(first <= place.end and place.start <= last for first, last in event.lines or ())

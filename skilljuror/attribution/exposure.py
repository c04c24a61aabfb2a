"""Exposure: which knowledge units had reached an agent's context at which step.

The same units are asked about in every variant: a unit stands somewhere in each of them, and
it is exposed when the lines at which it stands in this variant were shown.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from skilljuror.attribution.catalog import tail_of
from skilljuror.models.events import Exposure, ResourceEvent, UnitExposure
from skilljuror.models.knowledge import MappedUnit, Place
from skilljuror.models.trajectory import Trajectory

_SHOWING = frozenset({"activate", "read", "search"})


class _Arrivals(Struct):
    """First sight of every unit in every agent's context, in order."""

    first: dict[tuple[str, str], ResourceEvent] = field(default_factory=dict)
    times: dict[tuple[str, str], int] = field(default_factory=dict)

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
) -> Exposure:
    """The units of a variant that reached an agent, at the step at which each arrived.

    An event that shows a file in full shows all its units; one that shows lines shows the units
    that have a line in common with them; one that shows a part nobody could place shows none
    and is counted in `extra["unplaced_events"]`. Skills of the agent program itself are left out.
    """
    placed = [(one.unit.unit, place) for one in units if (place := one.places.get(variant))]
    arrivals = _Arrivals()
    shown = unplaced = 0
    for event in events:
        if event.bundled or event.kind not in _SHOWING or event.content_exposed == "none":
            continue
        shown += event.shown_bytes or 0
        if event.content_exposed == "partial" and event.lines is None:
            unplaced += 1
            continue
        arrivals.add(_seen(placed, event), event)
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
    return Exposure(units=len(placed), seen=seen, shown_bytes=shown, extra=extra)


def _seen(placed: Sequence[tuple[str, Place]], event: ResourceEvent) -> list[str]:
    """Units that an event shows, in the map's order."""
    full = event.content_exposed == "full"
    return [
        unit
        for unit, place in placed
        if _same_file(place.file, event) and (full or _overlaps(place, event))
    ]


def _same_file(file: str, event: ResourceEvent) -> bool:
    """Whether a path inside the variant is the resource of an event.

    A variant may hold several skills, so the skill's folder must agree where the path has one.
    """
    if file == event.resource:
        return True
    return f"/{file}".endswith(f"/{tail_of(event.skill)}/{event.resource}")


def _overlaps(place: Place, event: ResourceEvent) -> bool:
    return any(first <= place.end and place.start <= last for first, last in event.lines or ())

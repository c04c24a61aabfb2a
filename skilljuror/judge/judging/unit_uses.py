"""Place the lines that prove uses: in the resource's text, and in its knowledge units."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from skilljuror.base.results import UnitUse, Verdict
from skilljuror.base.skill import CONTENT_KINDS, MappedUnit, UnitLocation
from skilljuror.base.trajectory import ResourceEvent, SkillManifest
from skilljuror.events.exposure import units_by_resource

_Lines = Mapping[str, Sequence[int]]
"""Stripped line -> its 1-based numbers in a text."""


def place_uses(
    verdicts: Iterable[Verdict],
    events: Iterable[ResourceEvent],
    manifest: SkillManifest,
    units: Iterable[MappedUnit] = (),
) -> tuple[list[Verdict], list[UnitUse]]:
    """Return the verdicts with the line of the resource that each quotes, and the units of the lines that
    prove uses.

    A line that its event showed goes before an equal one elsewhere in the file. A line that the resource
    does not have proves the use of no unit.
    """
    by_id = {event.event: event for event in events}
    lines = {(one.skill, one.path): _numbered(one.text or "") for one in manifest.resources}
    places = units_by_resource(
        (one for one in units if one.unit.kind in CONTENT_KINDS),
        manifest.variant or "",
        manifest.skills,
    )
    placed: list[Verdict] = []
    uses: dict[UnitUse, None] = {}
    for verdict in verdicts:
        event = by_id[verdict.event]
        resource = event.skill, event.resource
        numbers = [
            (_shown_line(text, event, lines.get(resource, {})), step) for text, step in verdict.used
        ]
        placed.append(replace(verdict, source_line=numbers[0][0]) if numbers else verdict)
        for number, step in numbers:
            for unit in _units_on(number, places.get(resource, ())):
                uses[UnitUse(verdict.trial, verdict.judge, event.event, unit, step)] = None
    return placed, list(uses)


def _units_on(line: int | None, units: Iterable[tuple[str, UnitLocation]]) -> Iterator[str]:
    """The units on a line."""
    for unit, place in units:
        if line is not None and place.start <= line <= place.end:
            yield unit


def _numbered(text: str) -> _Lines:
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found.setdefault(line.strip(), []).append(number)
    return found


def _shown_line(text: str, event: ResourceEvent, lines: _Lines) -> int | None:
    numbers = lines.get(text.strip(), ())
    return next(iter([*_within(numbers, event), *numbers]), None)


def _within(numbers: Iterable[int], event: ResourceEvent) -> Iterator[int]:
    for number in numbers:
        if any(first <= number <= last for first, last in event.lines or ()):
            yield number

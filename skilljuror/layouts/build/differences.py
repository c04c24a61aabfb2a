"""Compare the places of a source's units in two variants."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from skilljuror.base.errors import StudyError
from skilljuror.base.skill import MappedUnit, UnitLocation
from skilljuror.layouts.build.build import load_build
from skilljuror.layouts.build.manifests import units_of_build

SOURCE = "source"


class Passage(Struct, frozen=True):
    """Neighbouring source units that moved together."""

    headings: tuple[str, ...]  # heading path in the source
    source: UnitLocation
    a: UnitLocation | None  # place in the first variant; None for lost
    b: UnitLocation | None  # place in the second variant; None for lost
    units: tuple[str, ...]  # texts in order


class Differences(Struct, frozen=True):
    """Two variants compared, in source order."""

    name: str  # slug of the source
    a: str
    b: str
    passages: tuple[Passage, ...]
    units: int  # units of the source
    moved: int  # units in differently named files
    lost_a: int  # units missing from the first variant
    lost_b: int  # units missing from the second variant


def differences(build: Path, a: str, b: str) -> Differences:
    """Compare two variants of a build; "source" is valid too. Raises StudyError."""
    record = load_build(build)
    names = (SOURCE, *(variant.variant for variant in record.variants))
    for name in (a, b):
        if name not in names:
            raise StudyError(
                f"{str(build)!r} has no variant {name!r} (choose {', '.join(names)})",
                file=str(build),
            )
    units = units_of_build(build)
    if not units:
        raise StudyError(f"{str(build)!r} has no knowledge.jsonl; build it again", file=str(build))
    ordered = sorted(units, key=lambda row: (row.unit.file, row.unit.start, row.unit.end))
    pairs = [(unit, _place(unit, a), _place(unit, b)) for unit in ordered]
    return Differences(
        name=record.name,
        a=a,
        b=b,
        passages=tuple(_passages(pairs)),
        units=len(pairs),
        moved=sum(x is not None and y is not None and x.file != y.file for _, x, y in pairs),
        lost_a=sum(x is None for _, x, _ in pairs),
        lost_b=sum(y is None for _, _, y in pairs),
    )


def _place(mapped: MappedUnit, variant: str) -> UnitLocation | None:
    return _own(mapped) if variant == SOURCE else mapped.places.get(variant)


def _own(mapped: MappedUnit) -> UnitLocation:
    return UnitLocation(mapped.unit.file, mapped.unit.start, mapped.unit.end)


Row = tuple[MappedUnit, UnitLocation | None, UnitLocation | None]


def _passages(rows: Iterable[Row]) -> Iterable[Passage]:
    run: list[Row] = []
    for row in rows:
        if run and not _together(run[-1], row):
            yield _passage(run)
            run = []
        run.append(row)
    if run:
        yield _passage(run)


def _together(before: Row, after: Row) -> bool:
    if before[0].unit.file != after[0].unit.file:
        return False
    if "step" not in (before[0].unit.kind, after[0].unit.kind) and _section(before[0]) != _section(
        after[0]
    ):
        return False
    return all(_follows(x, y) for x, y in zip(before[1:], after[1:], strict=True))


def _section(mapped: MappedUnit) -> tuple[str, ...]:
    """Headings above a unit; a heading opens its own section."""
    unit = mapped.unit
    if unit.kind == "heading":
        return (*unit.headings, unit.text.lstrip("#").strip())
    return unit.headings


def _follows(before: UnitLocation | None, after: UnitLocation | None) -> bool:
    if before is None or after is None:
        return before is after
    return before.file == after.file and before.start <= after.start


def _passage(run: list[Row]) -> Passage:
    first = run[0][0].unit
    own = [_own(row[0]) for row in run]
    return Passage(
        headings=_section(run[0][0]),
        source=UnitLocation(first.file, first.start, max(place.end for place in own)),
        a=_span([row[1] for row in run]),
        b=_span([row[2] for row in run]),
        units=tuple(row[0].unit.text for row in run),
    )


def _span(places: list[UnitLocation | None]) -> UnitLocation | None:
    there = [place for place in places if place is not None]
    if not there:
        return None
    start, end = min(place.start for place in there), max(place.end for place in there)
    return UnitLocation(there[0].file, start, end)

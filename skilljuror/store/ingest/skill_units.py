"""Rows of the knowledge units of a study's Skills, built or given."""

from collections.abc import Iterable, Iterator

from skilljuror.base.files import StudyFolder
from skilljuror.base.skill import MappedUnit
from skilljuror.layouts.build.given_skills import units_of_given
from skilljuror.layouts.build.manifests import units_of_build
from skilljuror.store.ingest.token_counts import count
from skilljuror.store.tables import Row


def unit_rows(folder: StudyFolder, tasks: Iterable[str]) -> tuple[list[Row], list[Row]]:
    """Return the rows of `units` and of `unit_places`."""
    units: dict[tuple[str, str], Row] = {}
    places: list[Row] = []
    for task, mapped in _units(folder, tasks):
        unit = mapped.unit
        key = {"build": task, "unit": unit.unit}
        if (task, unit.unit) not in units:
            row = {"kind": unit.kind, "text": unit.text, "tokens": count(unit.text)}
            units[task, unit.unit] = key | row
        places += [
            key
            | {"variant": variant, "file": place.file}
            | {"first_line": place.start, "last_line": place.end}
            for variant, place in mapped.places.items()
            if place is not None
        ]
    return list(units.values()), places


def _units(folder: StudyFolder, tasks: Iterable[str]) -> Iterator[tuple[str, MappedUnit]]:
    for task in tasks:
        if (build := folder.build(task)).is_dir():
            yield from ((task, unit) for unit in units_of_build(build))
        saved = folder.given / task
        for given in sorted(saved.iterdir()) if saved.is_dir() else ():
            yield from ((task, unit) for unit in units_of_given(given, given.name))

"""The study's own files in the database: plan, builds, units, and what people and models wrote about them.

The files are the truth. `refresh` brings the databases of a place up to date after one of them changed.
"""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skilljuror.base.files import StudyFolder, read_rows
from skilljuror.store.connect import database_to_fill, open_write
from skilljuror.store.writer import Store

if TYPE_CHECKING:  # ingest of logs loads no pydantic
    from skilljuror.base.review import JudgedBuild
    from skilljuror.base.skill import MappedUnit
    from skilljuror.base.study import StudyPlan

Row = dict[str, Any]


def unit_rows(folder: StudyFolder, tasks: Iterable[str]) -> tuple[list[Row], list[Row]]:
    """Return the rows of `units` and of `unit_places`: of the Skills of a study, built or given."""
    from skilljuror.store.rows import count

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


def _units(folder: StudyFolder, tasks: Iterable[str]) -> "Iterator[tuple[str, MappedUnit]]":
    from skilljuror.layouts.build.given_skills import units_of_given
    from skilljuror.layouts.build.manifests import units_of_build

    for task in tasks:
        if (build := folder.build(task)).is_dir():
            yield from ((task, unit) for unit in units_of_build(build))
        saved = folder.given / task
        for given in sorted(saved.iterdir()) if saved.is_dir() else ():
            yield from ((task, unit) for unit in units_of_given(given, given.name))


def read_builds(folder: Path, names: Iterable[str]) -> "list[JudgedBuild]":
    """Judge the builds `folder/<name>/`, named by folder; names without a build are skipped."""
    from skilljuror.layouts.build.folder import RECORD
    from skilljuror.layouts.build.reviews import reviewed

    builds = [
        (name, reviewed(folder / name)) for name in names if (folder / name / RECORD).is_file()
    ]
    return [
        build._replace(record=build.record.model_copy(update={"name": name}))
        for name, build in builds
    ]


def build_names(folder: Path) -> list[str]:
    """Return the names of the builds in a folder."""
    from skilljuror.layouts.build.folder import RECORD

    return sorted(path.parent.name for path in folder.glob(f"*/{RECORD}"))


def store_builds(folder: Path, names: Iterable[str]) -> Path:
    """Store the builds `folder/<name>/` in the folder's database; return its path.

    A build replaces its earlier rows only. A database of another version that holds only builds is
    regenerated from all builds of the folder. Raises StoreError if it cannot be written.
    """
    study = StudyFolder(folder)
    database, ingested = study.database, study.planned or study.sources_file.exists()
    target = nullcontext(database) if ingested else database_to_fill(database)
    with target as path, open_write(path) as store:
        remade = path != database and database.exists()
        store.put_builds(read_builds(folder, build_names(folder) if remade else names))
    return database


def put_answers(store: Store, folder: StudyFolder, plan: "StudyPlan | None" = None) -> None:
    """Replace what people and models answered about a study: labels and their sample, codes, items of rubrics;
    with a plan, it and the attributes of its tasks."""
    from skilljuror.base.item_rows import item_results
    from skilljuror.base.review import JudgedAttribute
    from skilljuror.base.review_rows import code_rows, label_rows, sampled_uses

    with store.transaction():
        if plan is not None:
            store.put_plan(plan, read_rows(JudgedAttribute, folder.task_attributes))
        store.put("labels", label_rows(folder))
        store.put("label_sample", sampled_uses(folder))
        if folder.planned:
            store.put("codes", code_rows(folder))
            store.put("items", item_results(folder))


def refresh(place: Path, builds: Iterable[Path] | None = None, wait: float = 0.0) -> None:
    """Bring the databases of a study, a folder of builds or a build up to date with the files that people and
    models write; `builds` are those that changed, by default all.

    Raises StoreError for a database that cannot be written, InUseError for one that is in use for
    longer than `wait` seconds.
    """
    from skilljuror.layouts.build.folder import builds_at
    from skilljuror.layouts.build.given_skills import given_manifests

    if builds is None:
        study = StudyFolder(place)
        builds = [] if study.planned and not study.builds.is_dir() else builds_at(place)
    names: dict[Path, list[str]] = {}
    for build in builds:
        names.setdefault(build.resolve().parent, []).append(build.resolve().name)
    for folder, inside in names.items():
        study = StudyFolder(folder.parent)
        databases = [StudyFolder(folder).database]
        databases += [study.database] if study.builds == folder else []
        for database in filter(Path.is_file, databases):
            with open_write(database, wait) as store:
                stored = store.names("SELECT build FROM builds")
                known = [name for name in inside if name in stored]
                store.put_builds(read_builds(folder, known), given_manifests(study, known))
    study = StudyFolder(place)
    if study.database.is_file() and (study.planned or study.sources_file.exists()):
        with open_write(study.database, wait) as store:
            put_answers(store, study)

"""Store builds in a database, so that the RQ1 queries run without a study."""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.base.review import JudgedBuild
from skilljuror.harness.study_leaks import study_leaks
from skilljuror.layouts.build.folder import RECORD
from skilljuror.layouts.build.given_skills import given_manifests
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.store import open_write
from skilljuror.store.replacement import database_to_fill


def read_builds(folder: Path, names: Iterable[str]) -> list[JudgedBuild]:
    """Judge the builds `folder/<name>/`, named by folder; names without a build are skipped."""
    builds = [
        (name, reviewed(folder / name)) for name in names if (folder / name / RECORD).is_file()
    ]
    return [
        build._replace(record=build.record.model_copy(update={"name": name}))
        for name, build in builds
    ]


def builds_at(folder: Path) -> list[Path]:
    """List the builds of a build, a folder of builds or a study. Raises StudyError for none."""
    if (folder / RECORD).is_file():
        return [folder]
    for place in (folder, StudyFolder(folder).builds):
        if found := sorted(path.parent for path in place.glob(f"*/{RECORD}")):
            return found
    raise StudyError(f"no build at {str(folder)!r}; create one with skilljuror build")


def refresh_builds(builds: Iterable[Path], wait: float = 0.0) -> list[Path]:
    """Update builds in the databases that hold them; return these databases.

    Raises StoreError for a database that cannot be written, InUseError for one that is in use for
    longer than `wait` seconds.
    """
    names: dict[Path, list[str]] = {}
    for build in builds:
        names.setdefault(build.resolve().parent, []).append(build.resolve().name)
    return [
        database
        for place, inside in names.items()
        for database in _databases_of(place)
        if database.is_file() and _refresh(database, place, inside, wait)
    ]


def refresh_leaks(study: StudyFolder) -> None:
    """Update the leaks of a study's Skills in its database, if it has one; raises as `refresh_builds`."""
    if study.database.is_file():
        with open_write(study.database) as store:
            store.put_skill_leaks(study_leaks(study))


def _databases_of(place: Path) -> list[Path]:
    study = StudyFolder(place.parent)
    return [StudyFolder(place).database, *([study.database] if study.builds == place else [])]


def _refresh(database: Path, place: Path, names: list[str], wait: float) -> bool:
    """Update the builds that a database holds; False if it holds none."""
    with open_write(database, wait) as store:
        stored = store.builds()
        known = [name for name in names if name in stored]
        store.put_builds(
            read_builds(place, known), given_manifests(StudyFolder(place.parent), known)
        )
    return bool(known)


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


def build_names(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob(f"*/{RECORD}"))

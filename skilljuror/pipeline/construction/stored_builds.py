"""Builds as rows of a database, so that the questions of RQ1 can be asked of them without a study."""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder
from skilljuror.models.review import JudgedBuild
from skilljuror.pipeline.construction.build_folder import RECORD
from skilljuror.pipeline.construction.given_skills import given_manifests
from skilljuror.pipeline.construction.reviews import reviewed
from skilljuror.store import open_write
from skilljuror.store.replacement import database_to_fill


def read_builds(folder: Path, names: Iterable[str]) -> list[JudgedBuild]:
    """The builds `folder/<name>/`, each under the name of its folder, as gates and people judge them;
    a name without one is left out."""
    builds = [
        (name, reviewed(folder / name)) for name in names if (folder / name / RECORD).is_file()
    ]
    return [
        build._replace(record=build.record.model_copy(update={"name": name}))
        for name, build in builds
    ]


def builds_at(folder: Path) -> list[Path]:
    """The build at `folder`, or those of a folder of builds or of a study. Raises StudyError for
    none."""
    if (folder / RECORD).is_file():
        return [folder]
    for place in (folder, StudyFolder(folder).builds):
        if found := sorted(path.parent for path in place.glob(f"*/{RECORD}")):
            return found
    raise StudyError(f"no build at {str(folder)!r}: make one with skilljuror build")


def refresh_builds(builds: Iterable[Path], wait: float = 0.0) -> list[Path]:
    """Put builds anew into the databases that hold them, of a study or of a folder of builds; the
    databases. A build that no database holds is left out.

    Raises StoreError for a database that cannot be written, InUseError for one that others have open and do
    not close for `wait` seconds.
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


def _databases_of(place: Path) -> list[Path]:
    """Where builds in this folder may be rows: beside them, or in their study."""
    study = StudyFolder(place.parent)
    return [StudyFolder(place).database, *([study.database] if study.builds == place else [])]


def _refresh(database: Path, place: Path, names: list[str], wait: float) -> bool:
    """Whether the database holds any of the builds, which were put into it anew."""
    with open_write(database, wait) as store:
        stored = store.builds()
        known = [name for name in names if name in stored]
        store.put_builds(
            read_builds(place, known), given_manifests(StudyFolder(place.parent), known)
        )
    return bool(known)


def store_builds(folder: Path, names: Iterable[str]) -> Path:
    """Put the builds `folder/<name>/` into the database of the folder; its path.

    A build replaces its earlier rows; rows of other builds stay. A database of builds alone that
    another version made is made again, with all builds of the folder. Raises StoreError for a
    database that cannot be written.
    """
    study = StudyFolder(folder)
    database, ingested = study.database, study.planned or study.sources_file.exists()
    target = nullcontext(database) if ingested else database_to_fill(database)
    with target as path, open_write(path) as store:
        remade = path != database and database.exists()
        store.put_builds(read_builds(folder, build_names(folder) if remade else names))
    return database


def build_names(folder: Path) -> list[str]:
    """Names of the builds that lie in a folder."""
    return sorted(path.parent.name for path in folder.glob(f"*/{RECORD}"))

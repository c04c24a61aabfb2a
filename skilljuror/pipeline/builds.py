"""Many builds as rows, so that the questions of RQ1 can be asked of them without a study."""

from collections.abc import Iterable
from pathlib import Path

from skilljuror.files import RunFolder, read_record, read_rows
from skilljuror.models.build import BuildRecord
from skilljuror.models.gate import GateResult
from skilljuror.pipeline.target import GATE_RESULTS, RECORD
from skilljuror.store import open_write

Judged = tuple[BuildRecord, list[GateResult]]
"""A build with the answers of its gates."""


def read_builds(folder: Path, names: Iterable[str]) -> list[Judged]:
    """The builds `folder/<name>/`, each under the name of its folder; a name without one is left out."""
    return [
        (
            read_record(BuildRecord, folder / name / RECORD).model_copy(update={"name": name}),
            list(read_rows(GateResult, folder / name / GATE_RESULTS)),
        )
        for name in names
        if (folder / name / RECORD).is_file()
    ]


def store_builds(folder: Path, names: Iterable[str]) -> Path:
    """Put the builds `folder/<name>/` into the database of the folder; its path.

    A build replaces its earlier rows; rows of other builds stay. Raises StoreError for a database
    that cannot be written.
    """
    database = RunFolder(folder).database
    told = read_builds(folder, names)
    with open_write(database) as store:
        store.put_builds(told)
    return database

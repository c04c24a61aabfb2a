"""Finding and reading what a study's trials and foreign logs left behind."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.errors import StudyError, TrajectoryError
from skilljuror.files import StudyFolder, read_record
from skilljuror.models.events import SkillManifest
from skilljuror.models.ingest import SourceRow
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.study import TrialRecord
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import FoundSource
from skilljuror.parsers.discovery.find_logs import discover
from skilljuror.parsers.read import read
from skilljuror.pipeline.construction.offered import offered_by, units_of_build
from skilljuror.pipeline.ingestion.rows import unread_row
from skilljuror.registry import resolve


class ReadTrial(Struct, frozen=True):
    """A trial as read back from its folder."""

    record: TrialRecord
    """Its record."""
    manifest: SkillManifest
    """What it offered."""
    units: tuple[MappedUnit, ...]
    """The knowledge map of its build; empty for the no-skill arm."""
    trajectory: Trajectory | None
    """Its log; None when there is none that can be read."""
    sources: tuple[SourceRow, ...]
    """Every file looked at, and what became of it."""


def read_trial(study: Path, trial: str) -> ReadTrial:
    """One finished trial. Raises StudyError when it is not there."""
    folder = StudyFolder(study)
    path = folder.trial_record(trial)
    if not path.is_file():
        raise StudyError(f"no finished trial {trial!r} in {str(study)!r}", file=str(path))
    record = read_record(TrialRecord, path)
    manifest = offered_by(folder, record)
    units = units_of_build(folder.build(record.task)) if record.variant else ()
    trajectory, sources = _read_log(folder.trial_raw(trial) / "agent", trial)
    return ReadTrial(record, manifest, units, trajectory, sources)


def _read_log(logs: Path, trial: str) -> tuple[Trajectory | None, tuple[SourceRow, ...]]:
    """The most native capture that can be read; the rest are rows with their reason."""
    if not logs.is_dir():
        return None, (SourceRow(str(logs), "error", reason="the trial left no agent folder"),)
    rows: list[SourceRow] = []
    chosen: Trajectory | None = None
    for found in sorted(discover([logs]), key=_precedence):
        path = str(found.source.path)
        if found.format is None:
            rows.append(unread_row(found))
        elif chosen is not None:
            rows.append(SourceRow(path, "duplicate", found.format, "a more native log was read"))
        else:
            chosen, row = _try(found, trial)
            rows.append(row)
    return chosen, tuple(rows)


def _precedence(found: FoundSource) -> tuple[int, str]:
    native = 9 if found.format is None else resolve(FORMATS, found.format, "format").native
    return native, str(found.source.path)


def _try(found: FoundSource, trial: str) -> tuple[Trajectory | None, SourceRow]:
    path, name = str(found.source.path), found.format or ""
    try:
        first = next(iter(read(found.source, name)), None)
    except TrajectoryError as error:
        return None, SourceRow(path, "error", name, error.message, found.size)
    if first is None:
        return None, SourceRow(path, "error", name, "it holds no run", found.size)
    return replace(first, trajectory=trial), SourceRow(path, "parsed", name, None, found.size)

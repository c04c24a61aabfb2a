"""Looking one thing up in a study."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.errors import StudyError
from skilljuror.files import RunFolder
from skilljuror.models.events import ResourceEvent
from skilljuror.models.measure import Verdict
from skilljuror.models.study import TrialRecord
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.analysis import analyse
from skilljuror.pipeline.logs import read_logged
from skilljuror.pipeline.trials import is_planned, read_trial
from skilljuror.queries.run import run


class Seen(Struct, frozen=True):
    """One trial or foreign run with everything known of it."""

    name: str
    """Trial, or key of the trajectory."""
    record: TrialRecord | None
    """The trial; None for foreign logs."""
    trajectory: Trajectory | None
    """The log, read again from its raw file."""
    events: tuple[ResourceEvent, ...]
    """Its resource events."""
    verdicts: tuple[Verdict, ...]
    """Verdicts on them; empty before `judge`."""


def database_of(study: Path) -> Path:
    """The study's database. Raises StudyError when there is none yet."""
    folder = RunFolder.existing(study)
    if not folder.database.is_file():
        mend = "" if is_planned(study) else " PATH"
        raise StudyError(
            f"{str(study)!r} has no database yet; make it with:"
            f" skilljuror ingest{mend} --study {study}",
            file=str(folder.database),
        )
    return folder.database


def look_up(study: Path, name: str) -> Seen:
    """One trial of a study, or one run of ingested logs."""
    if is_planned(study):
        trial = read_trial(study, name)
        record, trajectory, manifest = trial.record, trial.trajectory, trial.manifest
        found = analyse(name, trajectory, record, manifest, trial.units)
    else:
        record = None
        trajectory = read_logged(database_of(study), name)
        name = trajectory.trajectory
        found = analyse(name, trajectory)
    return Seen(name, record, trajectory, found.events, _verdicts(study, name))


def _verdicts(study: Path, name: str) -> tuple[Verdict, ...]:
    if not RunFolder(study).database.is_file():
        return ()
    result = run(RunFolder(study).database, "verdicts_of", trial=name)
    rows: list[dict[str, Any]] = [
        dict(zip(result.columns, row, strict=True)) for row in result.rows
    ]
    return tuple(Verdict(**row) for row in rows)

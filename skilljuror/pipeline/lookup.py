"""Looking one thing up in a study."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec import Struct

from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder
from skilljuror.models.events import ResourceEvent
from skilljuror.models.measure import Verdict
from skilljuror.models.study import TrialRecord
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.ingestion.analysis import analyse
from skilljuror.pipeline.ingestion.logs import read_logged
from skilljuror.pipeline.ingestion.trials import read_trial
from skilljuror.queries.run import run

SHOWN = 4
"""Names that an error guesses at."""


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
    folder = StudyFolder.existing(study)
    if not folder.database.is_file():
        mend = "" if StudyFolder(study).planned else " PATH"
        raise StudyError(
            f"{str(study)!r} has no database yet; make it with:"
            f" skilljuror ingest{mend} --study {quote(str(study))}",
            file=str(folder.database),
        )
    return folder.database


def look_up(study: Path, name: str) -> Seen:
    """One trial of a study, or one run of ingested logs; `name` may be a unique beginning.

    Raises StudyError that guesses at what was meant.
    """
    if StudyFolder(study).planned:
        name = _meant(StudyFolder(study).finished_trials(), name, study, "trials")
        trial = read_trial(study, name)
        record, trajectory, manifest = trial.record, trial.trajectory, trial.manifest
        found = analyse(name, trajectory, record, manifest, trial.units)
    else:
        record = None
        database = database_of(study)
        names = [str(row[0]) for row in run(database, "trajectory_names").rows]
        _refuse_unlogged(database, study, name, names)
        name = _meant(names, name, study, "trajectories")
        trajectory = read_logged(database, name)
        found = analyse(name, trajectory)
    return Seen(name, record, trajectory, found.events, _verdicts(study, name))


def _refuse_unlogged(database: Path, study: Path, name: str, runs: Sequence[str]) -> None:
    """Say what became of a trial that left no run, where one is meant and none of the `runs`."""
    rows = run(database, "observed_trials").records()
    lost = {str(row["trial"]): row for row in rows if not row["logged"]}
    begun = [trial for trial in lost if trial.startswith(name)]
    if name in lost or (begun and not any(one.startswith(name) for one in runs)):
        trial = _meant(begun, name, study, "observed_trials")
        raise StudyError(
            f"trial {trial!r} left no log that could be read ({lost[trial]['reason']}); see:"
            f" skilljuror query {quote(str(study))} observed_trials",
            file=str(lost[trial]["source"]),
        )


def _meant(names: Sequence[str], name: str, study: Path, what: str) -> str:
    """The one of `names` that is meant; `what` they are is a named question as well."""
    begun = [one for one in names if one.startswith(name)]
    if name in names or len(begun) == 1:
        return name if name in names else begun[0]
    listing = f"list them: skilljuror query {quote(str(study))} {what}"
    if begun:
        shown = ", ".join(begun[:SHOWN]) + (" …" if len(begun) > SHOWN else "")
        said = f"{len(begun)} {what} begin with {name!r}: {shown}; name one in full, or {listing}"
    else:
        near = " or ".join(map(repr, get_close_matches(name, names, n=SHOWN)))
        guess = f"; did you mean {near}?" if near else ";"
        said = f"none of the {len(names)} {what} in {str(study)!r} is {name!r}{guess} {listing}"
    raise StudyError(said, file=str(study))


def _verdicts(study: Path, name: str) -> tuple[Verdict, ...]:
    if not StudyFolder(study).database.is_file():
        return ()
    result = run(StudyFolder(study).database, "verdicts_of", trial=name)
    rows: list[dict[str, Any]] = [
        dict(zip(result.columns, row, strict=True)) for row in result.rows
    ]
    return tuple(Verdict(**row) for row in rows)

"""Reading a study: its database, one run with all that is known of it, and its report."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct

from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder
from skilljuror.harnesses.verifier_output import verifier_output
from skilljuror.judge.effects import effects
from skilljuror.models.events import ResourceEvent, SkillManifest
from skilljuror.models.measure import LocalEffect, Verdict
from skilljuror.models.study import TrialRecord
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.ingestion.analysis import analyse
from skilljuror.pipeline.ingestion.logs import logged_runs, read_logged
from skilljuror.pipeline.ingestion.quotes import (
    keeps_quotes,
    unquoted_effect,
    unquoted_event,
    unquoted_verdict,
    without_texts,
)
from skilljuror.pipeline.ingestion.trials import read_trial
from skilljuror.pipeline.workers import Listener, Progress, silent
from skilljuror.queries.run import run

if TYPE_CHECKING:
    from skilljuror.reports.build import ReportSummary

VERIFIER_BYTES = 65_536
"""Most that is shown of what a verifier printed."""
SUGGESTIONS = 4
"""Most names that an error suggests."""


class RunDetails(Struct, frozen=True):
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
    effects: tuple[LocalEffect, ...] = ()
    """What came of its calls."""
    verifier: str | None = None
    """The end of what the trial's verifier printed; None for foreign logs and where it left nothing."""
    manifest: SkillManifest | None = None
    """What the trial offered; None for foreign logs and where nobody knows."""


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


def look_up(study: Path, name: str) -> RunDetails:
    """One trial of a study, or one run of ingested logs; `name` may be a unique beginning.

    Raises StudyError that guesses at what was meant.
    """
    verifier, manifest = None, None
    if StudyFolder(study).planned:
        name = _full_name(StudyFolder(study).finished_trials(), name, study, "trials")
        trial = read_trial(study, name)
        record, trajectory, manifest = trial.record, trial.trajectory, trial.manifest
        analysis = analyse(name, trajectory, record, manifest, trial.units)
        verifier = verifier_output(StudyFolder(study).trial_raw(name), VERIFIER_BYTES)
    else:
        record = None
        database = database_of(study)
        names = [str(row[0]) for row in run(database, "trajectory_names").rows]
        _refuse_unlogged(database, study, name, names)
        name = _full_name(names, name, study, "trajectories")
        trajectory = read_logged(logged_runs(database, [name])[name])
        analysis = analyse(name, trajectory)
    verdicts = _verdicts(study, name)
    came = tuple(effects(name, trajectory, analysis.events)) if trajectory else ()
    details = RunDetails(
        name, record, trajectory, analysis.events, verdicts, came, verifier, manifest
    )
    return details if keeps_quotes(study) else _without_quotes(details)


def _without_quotes(details: RunDetails) -> RunDetails:
    trajectory = details.trajectory and without_texts(details.trajectory)
    events = tuple(map(unquoted_event, details.events))
    verdicts = tuple(map(unquoted_verdict, details.verdicts))
    came = tuple(map(unquoted_effect, details.effects))
    return RunDetails(details.name, details.record, trajectory, events, verdicts, came)


def _refuse_unlogged(database: Path, study: Path, name: str, runs: Sequence[str]) -> None:
    """Raise StudyError that says what became of a trial without a run, where `name` means one and none
    of the `runs`."""
    rows = run(database, "observed_trials").records()
    unlogged = {str(row["trial"]): row for row in rows if not row["logged"]}
    matching = [trial for trial in unlogged if trial.startswith(name)]
    if name in unlogged or (matching and not any(one.startswith(name) for one in runs)):
        trial = _full_name(matching, name, study, "observed_trials")
        raise StudyError(
            f"trial {trial!r} left no log that could be read ({unlogged[trial]['reason']}); see:"
            f" skilljuror query {quote(str(study))} observed_trials",
            file=str(unlogged[trial]["source"]),
        )


def _full_name(names: Sequence[str], name: str, study: Path, what: str) -> str:
    """The one of `names` that `name` is, or is the only beginning of. Raises StudyError with suggestions;
    `what` they are is also the question that lists them."""
    matching = [full for full in names if full.startswith(name)]
    if name in names or len(matching) == 1:
        return name if name in names else matching[0]
    listing = f"list them: skilljuror query {quote(str(study))} {what}"
    if matching:
        shown = ", ".join(matching[:SUGGESTIONS]) + (" …" if len(matching) > SUGGESTIONS else "")
        message = (
            f"{len(matching)} {what} begin with {name!r}: {shown}; name one in full, or {listing}"
        )
    else:
        near = " or ".join(map(repr, get_close_matches(name, names, n=SUGGESTIONS)))
        guess = f"; did you mean {near}?" if near else ";"
        message = f"none of the {len(names)} {what} in {str(study)!r} is {name!r}{guess} {listing}"
    raise StudyError(message, file=str(study))


def _verdicts(study: Path, name: str) -> tuple[Verdict, ...]:
    if not StudyFolder(study).database.is_file():
        return ()
    rows = run(StudyFolder(study).database, "verdicts_of", trial=name).records()
    return tuple(Verdict(**row) for row in rows)


def report_study(
    study: Path, target: Path | None = None, *, quotes: bool = True, progress: Listener = silent
) -> "ReportSummary":
    """Write report.html with its tables and figures; the default place is STUDY/report."""
    from skilljuror.reports.build import build_report  # nothing else here needs its templates

    progress(Progress("report", 0, 1))
    summary = build_report(database_of(study), target or StudyFolder(study).report, quotes=quotes)
    progress(Progress("report", 1, 1))
    return summary

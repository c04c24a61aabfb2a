"""A study's own trials: reading one again, and all of them into the database."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.errors import StudyError, TrajectoryError
from skilljuror.files import StudyFolder, path_text, read_record, read_rows
from skilljuror.models.events import SkillManifest
from skilljuror.models.ingest import SourceRow
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.review import Acceptance
from skilljuror.models.study import StudyPlan, TrialRecord
from skilljuror.models.task_attribute import JudgedAttribute
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers.base import FoundSource, LogKind
from skilljuror.parsers.discovery.find_logs import discover
from skilljuror.parsers.read import parser, read
from skilljuror.pipeline.construction.given_skills import (
    given_manifests,
    given_rows,
    units_of_given,
)
from skilljuror.pipeline.construction.manifests import offered_by, units_of_build
from skilljuror.pipeline.construction.stored_builds import read_builds
from skilljuror.pipeline.ingestion.analysis import (
    NOTHING_FURTHER,
    MeasureOptions,
    analyse,
    definition_rows,
    size_of,
)
from skilljuror.pipeline.ingestion.contamination import search_leaks
from skilljuror.pipeline.ingestion.quotes import settled_quotes, without_quotes
from skilljuror.pipeline.ingestion.rows import unread_row
from skilljuror.pipeline.ingestion.summary import IngestCounter, IngestSummary, batches
from skilljuror.pipeline.ingestion.token_counts import refuse_estimates
from skilljuror.pipeline.review_rows import AcceptedTrials, label_rows, sampled_uses
from skilljuror.pipeline.workers import Listener, Progress, map_ordered, silent
from skilljuror.prices import with_packaged
from skilljuror.store import Store, open_write
from skilljuror.store.replacement import database_to_fill
from skilljuror.store.runs import RunColumns, run_columns
from skilljuror.work import TooMuchWork, allowed_work


class ReadTrial(Struct, frozen=True):
    """A trial as read back from its folder."""

    record: TrialRecord
    """Its record."""
    manifest: SkillManifest | None
    """What it offered; None where nobody knows."""
    units: tuple[MappedUnit, ...]
    """The knowledge map of what it offered; empty for the no-skill arm."""
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
    if not record.trial == f"{record.task}__{record.condition}__{record.number}" == trial:
        raise StudyError(
            f"{str(path)!r}: says that it is trial {record.trial!r}, number {record.number} of task"
            f" {record.task!r} under {record.condition!r}, and lies in the folder of {trial!r};"
            " restore it, or move the folder away and run again",
            file=str(path),
            field="trial",
        )
    manifest = offered_by(folder, record)
    units = _units_offered(folder, record)
    trajectory, sources = _read_log(_logs(folder.trial_raw(trial), record), trial)
    return ReadTrial(record, manifest, units, trajectory, sources)


def _units_offered(folder: StudyFolder, record: TrialRecord) -> tuple[MappedUnit, ...]:
    """The knowledge map of what a trial offered; empty for no Skill."""
    if record.variant is None:
        return ()
    offered = folder.offered(record.task, record.variant)
    if offered.parent.parent == folder.given:
        return units_of_given(offered, record.variant)
    return units_of_build(folder.build(record.task))


def trajectory_of(raw: Path, record: TrialRecord) -> Trajectory | None:
    """The log that an attempt left among its raw artifacts; None when there is none that can be read."""
    return _read_log(_logs(raw, record), record.trial)[0]


def _logs(raw: Path, record: TrialRecord) -> Path:
    whole = record.harness == "harbor"  # its result completes what the log says
    return raw if whole else raw / "agent"


def _read_log(logs: Path, trial: str) -> tuple[Trajectory | None, tuple[SourceRow, ...]]:
    """The most native capture that can be read; the rest are rows with their reason."""
    if (problem := _missing(logs)) is not None:
        return None, (SourceRow(path_text(logs), "error", reason=problem),)
    rows: list[SourceRow] = []
    chosen: Trajectory | None = None
    for found in sorted(discover([logs]), key=_precedence):
        path = path_text(found.source.path)
        if found.format is None:
            rows.append(unread_row(found))
        elif chosen is not None:
            rows.append(SourceRow(path, "duplicate", found.format, "a more native log was read"))
        else:
            chosen, row = _read_first_run(found, trial)
            rows.append(row)
    return chosen, tuple(rows)


def _missing(logs: Path) -> str | None:
    """Why there is no folder of logs; None where there is one."""
    try:
        return None if logs.is_dir() else "the trial left no agent folder"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _precedence(found: FoundSource) -> tuple[int, str]:
    """Nearest to the agent first; what cannot be read, last."""
    kind = len(LogKind) if found.format is None else parser(found.format).kind
    return kind, str(found.source.path)


def _read_first_run(found: FoundSource, trial: str) -> tuple[Trajectory | None, SourceRow]:
    path, name = path_text(found.source.path), found.format or ""
    try:
        first = next(iter(read(found.source, name)), None)
    except TrajectoryError as error:
        return None, SourceRow(path, "error", name, error.message, found.size)
    if first is None:
        return None, SourceRow(path, "error", name, "it holds no run", found.size)
    return replace(first, trajectory=trial), SourceRow(path, "parsed", name, None, found.size)


def _read_attempts(
    folder: StudyFolder,
) -> tuple[list[tuple[int, TrialRecord]], list[Acceptance], list[SourceRow]]:
    """Earlier attempts with their numbers, what people took as final, and the records that are damaged."""
    attempts: list[tuple[int, TrialRecord]] = []
    acceptances: list[Acceptance] = []
    refused = []
    for trial, number in folder.earlier_attempts():
        path = folder.attempt(trial, number) / "trial.json"
        try:
            attempts.append((number, read_record(TrialRecord, path)))
        except StudyError as error:
            refused.append(SourceRow(path_text(path), "error", reason=error.message))
    accepted = AcceptedTrials(folder)
    for trial in folder.finished_trials():
        try:
            acceptances += filter(None, [accepted.of(trial)])
        except StudyError as error:
            path = folder.acceptance(trial)
            refused.append(SourceRow(path_text(path), "error", reason=error.message))
    return attempts, acceptances, refused


class _TrialJob(Struct, frozen=True):
    study: Path
    trial: str
    planned: bool
    options: MeasureOptions


class _TrialRows(Struct, frozen=True):
    trial: str
    record: TrialRecord | None
    """None for a trial whose record is refused: the one row of `sources` says why."""
    sources: tuple[SourceRow, ...]
    runs: RunColumns


def ingest_trials(
    study: Path,
    *,
    options: MeasureOptions = NOTHING_FURTHER,
    jobs: int = 1,
    progress: Listener = silent,
) -> IngestSummary:
    """Everything a study's folder holds into its database; doing it again changes nothing.

    A record that is damaged, or of a trial that the plan does not name, is refused: a row of `sources`
    says why. `options` says what is measured beside what the study file asks for. Raises UsageError
    for a metric that is none.
    """
    if options.count_tokens:
        refuse_estimates()
    folder = StudyFolder.existing(study)
    plan = read_record(StudyPlan, folder.plan_file)
    metrics = tuple(dict.fromkeys([*plan.config.metrics, *options.metrics]))
    definitions = definition_rows(metrics)
    own = replace(options, metrics=metrics, prices=with_packaged(plan.config.prices))
    options = settled_quotes(study, own)
    planned = {trial.trial for trial in plan.trials}
    work = [
        _TrialJob(study, trial, trial in planned, options) for trial in folder.finished_trials()
    ]
    counter = IngestCounter()
    with database_to_fill(folder.database) as database, open_write(database) as store:
        remade = database != folder.database and folder.database.exists()
        trials, paths = store.trials(), store.sources()
        store.forget_trials(sorted(trials - {job.trial for job in work}))
        store.put_plan(plan)
        store.put_attributes(plan, read_rows(JudgedAttribute, folder.task_attributes))
        attempts, acceptances, refused = _read_attempts(folder)
        store.put_attempts(attempts, acceptances)
        store.put_labels(label_rows(folder))
        store.put_label_sample(sampled_uses(folder))
        store.put_sources(refused)
        counter.add_sources(refused)
        paths -= {row.path for row in refused}
        store.put_metrics(definitions)
        names = [task.name for task in plan.tasks] + [one.name for one in plan.excluded]
        store.put_builds(read_builds(folder.builds, names), given_manifests(folder, names))
        store.put_given(given_rows(folder, plan))
        done = 0
        for batch in batches(map_ordered(_analyse_trial, work, jobs)):
            paths -= _store_trials(store, counter, [rows for _, rows in batch])
            done += len(batch)
            progress(Progress("ingest", done, len(work), batch[-1][0].trial))
        store.forget((), sorted(paths))
    return counter.summary(remade=remade)


def _store_trials(store: Store, counter: IngestCounter, rows: Sequence[_TrialRows]) -> set[str]:
    """Store trials, and forget those that are refused; the paths of their files."""
    kept = [row.record for row in rows if row.record is not None]
    store.forget_trials([row.trial for row in rows if row.record is None])
    store.forget([row.trial for row in rows if not row.runs["trajectories"]["trajectory"]])
    store.put_trials(kept)
    sources = [source for row in rows for source in row.sources]
    store.put_sources(sources)
    store.put_runs(row.runs for row in rows)
    counter.trials += len(kept)
    counter.add_sources(sources)
    for row in rows:
        counter.add_runs(row.runs)
    return {source.path for source in sources}


def _analyse_trial(job: _TrialJob) -> _TrialRows:
    try:
        trial = _planned_trial(job)
    except StudyError as error:
        path = path_text(StudyFolder(job.study).trial_record(job.trial))
        refused = SourceRow(path, "error", reason=error.message)
        return _TrialRows(job.trial, None, (refused,), run_columns([]))
    run, sources = trial.trajectory, trial.sources
    try:
        with allowed_work(size_of(run.files) if run else 0):
            found = analyse(
                job.trial, run, trial.record, trial.manifest, trial.units, options=job.options
            )
    except TooMuchWork as error:
        found = analyse(job.trial, None, trial.record, trial.manifest, options=job.options)
        sources = tuple([
            replace(row, status="error", reason=error.message) if row.status == "parsed" else row
            for row in sources
        ])
    if run is not None:
        leaks = search_leaks(job.study, trial.record.task, trial.record.variant, run)
        found = replace(found, leaks=leaks)
    if not job.options.quotes:
        found = without_quotes(found)
    return _TrialRows(job.trial, trial.record, sources, run_columns([found]))


def _planned_trial(job: _TrialJob) -> ReadTrial:
    if not job.planned:
        raise StudyError(f"the plan names no trial {job.trial!r}; move its folder away")
    return read_trial(job.study, job.trial)

"""A study's own trials: read one again, or ingest all."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import StudyError, TrajectoryError
from skilljuror.base.files import StudyFolder, path_text, read_record, read_rows
from skilljuror.base.item_rows import item_results
from skilljuror.base.results import CheckResult, Generation, SourceRow
from skilljuror.base.review import Acceptance, JudgedAttribute
from skilljuror.base.review_rows import AcceptedTrials, code_rows, label_rows, sampled_uses
from skilljuror.base.skill import MappedUnit
from skilljuror.base.study import StudyPlan, TrialRecord
from skilljuror.base.texts import with_packaged
from skilljuror.base.trajectory import SkillManifest, Trajectory
from skilljuror.base.work_budget import WorkBudgetExceeded, work_budget
from skilljuror.base.workers import Listener, Progress, map_ordered, silent, workers_for
from skilljuror.harness.artifacts import WORK
from skilljuror.harness.rewards import read_reward
from skilljuror.harness.study_leaks import study_leaks
from skilljuror.layouts.build.given_skills import (
    given_manifests,
    given_rows,
    units_of_given,
)
from skilljuror.layouts.build.manifests import offered_by, units_of_build
from skilljuror.logs.base import FoundSource, LogKind
from skilljuror.logs.discovery.find_logs import discover
from skilljuror.logs.read import parser, read
from skilljuror.store import Store, open_write
from skilljuror.store.ingest.analysis import (
    NOTHING_FURTHER,
    MeasureOptions,
    analyse,
    definition_rows,
    size_of,
)
from skilljuror.store.ingest.checks import read_checks
from skilljuror.store.ingest.contamination import search_leaks
from skilljuror.store.ingest.logs import NO_RUN
from skilljuror.store.ingest.quotes import resolve_quotes, without_quotes
from skilljuror.store.ingest.rows import part_rows, unread_row
from skilljuror.store.ingest.skill_units import unit_rows
from skilljuror.store.ingest.summary import IngestCounter, IngestSummary, batches
from skilljuror.store.questions.run import run as ask
from skilljuror.store.replacement import database_to_fill
from skilljuror.store.runs import RunColumns, run_columns
from skilljuror.store.stored_builds import read_builds


class ReadTrial(Struct, frozen=True):
    """A trial read from its folder."""

    record: TrialRecord
    manifest: SkillManifest | None
    """Skills that it offered; None if unknown."""
    units: tuple[MappedUnit, ...]
    """Knowledge map of the offered variant; empty without a Skill."""
    trajectory: Trajectory | None
    """Its log; None without a readable one."""
    sources: tuple[SourceRow, ...]
    """Every file examined, with its status."""


def read_trial_record(folder: StudyFolder, trial: str) -> TrialRecord:
    """Return the record of a finished trial. Raises StudyError if it is missing, belongs to another
    trial, or contradicts its verifier's output."""
    path = folder.trial_record(trial)
    if not path.is_file():
        raise StudyError(f"no finished trial {trial!r} in {str(folder.root)!r}", file=str(path))
    record = read_record(TrialRecord, path)
    if not record.trial == f"{record.task}__{record.condition}__{record.number}" == trial:
        raise StudyError(
            f"{str(path)!r}: the record is of trial {record.trial!r} (task {record.task!r}, condition"
            f" {record.condition!r}, number {record.number}), but its folder is {trial!r}; restore it,"
            " or move the folder away and rerun",
            file=str(path),
            field="trial",
        )
    _refuse_other_reward(record, folder.trial_raw(trial), path)
    return record


def _refuse_other_reward(record: TrialRecord, raw: Path, path: Path) -> None:
    """Raise StudyError if a record's reward differs from raw/verifier. Steps of a multi-step task
    each have a reward; missing or unreadable files contradict nothing."""
    try:
        if (raw / "steps").is_dir():
            return
    except PermissionError:
        return
    verified = read_reward(raw / "verifier")
    if verified.value is None or record.reward == verified.value:
        return
    if record.rewards == verified.rewards and record.reward in {None, *verified.rewards.values()}:
        return  # an invalid reward, or in an adopted trial another of several
    raise StudyError(
        f"{str(path)!r}: reward is {record.reward}, but the verifier's file in"
        f" {str(raw / 'verifier')!r} says {verified.value:g}; restore both, or move the trial's folder"
        " away and rerun",
        file=str(path),
        field="reward",
    )


def read_trial(study: Path, trial: str) -> ReadTrial:
    """Read one finished trial. Raises StudyError if it is missing or its record is rejected."""
    folder = StudyFolder(study)
    record = read_trial_record(folder, trial)
    manifest = offered_by(folder, record)
    units = _units_offered(folder, record)
    trajectory, sources = _read_log(_logs(folder.trial_raw(trial), record), trial)
    return ReadTrial(record, manifest, units, trajectory, sources)


def _units_offered(folder: StudyFolder, record: TrialRecord) -> tuple[MappedUnit, ...]:
    """Knowledge map of the trial's variant; empty without a Skill."""
    if record.variant is None:
        return ()
    offered = folder.offered(record.task, record.variant)
    if offered.parent.parent == folder.given:
        return units_of_given(offered, record.variant)
    return units_of_build(folder.build(record.task))


def log_of(raw: Path, record: TrialRecord) -> tuple[Trajectory | None, list[str]]:
    """Return the log among an attempt's raw artifacts (None without a readable one), and why
    supported logs cannot be read."""
    run, sources = _read_log(_logs(raw, record), record.trial)
    failed = (row for row in sources if row.format and row.status == "error")
    return run, [str(row.reason) for row in failed if row.reason != NO_RUN]


def fault_in_output(raw: Path) -> str | None:
    """Return the provider's fault at the end of an attempt's output, which holds retries that the log of
    some agents omits; None without one."""
    streams = [
        found
        for found in discover([raw])
        if found.format
        and parser(found.format).kind is LogKind.STREAM
        and not found.source.path.is_relative_to(raw / WORK)
    ]
    runs = (_read_first_run(found, "")[0] for found in streams)
    return next((run.fault for run in runs if run and run.fault), None)


def _logs(raw: Path, record: TrialRecord) -> Path:
    whole = record.harness == "harbor"  # its result completes the log's metadata
    return raw if whole else raw / "agent"


def _read_log(logs: Path, trial: str) -> tuple[Trajectory | None, tuple[SourceRow, ...]]:
    """Read the most native readable capture; the rest become rows with their reason."""
    if (problem := _missing(logs)) is not None:
        return None, (SourceRow(path_text(logs), "error", reason=problem),)
    rows: list[SourceRow] = []
    chosen: Trajectory | None = None
    for found in sorted(discover([logs]), key=_precedence):
        path = path_text(found.source.path)
        rows.extend(part_rows(found))
        if found.format is None:
            rows.append(unread_row(found))
        elif chosen is not None:
            rows.append(SourceRow(path, "duplicate", found.format, "a more native log was read"))
        else:
            chosen, row = _read_first_run(found, trial)
            rows.append(row)
    return chosen, tuple(rows)


def _missing(logs: Path) -> str | None:
    """Why the folder of logs is missing, or None."""
    try:
        return None if logs.is_dir() else "the trial has no agent folder"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _precedence(found: FoundSource) -> tuple[int, str]:
    """Most native first; unsupported files last."""
    kind = len(LogKind) if found.format is None else parser(found.format).kind
    return kind, str(found.source.path)


def _read_first_run(found: FoundSource, trial: str) -> tuple[Trajectory | None, SourceRow]:
    path, name = path_text(found.source.path), found.format or ""
    try:
        first = next(iter(read(found.source, name)), None)
    except TrajectoryError as error:
        return None, SourceRow(path, "error", name, error.message, found.size)
    if first is None:
        return None, SourceRow(path, "error", name, NO_RUN, found.size)
    return replace(first, trajectory=trial), SourceRow(path, "parsed", name, None, found.size)


def _read_attempts(
    folder: StudyFolder,
) -> tuple[list[tuple[int, TrialRecord]], list[Acceptance], list[SourceRow]]:
    """Return earlier attempts with their numbers, results accepted by people, and damaged records."""
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
    """None for a trial whose record is rejected; its only `sources` row has the reason."""
    sources: tuple[SourceRow, ...]
    runs: RunColumns
    checks: tuple[CheckResult, ...] = ()


def ingest_trials(
    study: Path,
    *,
    options: MeasureOptions = NOTHING_FURTHER,
    jobs: int = 1,
    progress: Listener = silent,
) -> IngestSummary:
    """Ingest a study's folder; repeating it changes nothing.

    A record that is damaged, or whose trial is not in the plan, is rejected with a row in
    `sources`. `options` adds measures to those in the study file. Raises UsageError for an invalid
    metric.
    """
    folder = StudyFolder.existing(study)
    plan = read_record(StudyPlan, folder.plan_file)
    metrics = tuple(dict.fromkeys([*plan.config.metrics, *options.metrics]))
    definitions = definition_rows(metrics)
    own = replace(options, metrics=metrics, prices=with_packaged(plan.config.prices))
    options = resolve_quotes(study, own)
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
        store.put_codes(code_rows(folder))
        store.put_label_sample(sampled_uses(folder))
        store.put_sources(refused)
        counter.add_sources(refused)
        paths -= {row.path for row in refused}
        store.put_metrics(definitions)
        names = [task.name for task in plan.tasks] + [one.name for one in plan.excluded]
        store.put_builds(read_builds(folder.builds, names), given_manifests(folder, names))
        store.put_given(given_rows(folder, plan))
        store.put_generations(read_rows(Generation, folder.generation))
        store.put_skill_leaks(study_leaks(folder))
        store.put_units(*unit_rows(folder, names))
        done = 0
        for batch in batches(map_ordered(_analyse_trial, work, workers_for(work, jobs))):
            paths -= _store_trials(store, counter, [rows for _, rows in batch])
            done += len(batch)
            progress(Progress("ingest", done, len(work), batch[-1][0].trial))
        store.forget((), sorted(paths))
        store.put_items(item_results(folder))
    return counter.summary(remade=remade)


def contaminations_of(study: Path, record: TrialRecord) -> list[tuple[str, str]]:
    """Return (flag, detail) of a finished trial alone, as ingest finds them."""
    folder, names = StudyFolder(study), [record.task]
    with TemporaryDirectory() as place:
        database = Path(place) / "study.duckdb"
        with open_write(database) as store:
            store.put_plan(read_record(StudyPlan, folder.plan_file))
            store.put_builds(read_builds(folder.builds, names), given_manifests(folder, names))
            rows = _analyse_trial(_TrialJob(study, record.trial, True, NOTHING_FURTHER))
            _store_trials(store, IngestCounter(), [rows])
        found = ask(database, "SELECT flag, detail FROM contaminations ORDER BY ALL").rows
    return [(flag, detail) for flag, detail in found]


def _store_trials(store: Store, counter: IngestCounter, rows: Sequence[_TrialRows]) -> set[str]:
    """Store trials, and remove rejected ones; return the paths of their files."""
    kept = [row.record for row in rows if row.record is not None]
    store.forget_trials([row.trial for row in rows if row.record is None])
    store.forget([row.trial for row in rows if not row.runs["trajectories"]["trajectory"]])
    store.put_trials(kept)
    store.put_checks([row.trial for row in rows], [one for row in rows for one in row.checks])
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
        with work_budget(size_of(run.files) if run else 0):
            found = analyse(
                job.trial, run, trial.record, trial.manifest, trial.units, options=job.options
            )
    except WorkBudgetExceeded as error:
        found = analyse(job.trial, None, trial.record, trial.manifest, options=job.options)
        sources = tuple([
            replace(row, status="error", reason=error.message) if row.status == "parsed" else row
            for row in sources
        ])
    if run is not None:
        leaks = search_leaks(job.study, trial.record.task, trial.record.variant, run)
        found = replace(found, leaks=leaks)
    checks, reports = read_checks(StudyFolder(job.study).trial_raw(job.trial), job.trial)
    if not job.options.quotes:
        found = without_quotes(found)
        checks = tuple([replace(check, said=None) for check in checks])
    sources = (*sources, *reports)
    return _TrialRows(job.trial, trial.record, sources, run_columns([found]), checks)


def _planned_trial(job: _TrialJob) -> ReadTrial:
    if not job.planned:
        raise StudyError(f"trial {job.trial!r} is not in the plan; move its folder away")
    return read_trial(job.study, job.trial)

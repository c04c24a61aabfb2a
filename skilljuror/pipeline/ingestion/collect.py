"""A study's own trials into its database."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from skilljuror.files import StudyFolder, read_record
from skilljuror.models.ingest import SourceRow
from skilljuror.models.study import StudyPlan, TrialRecord
from skilljuror.pipeline.construction.builds import read_builds
from skilljuror.pipeline.ingestion.analysis import analyse
from skilljuror.pipeline.ingestion.counting import refuse_estimates
from skilljuror.pipeline.ingestion.intake import IngestSummary, Tally, batches
from skilljuror.pipeline.ingestion.trials import read_trial
from skilljuror.pipeline.workers import Listener, Progress, map_ordered, silent
from skilljuror.store import Store, open_write
from skilljuror.store.runs import RunColumns, run_columns


class _TrialJob(Struct, frozen=True):
    study: Path
    trial: str
    count_tokens: bool


class _TrialRows(Struct, frozen=True):
    record: TrialRecord
    sources: tuple[SourceRow, ...]
    runs: RunColumns


def ingest_trials(
    study: Path, *, jobs: int = 1, count_tokens: bool = False, progress: Listener = silent
) -> IngestSummary:
    """Everything a study's folder holds into its database; doing it again changes nothing.

    `count_tokens` counts the tokens of every step exactly; without it, that share is null.
    """
    if count_tokens:
        refuse_estimates()
    folder = StudyFolder.existing(study)
    plan = read_record(StudyPlan, folder.plan_file)
    work = [_TrialJob(study, trial, count_tokens) for trial in folder.finished_trials()]
    tally = Tally()
    with open_write(folder.database, grow=True) as store:
        trials, paths = store.trials(), store.sources()
        store.forget_trials(sorted(trials - {job.trial for job in work}))
        store.put_plan(plan)
        store.put_builds(read_builds(folder.builds, [task.name for task in plan.tasks]))
        done = 0
        for batch in batches(map_ordered(_read_trial, work, jobs)):
            paths -= _put_trials(store, tally, [rows for _, rows in batch])
            done += len(batch)
            progress(Progress("ingest", done, len(work), batch[-1][0].trial))
        store.forget((), sorted(paths))
        store.read_again()
    return tally.summary()


def _put_trials(store: Store, tally: Tally, rows: Sequence[_TrialRows]) -> set[str]:
    """Put trials; the paths of their files."""
    store.forget([row.record.trial for row in rows if not row.runs["trajectories"]["trajectory"]])
    store.put_trials([row.record for row in rows])
    sources = [source for row in rows for source in row.sources]
    store.put_sources(sources)
    store.put_runs(row.runs for row in rows)
    tally.trials += len(rows)
    tally.sources(sources)
    for row in rows:
        tally.runs(row.runs)
    return {source.path for source in sources}


def _read_trial(job: _TrialJob) -> _TrialRows:
    trial = read_trial(job.study, job.trial)
    found = analyse(
        job.trial, trial.trajectory, trial.record, trial.manifest, trial.units,
        count_tokens=job.count_tokens,
    )  # fmt: skip
    return _TrialRows(trial.record, trial.sources, run_columns([found]))

"""In which order trials run, how many at a time, and until when."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from skilljuror.harnesses.base import BatchHarness, TrialJob
from skilljuror.models.study import Budget, TrialRecord
from skilljuror.pipeline.execution.batches import run_in_batch
from skilljuror.pipeline.execution.budget import Spending
from skilljuror.pipeline.execution.study_run import StudyRun
from skilljuror.pipeline.execution.trial import RunSetup, run_trial, stop_trial
from skilljuror.pipeline.workers import Progress, worker_pool
from skilljuror.prices import with_packaged


def run_all(run: StudyRun, setup: RunSetup, pending: list[TrialJob], jobs: int) -> None:
    """Run trials in order, `jobs` at a time, as long as the budget lasts: in workers handed one by one, or
    block by block as their harness does."""
    planned = len(run.plan.trials)
    before = planned - len(pending)
    run.listener(Progress("run", before, planned))
    spent = Spending(run.folder, run.plan.config.budget, with_packaged(run.plan.config.prices))
    if isinstance(run.harness, BatchHarness):
        _tell(run, spent, before, _batches(run, setup, spent, pending, jobs))
        return
    with worker_pool(min(jobs, len(pending)) or 1, stop=stop_trial, in_process=False) as pool:
        work = partial(run_trial, setup)
        results = pool.map_unordered(work, spent.affordable(pending), queued=1)
        _tell(run, spent, before, (record for _, record in results))


def _batches(
    run: StudyRun, setup: RunSetup, spent: Spending, pending: list[TrialJob], jobs: int
) -> Iterator[TrialRecord]:
    """All in one batch; under a budget, a batch for each block, after which it may be reached."""

    def heard(ended: int) -> None:
        done = len(run.folder.finished_trials())
        note = f"{ended} more ended, in jobs under way"
        run.listener(Progress("run", done, len(run.plan.trials), note))

    assert isinstance(run.harness, BatchHarness)
    blocks = [pending]
    if run.plan.config.budget != Budget():
        blocks = [list(block) for _, block in groupby(pending, lambda job: job.trial.block)]
    for batch in spent.affordable(blocks):
        yield from run_in_batch(run.harness, setup, batch, jobs=jobs, heard=heard)


def _tell(run: StudyRun, spent: Spending, before: int, records: Iterable[TrialRecord]) -> None:
    for done, record in enumerate(records, before + 1):
        spent.count(record.trial)
        note = f"{record.trial}: {record.status}"
        run.listener(Progress("run", done, len(run.plan.trials), note))

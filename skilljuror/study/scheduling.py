"""Schedule trials: order, parallelism, and when to stop."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import groupby
from math import ceil
from statistics import median

from skilljuror.base.errors import HarnessError
from skilljuror.base.study import NO_VERIFIER, Budget, TrialRecord
from skilljuror.base.texts import with_packaged
from skilljuror.base.workers import Progress, worker_pool
from skilljuror.harness.base import BatchHarness, TrialJob
from skilljuror.study.batches import run_in_batch, save_stopped
from skilljuror.study.budget import Spending
from skilljuror.study.listings import FirstListings
from skilljuror.study.study_builds import StudyRun
from skilljuror.study.trial import RunSetup, run_trial, stop_trial


def run_all(
    run: StudyRun, setup: RunSetup, pending: list[TrialJob], jobs: int, planned: int
) -> None:
    """Run those of `planned` trials that are pending, in order, `jobs` at a time, within the budget, in
    workers or in a harness's batches.

    Raises HarnessError after `stop_after_unanswered` trials in a row without a model answer.
    """
    before = planned - len(pending)
    run.listener(Progress("run", before, planned))
    if isinstance(run.harness, BatchHarness):
        save_stopped(run.harness, setup, pending)
    spent = Spending(run.folder, run.plan.config.budget, with_packaged(run.plan.config.prices))
    report = partial(_report, run, spent, jobs, (before, planned))
    if isinstance(run.harness, BatchHarness):
        report(_batches(run, setup, spent, pending, jobs))
        return
    ended = _stop_rules(run)
    with worker_pool(min(jobs, len(pending)) or 1, stop=stop_trial, in_process=False) as pool:
        work = partial(run_trial, setup)
        results = pool.map_unordered(work, spent.affordable(pending), queued=1)
        counted = _counted(ended, (record for _, record in results))
        report(counted)


class _Unanswered:
    """Counts trials in a row without a model answer or a log."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._row: dict[str, TrialRecord] = {}

    def count(self, record: TrialRecord) -> None:
        """Count an attempt. Raises HarnessError at the limit."""
        if record.reason in {None, NO_VERIFIER}:
            self._row.clear()
            return
        self._row[record.trial] = record
        if len(self._row) < self._limit:
            return
        ends = ",".join(sorted({one.end for one in self._row.values()}))
        raise HarnessError(
            f"the run stopped: {len(self._row)} trials in a row (stop_after_unanswered) have no model"
            f" answer; the last one, {record.trial!r}: {record.message}. Check the model's server, its key"
            f" and the agent, then resume with --rerun {ends}",
            field="stop_after_unanswered",
        )


def _batches(
    run: StudyRun, setup: RunSetup, spent: Spending, pending: list[TrialJob], jobs: int
) -> Iterator[TrialRecord]:
    """Run all trials in one batch, or with a budget in one batch per block."""
    assert isinstance(run.harness, BatchHarness)
    blocks = [pending]
    if run.plan.config.budget != Budget():
        blocks = [list(block) for _, block in groupby(pending, lambda job: job.trial.block)]
    ended = _stop_rules(run)
    for batch in spent.affordable(blocks):
        yield from run_in_batch(run.harness, setup, batch, jobs=jobs, ended=ended)


def _stop_rules(run: StudyRun) -> Callable[[TrialRecord], None]:
    """What to call after every attempt; it raises HarnessError to stop the run."""
    rules = (
        _Unanswered(run.plan.config.stop_after_unanswered).count,
        FirstListings(run.folder).compare,
    )

    def ended(record: TrialRecord) -> None:
        for rule in rules:
            rule(record)

    return ended


def _counted(
    ended: Callable[[TrialRecord], None], records: Iterable[TrialRecord]
) -> Iterator[TrialRecord]:
    for record in records:
        yield record
        ended(record)


def _report(
    run: StudyRun,
    spent: Spending,
    jobs: int,
    counts: tuple[int, int],
    records: Iterable[TrialRecord],
) -> None:
    """Report every trial after the `counts` of those before and planned, with the time that those left take
    if each takes the median."""
    (before, planned), known = counts, list[float]()
    for done, record in enumerate(records, before + 1):
        spent.count(record.trial)
        known += _seconds(record)
        rounds = ceil((planned - done) / jobs)
        left = f", about {_words(rounds * median(known))} left" if rounds and known else ""
        note = f"{record.trial}: {record.status}{left}"
        run.listener(Progress("run", done, planned, note))


def _seconds(record: TrialRecord) -> Iterator[float]:
    """Yield how long a trial took, if its start and end are known: an unknown one is the epoch."""
    try:
        times = (record.started_at, record.finished_at)
        start, end = (datetime.fromisoformat(at).timestamp() for at in times)
    except ValueError:  # a harness of somebody else's
        return
    if 0 < start <= end:
        yield end - start


def _words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

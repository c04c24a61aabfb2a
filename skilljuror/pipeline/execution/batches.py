"""Trials of a harness that schedules them itself: handed over in one batch, kept one by one."""

import fcntl
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from skilljuror.files import StudyFolder, read_record
from skilljuror.harnesses.base import Batch, BatchHarness, TrialJob
from skilljuror.models.study import TrialRecord
from skilljuror.pipeline.execution.faults import is_machine_fault
from skilljuror.pipeline.execution.trial import RunSetup, keep_trial, refuse_changed_task


def run_in_batch(
    harness: BatchHarness,
    setup: RunSetup,
    pending: Sequence[TrialJob],
    *,
    jobs: int,
    heard: Callable[[int], None],
) -> Iterator[TrialRecord]:
    """Run trials, up to `jobs` at a time, and put each in its place; their records as they are kept. Those
    that a fault of the machine broke are run again together, as often as they may be retried.

    `heard` is told how many have ended that are not kept yet. Raises StudyError for a task that changed,
    HarnessError when the machine cannot run them.
    """
    for job in {job.task.name: job for job in pending}.values():
        refuse_changed_task(job)
    folder, left = StudyFolder(setup.study), setup.retries
    with setup.lock.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        while pending:
            kept = _kept_attempts(folder, pending)
            scratch = Path(tempfile.mkdtemp(dir=setup.scratch))
            batch = Batch(tuple(pending), folder.jobs, scratch, jobs, lock.fileno(), heard, kept)
            broken = is_machine_fault if left else _never
            pending = yield from _keep_each(harness, folder, batch, broken)
            left -= 1


def _keep_each(
    harness: BatchHarness,
    folder: StudyFolder,
    batch: Batch,
    broken: Callable[[TrialRecord], bool],
) -> Generator[TrialRecord, None, list[TrialJob]]:
    """Put each trial of a batch in its place; the answer are those that are `broken`."""
    again = []
    for job, collect in harness.run_batch(batch):
        record = keep_trial(folder, job, collect, broken)
        if broken(record):
            again.append(job)
        else:
            yield record
    return again


def _never(record: TrialRecord) -> bool:
    return False


def _kept_attempts(folder: StudyFolder, pending: Sequence[TrialJob]) -> frozenset[tuple[str, str]]:
    """(trial, start) of every attempt at these trials that has a record."""
    wanted = {job.trial.trial for job in pending}
    places = [folder.trial(name) for name in folder.finished_trials() if name in wanted]
    places += [folder.attempt(*one) for one in folder.earlier_attempts() if one[0] in wanted]
    records = [read_record(TrialRecord, place / "trial.json") for place in places]
    return frozenset((record.trial, record.started_at) for record in records)

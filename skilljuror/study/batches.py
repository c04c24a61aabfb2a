"""Run trials with a harness that schedules them itself: start a batch, save each trial."""

import fcntl
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.harness.base import Batch, BatchHarness, Collected, TrialJob
from skilljuror.study.faults import RUN_STOPPED, is_machine_fault, retry_seconds
from skilljuror.study.trial import RunSetup, refuse_changed_task, save_trial


def run_in_batch(
    harness: BatchHarness,
    setup: RunSetup,
    pending: Sequence[TrialJob],
    *,
    jobs: int,
    ended: Callable[[TrialRecord], None] = lambda _: None,
) -> Iterator[TrialRecord]:
    """Run trials, up to `jobs` at a time, save each, and yield its record. Trials broken by a fault of
    the machine are retried together.

    `ended` gets the record of every attempt. Raises StudyError for a changed task, HarnessError if the machine cannot run them.
    """
    for job in {job.task.name: job for job in pending}.values():
        refuse_changed_task(job)
    folder, left = StudyFolder(setup.study), setup.retries
    with setup.lock.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        while pending:
            kept = _saved_attempts(folder, pending)
            scratch = Path(tempfile.mkdtemp(dir=setup.scratch))
            batch = Batch(tuple(pending), folder.jobs, scratch, jobs, lock.fileno(), kept)
            broken = is_machine_fault if left else _never
            try:
                pending = yield from _save_each(harness, folder, batch, broken, ended)
            finally:
                save_stopped(harness, setup, batch.jobs)
            if pending:
                time.sleep(retry_seconds(setup.retries - left))
            left -= 1


def save_stopped(harness: BatchHarness, setup: RunSetup, pending: Sequence[TrialJob]) -> None:
    """Save stopped or killed attempts as earlier attempts, because they spent budget."""
    folder = StudyFolder(setup.study)
    kept = _saved_attempts(folder, pending)
    batch = Batch(tuple(pending), folder.jobs, setup.scratch, 1, -1, kept=kept)
    for job, collect in harness.stopped(batch):
        save_trial(folder, job, partial(_stopped, collect), _always)


def _stopped(collect: Collected, raw: Path) -> TrialRecord:
    message = f"{RUN_STOPPED}: its run was stopped"
    update = {"status": "error", "reward": None, "exception": RUN_STOPPED, "message": message}
    return collect(raw).model_copy(update=update)


def _always(record: TrialRecord) -> bool:
    return True


def _save_each(
    harness: BatchHarness,
    folder: StudyFolder,
    batch: Batch,
    broken: Callable[[TrialRecord], bool],
    ended: Callable[[TrialRecord], None],
) -> Generator[TrialRecord, None, list[TrialJob]]:
    """Save and yield each trial of a batch; return the `broken` ones."""
    again = []
    results = harness.run_batch(batch)
    try:
        for job, collect in results:
            record = save_trial(folder, job, collect, broken)
            ended(record)
            if broken(record):
                again.append(job)
            else:
                yield record
    finally:  # an error here ends active jobs at once
        if isinstance(results, Generator):
            results.close()
    return again


def _never(record: TrialRecord) -> bool:
    return False


def _saved_attempts(folder: StudyFolder, pending: Sequence[TrialJob]) -> frozenset[tuple[str, str]]:
    """(trial, start) of every attempt with a record."""
    wanted = {job.trial.trial for job in pending}
    places = [folder.trial(name) for name in folder.finished_trials() if name in wanted]
    places += [folder.attempt(*one) for one in folder.earlier_attempts() if one[0] in wanted]
    records = [read_record(TrialRecord, place / "trial.json") for place in places]
    return frozenset((record.trial, record.started_at) for record in records)

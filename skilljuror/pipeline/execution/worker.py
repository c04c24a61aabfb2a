"""One trial in a worker process: run it, stage its folder, rename it into place.

A worker stops at once when its study's process stops or dies: both hold the ends of a pipe,
and the end of the pipe is the order to stop. Trials that were under way vanish; finished
ones are complete folders.
"""

import fcntl
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import IO

from msgspec import Struct

from skilljuror.errors import HarnessError, SkilljurorError, StudyError
from skilljuror.files import StudyFolder, sync_tree, write_record
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import Harness, TrialJob
from skilljuror.harnesses.process import STOPPED, obey_stop, request_stop
from skilljuror.models.study import HarnessChoice, TrialRecord
from skilljuror.registry import resolve
from skilljuror.studies import substrate_digest

STAGING = ".staging-"
"""Prefix of the folders of unfinished trials."""
_PATIENCE = 10.0
"""Seconds a stopped trial gets to end its processes."""


class Place(Struct, frozen=True):
    """What every worker of a run shares."""

    study: Path
    """The study's folder."""
    scratch: Path
    """Folder for sandboxes."""
    lock: Path
    """File that every worker holds a shared lock on while it lives."""
    choice: HarnessChoice
    """The harness."""


class _Worker:
    """The state of this process."""

    def __init__(self, place: Place) -> None:
        self.study = StudyFolder(place.study)
        self.harness: Harness = resolve(HARNESSES, place.choice.name, "harness")(
            place.choice.options
        )
        self.isolation = self.harness.prepare()
        self.scratch = place.scratch
        self.idle = threading.Event()
        self.idle.set()
        self.lock: IO[bytes] = place.lock.open("ab")
        fcntl.flock(self.lock, fcntl.LOCK_SH)


_workers: list[_Worker] = []
"""The one worker of this process, once it has entered."""


def enter(place: Place, orders: Connection) -> None:
    """Make this process a worker; run once, before its first trial."""
    signal.signal(signal.SIGINT, _not_ours)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    tempfile.tempdir = str(place.scratch)
    worker = _Worker(place)
    _workers.append(worker)

    def leave_on_signal(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=_leave, args=(worker,), daemon=True).start()

    signal.signal(signal.SIGTERM, leave_on_signal)
    threading.Thread(target=_obey, args=(worker, orders), daemon=True).start()


def _not_ours(number: int, frame: FrameType | None) -> None:
    """Ctrl-C reaches the whole process group; the study's own process decides what it means."""


def _obey(worker: _Worker, orders: Connection) -> None:
    """Leave at the end of the pipe."""
    orders.poll(None)
    _leave(worker)


def _leave(worker: _Worker) -> None:
    """End the trial's processes, remove its folders, and be gone."""
    request_stop()
    worker.idle.wait(_PATIENCE)
    with suppress(OSError):
        worker.scratch.rmdir()
    os._exit(STOPPED)


def run_trial(job: TrialJob) -> TrialRecord:
    """Run one trial in this worker and put its folder in place."""
    worker = _workers[0]
    worker.idle.clear()
    try:
        obey_stop()
        return _run_and_keep(worker, job)
    finally:
        worker.idle.set()


def _run_and_keep(worker: _Worker, job: TrialJob) -> TrialRecord:
    name = job.trial.trial
    try:
        _refuse_changed_task(job)
        with _staging(worker.study.trials) as staging:
            (staging / "raw").mkdir()
            record = _attempt(worker, job, staging / "raw")
            write_record(staging / "trial.json", record)
            sync_tree(staging)
            staging.replace(worker.study.trial(name))
    except OSError as error:
        raise HarnessError(
            f"trial {name!r} could not be kept: {error}; mend it and run again"
        ) from error
    return record


def _attempt(worker: _Worker, job: TrialJob, raw: Path) -> TrialRecord:
    """The trial's record; what nobody foresaw is a row with status error, not the end of a run."""
    started = _now()
    try:
        return worker.harness.run(job, raw)
    except SkilljurorError:
        raise
    except Exception as error:  # noqa: BLE001
        return _error_record(job, error, worker.isolation, started)


@contextmanager
def _staging(trials: Path) -> Iterator[Path]:
    staging = Path(tempfile.mkdtemp(dir=trials, prefix=STAGING))
    try:
        staging.chmod(0o755)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _refuse_changed_task(job: TrialJob) -> None:
    found = substrate_digest(job.task_dir)
    if found != job.task.substrate_digest:
        raise StudyError(
            f"task {job.task.name!r} changed since the plan was frozen (substrate {found}, plan"
            f" {job.task.substrate_digest}): its trials could not be compared;"
            " put the task back as it was, or start a new run in another folder",
            file=str(job.task_dir),
        )


def _error_record(job: TrialJob, error: Exception, isolation: str, started: str) -> TrialRecord:
    text = " ".join(str(error).split())
    return TrialRecord(
        trial=job.trial.trial,
        task=job.task.name,
        condition=job.trial.condition,
        number=job.trial.number,
        seed=job.trial.seed,
        status="error",
        reward=None,
        exception=type(error).__name__,
        message=f"{type(error).__name__}: {text}"[:500],
        agent=job.agent.name,
        agent_version=job.agent.version,
        model=job.agent.model,
        scripted=job.agent.scripted,
        harness=job.choice.name,
        isolation=isolation,
        config_digest=job.config_digest,
        substrate_digest=job.task.substrate_digest,
        variant=job.variant,
        variant_digest=None,
        skill_root=None,
        started_at=started,
        finished_at=_now(),
        agent_seconds=None,
        verifier_seconds=None,
        usage_reason=job.agent.usage_reason,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

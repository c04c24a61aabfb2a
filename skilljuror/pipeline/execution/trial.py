"""One trial in a worker process: run it, stage its folder, rename it into place.

A worker that is told to stop ends the processes of its trial and removes the folders of what is
unfinished: finished trials are complete folders. It asks for that rather than breaking the trial
off, for an exception in the middle of starting a process would leave one that nobody knows.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from msgspec import Struct

from skilljuror.errors import HarnessError, SkilljurorError, StudyError
from skilljuror.files import StudyFolder, sync_tree, write_record
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import Harness, TrialJob, trial_record
from skilljuror.harnesses.process import raise_if_stopped, request_stop
from skilljuror.models.study import HarnessChoice, TrialRecord
from skilljuror.pipeline.workers import wait_until_idle
from skilljuror.registry import resolve
from skilljuror.studies import substrate_digest

STAGING = ".staging-"
"""Prefix of the folders of unfinished trials."""
_STOP_SECONDS = 10.0
"""Seconds a stopped trial gets to end its processes."""


class RunSetup(Struct, frozen=True):
    """What every worker of a run shares."""

    study: Path
    """The study's folder."""
    scratch: Path
    """Folder for sandboxes."""
    lock: Path
    """File that every worker holds a shared lock on from its first trial on."""
    choice: HarnessChoice
    """The harness."""


class _TrialRunner:
    """What a worker process keeps from trial to trial."""

    def __init__(self, setup: RunSetup) -> None:
        self.scratch = setup.scratch
        tempfile.tempdir = str(setup.scratch)
        self.study = StudyFolder(setup.study)
        make_harness = resolve(HARNESSES, setup.choice.name, "harness", Harness)
        self.harness: Harness = make_harness(setup.choice.options)
        self.isolation = self.harness.prepare()
        self.lock: IO[bytes] = setup.lock.open("ab")
        fcntl.flock(self.lock, fcntl.LOCK_SH)


_runners: list[_TrialRunner] = []
"""The one runner of this process, from its first trial on."""


def stop_trial() -> None:
    """End the processes of the trial under way, remove its folders, and the scratch folder once it is empty."""
    request_stop()
    wait_until_idle(_STOP_SECONDS)
    for runner in _runners:
        with suppress(OSError):
            runner.scratch.rmdir()


def run_trial(setup: RunSetup, job: TrialJob) -> TrialRecord:
    """Run one trial in this worker and put its folder in place.

    Raises StudyError for a task that changed, HarnessError when the machine cannot run or keep the
    trial, SystemExit once this worker is told to stop.
    """
    raise_if_stopped()
    if not _runners:
        _runners.append(_TrialRunner(setup))
    return _run_and_keep(_runners[0], job)


def _run_and_keep(runner: _TrialRunner, job: TrialJob) -> TrialRecord:
    name = job.trial.trial
    try:
        _refuse_changed_task(job)
        with _staging(runner.study.trials) as staging:
            (staging / "raw").mkdir()
            record = _attempt(runner, job, staging / "raw")
            write_record(staging / "trial.json", record)
            sync_tree(staging)
            staging.replace(runner.study.trial(name))
    except OSError as error:
        raise HarnessError(
            f"trial {name!r} could not be kept: {error}; mend it and run again"
        ) from error
    return record


def _attempt(runner: _TrialRunner, job: TrialJob, raw: Path) -> TrialRecord:
    """The trial's record; what nobody foresaw is a row with status error, not the end of a run."""
    started = _now()
    try:
        return runner.harness.run(job, raw)
    except SkilljurorError:
        raise
    except Exception as error:  # noqa: BLE001
        return _error_record(job, error, runner.isolation, started)


@contextmanager
def _staging(trials: Path) -> Iterator[Path]:
    staging = Path(tempfile.mkdtemp(dir=trials, prefix=STAGING))
    try:
        staging.chmod(0o755)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _refuse_changed_task(job: TrialJob) -> None:
    digest = substrate_digest(job.task_dir)
    if digest != job.task.substrate_digest:
        raise StudyError(
            f"task {job.task.name!r} changed since the plan was frozen (substrate {digest}, plan"
            f" {job.task.substrate_digest}): its trials could not be compared;"
            " put the task back as it was, or start a new run in another folder",
            file=str(job.task_dir),
        )


def _error_record(job: TrialJob, error: Exception, isolation: str, started: str) -> TrialRecord:
    text = " ".join(str(error).split())
    return trial_record(
        job,
        status="error",
        reward=None,
        exception=type(error).__name__,
        message=f"{type(error).__name__}: {text}"[:500],
        harness=job.choice.name,
        isolation=isolation,
        variant_digest=None,
        skill_root=None,
        started_at=started,
        finished_at=_now(),
        agent_seconds=None,
        verifier_seconds=None,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""Run one trial in a worker process, stage its folder, rename it into place.

A stopped worker ends its trial's processes and removes unfinished folders, so finished trials are complete
folders. It polls for the stop, because an exception while a process starts would orphan that process.
"""

import fcntl
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from msgspec import Struct

from skilljuror.base.errors import HarnessError, SkilljurorError, StudyError, resolve
from skilljuror.base.files import StudyFolder, sync_tree, write_record
from skilljuror.base.study import HarnessChoice, TrialRecord
from skilljuror.base.workers import wait_until_idle
from skilljuror.harness import HARNESSES
from skilljuror.harness.base import Collected, Harness, TrialJob, trial_record, without_keys
from skilljuror.harness.process import raise_if_stopped, request_stop
from skilljuror.harness.tasks import changed_substrate
from skilljuror.study.attempts import next_attempt, set_aside
from skilljuror.study.faults import (
    checked_by_log,
    is_machine_fault,
    retry_seconds,
    without_verifier,
)

STAGING = ".staging-"
"""Prefix of the folders of unfinished trials."""
_STEP_SECONDS = 0.1
"""Polling interval for a stop, in seconds."""
_STOP_SECONDS = 10.0
"""Seconds a stopped trial gets to end its processes."""


class RunStoppedError(Exception):
    """The run was stopped during an attempt."""


class RunSetup(Struct, frozen=True):
    """Settings shared by the workers of a run."""

    study: Path
    """The study's folder."""
    scratch: Path
    """Folder for sandboxes."""
    lock: Path
    """File on which every worker holds a shared lock from its first trial on."""
    choice: HarnessChoice
    retries: int = 0
    """Further attempts after a fault of the machine."""


class _TrialRunner:
    """State of a worker process across trials."""

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
"""This process's runner, created by its first trial."""


def stop_trial() -> None:
    """End the current trial's processes; remove its folders, and the scratch folder if empty."""
    request_stop()
    wait_until_idle(_STOP_SECONDS)
    for runner in _runners:
        with suppress(OSError):
            runner.scratch.rmdir()


def run_trial(setup: RunSetup, job: TrialJob) -> TrialRecord:
    """Run one trial and put its folder in place; retry after a fault of the machine.

    Every attempt has a record, including one stopped after its agent started, because it spent budget.
    Raises StudyError for a changed task, HarnessError if the machine cannot run or save the trial,
    SystemExit once this worker is stopped.
    """
    raise_if_stopped()
    if not _runners:
        _runners.append(_TrialRunner(setup))
    for left in range(setup.retries, -1, -1):
        record = _run_and_save(_runners[0], job, final=left == 0)
        if record is not None:
            return record
        _wait(retry_seconds(setup.retries - left))
    raise AssertionError("the final attempt is a trial or raises")


def _wait(seconds: float) -> None:
    """Wait, unless this worker is stopped."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        raise_if_stopped()
        time.sleep(min(left, _STEP_SECONDS))
    raise_if_stopped()


def _run_and_save(runner: _TrialRunner, job: TrialJob, *, final: bool) -> TrialRecord | None:
    """Run one attempt and save it as the trial, or as an earlier attempt if the machine failed.

    Return None if it is to be retried. A failed `final` attempt becomes the trial if the harness
    returned a record; otherwise its fault is raised.
    """
    faults: list[HarnessError | SystemExit] = []

    def collect(raw: Path) -> TrialRecord:
        record, fault = _attempt(runner, job, raw)
        faults.extend([fault] if fault else [])
        return record

    def broken(record: TrialRecord) -> bool:
        return bool(faults) or (not final and is_machine_fault(record))

    record = save_trial(runner.study, job, collect, broken)
    if faults and (final or isinstance(faults[0], SystemExit)):
        raise faults[0]
    return None if broken(record) else record


def save_trial(
    study: StudyFolder,
    job: TrialJob,
    collect: Collected,
    broken: Callable[[TrialRecord], bool] = lambda record: False,
) -> TrialRecord:
    """Save an attempt's artifacts and record atomically: as the trial, or as an earlier attempt if
    `broken`. Raises StudyError for a changed task, HarnessError if it cannot be saved.
    """
    name = job.trial.trial
    try:
        refuse_changed_task(job)
        if study.trial_record(name).is_file():  # a rerun
            set_aside(study, name)
        with _staging(study.trials) as staging:
            (staging / "raw").mkdir()
            raw = staging / "raw"
            record = without_verifier(collect(raw), job.task)
            record = checked_by_log(record, raw, writes_log=job.agent.writes_log)
            write_record(staging / "trial.json", record)
            sync_tree(staging)
            staging.replace(next_attempt(study, name) if broken(record) else study.trial(name))
    except OSError as error:
        raise HarnessError(f"cannot save trial {name!r}: {error}; fix this and rerun") from error
    return record


def _attempt(
    runner: _TrialRunner, job: TrialJob, raw: Path
) -> tuple[TrialRecord, HarnessError | SystemExit | None]:
    """Return the attempt's record, and the machine's fault or the stop, if any.

    An unexpected exception becomes a record with status error and does not end the run.
    """
    started = _now()
    try:
        return runner.harness.run(job, raw), None
    except HarnessError as fault:
        return _error_record(job, fault, runner, started), fault
    except SystemExit as stop:
        if getattr(runner.harness, "agent_seconds", None) is None:
            raise
        return _error_record(job, RunStoppedError("its run was stopped"), runner, started), stop
    except SkilljurorError:
        raise
    except Exception as error:  # noqa: BLE001
        return _error_record(job, error, runner, started), None


@contextmanager
def _staging(trials: Path) -> Iterator[Path]:
    staging = Path(tempfile.mkdtemp(dir=trials, prefix=STAGING))
    try:
        staging.chmod(0o755)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def refuse_changed_task(job: TrialJob) -> None:
    """Raise StudyError for a task that differs from the plan."""
    if changed := changed_substrate(job.task, job.task_dir):
        raise StudyError(
            f"task {job.task.name!r} changed after planning ({', '.join(changed)}), so its trials are not"
            " comparable; restore the task, or run into another folder",
            file=str(job.task_dir),
        )


def _error_record(
    job: TrialJob, error: Exception, runner: _TrialRunner, started: str
) -> TrialRecord:
    text = " ".join(str(error).split())
    return trial_record(
        job,
        status="error",
        reward=None,
        exception=type(error).__name__,
        message=without_keys(f"{type(error).__name__}: {text}", job.agent)[:500],
        harness=job.choice.name,
        isolation=runner.isolation,
        variant_digest=None,
        skill_root=None,
        started_at=started,
        finished_at=_now(),
        agent_seconds=getattr(runner.harness, "agent_seconds", None),
        verifier_seconds=None,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

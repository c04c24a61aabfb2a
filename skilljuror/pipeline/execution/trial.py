"""One trial in a worker process: run it, stage its folder, rename it into place.

A worker that is told to stop ends the processes of its trial and removes the folders of what is
unfinished: finished trials are complete folders. It asks for that rather than breaking the trial
off, for an exception in the middle of starting a process would leave one that nobody knows.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from msgspec import Struct

from skilljuror.errors import HarnessError, SkilljurorError, StudyError
from skilljuror.files import StudyFolder, sync_tree, write_record
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import Collected, Harness, TrialJob, trial_record, without_keys
from skilljuror.harnesses.process import raise_if_stopped, request_stop
from skilljuror.models.study import HarnessChoice, TrialRecord
from skilljuror.pipeline.execution.attempts import next_attempt, set_aside
from skilljuror.pipeline.execution.faults import checked_by_log, is_machine_fault
from skilljuror.pipeline.workers import wait_until_idle
from skilljuror.registry import resolve
from skilljuror.studies.tasks import changed_substrate

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
    retries: int = 0
    """Further attempts at a trial that a fault of the machine broke."""


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
    """Run one trial in this worker and put its folder in place; again where the machine broke it and
    it may be retried, every attempt with a record of its own.

    Raises StudyError for a task that changed, HarnessError when the machine cannot run or keep the
    trial, SystemExit once this worker is told to stop.
    """
    raise_if_stopped()
    if not _runners:
        _runners.append(_TrialRunner(setup))
    left = setup.retries
    while (record := _run_and_keep(_runners[0], job, final=left == 0)) is None:
        left -= 1
        raise_if_stopped()
    return record


def _run_and_keep(runner: _TrialRunner, job: TrialJob, *, final: bool) -> TrialRecord | None:
    """Run one attempt and put its folder in place: as the trial, or among its earlier attempts where
    the machine broke it. Then the answer is None, as long as it is not the `final` one: that ends the
    trial where the harness gave a record of it, and else the run.
    """
    faults: list[HarnessError] = []

    def collect(raw: Path) -> TrialRecord:
        record, fault = _attempt(runner, job, raw)
        faults.extend([fault] if fault else [])
        return record

    def broken(record: TrialRecord) -> bool:
        return bool(faults) or (not final and is_machine_fault(record))

    record = keep_trial(runner.study, job, collect, broken)
    if faults and final:
        raise faults[0]
    return None if broken(record) else record


def keep_trial(
    study: StudyFolder,
    job: TrialJob,
    collect: Collected,
    broken: Callable[[TrialRecord], bool] = lambda record: False,
) -> TrialRecord:
    """Put what one attempt left, and its record, in their place, all of it or nothing: as the trial, or
    among the earlier attempts where it is `broken`.

    Raises StudyError for a task that changed, HarnessError where it cannot be kept.
    """
    name = job.trial.trial
    try:
        refuse_changed_task(job)
        if study.trial_record(name).is_file():  # it is run again
            set_aside(study, name)
        with _staging(study.trials) as staging:
            (staging / "raw").mkdir()
            record = checked_by_log(collect(staging / "raw"), staging / "raw")
            write_record(staging / "trial.json", record)
            sync_tree(staging)
            staging.replace(next_attempt(study, name) if broken(record) else study.trial(name))
    except OSError as error:
        raise HarnessError(
            f"trial {name!r} could not be kept: {error}; mend it and run again"
        ) from error
    return record


def _attempt(
    runner: _TrialRunner, job: TrialJob, raw: Path
) -> tuple[TrialRecord, HarnessError | None]:
    """The attempt's record, and the fault of the machine for which there is no trial.

    What nobody foresaw is a row with status error, not the end of a run.
    """
    started = _now()
    try:
        return runner.harness.run(job, raw), None
    except HarnessError as fault:
        return _error_record(job, fault, runner, started), fault
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
    """Raise StudyError for a task that is not that of the plan any more."""
    if changed := changed_substrate(job.task, job.task_dir):
        raise StudyError(
            f"task {job.task.name!r} changed since the plan was frozen ({', '.join(changed)}): its"
            " trials could not be compared; put the task back as it was, or start a new run in another folder",
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

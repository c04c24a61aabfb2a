"""One trial: run it in a worker, decide whether its attempt counts, save it; attempts of a trial.

The last attempt counts, earlier ones stay as records: to rerun a trial, its folder is moved to the earlier
attempts, and it is pending even if the run is killed. An attempt's folder is staged and renamed into place.
A stopped worker ends its trial's processes and removes unfinished folders, so finished trials are complete
folders. It polls for the stop, because an exception while a process starts would orphan that process.

Only attempts that failed because of the machine or the model's provider are retried (`retries` of the study
file): retrying an agent's own failure would bias its arm. Whether a model answered is read from the agent's
log, in the same way for every harness and arm, never from the reward.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct

from skilljuror.base.errors import (
    HarnessError,
    SkilljurorError,
    StudyError,
    UsageError,
    did_you_mean,
    resolve,
)
from skilljuror.base.files import (
    StudyFolder,
    append_jsonl,
    read_record,
    sync_tree,
    write_record,
)
from skilljuror.base.platforms import lock, sync
from skilljuror.base.review import Acceptance
from skilljuror.base.review_rows import AcceptedTrials, login_name, now, record_digest
from skilljuror.base.study import (
    NO_ANSWER,
    NO_LOG,
    NO_VERIFIER,
    HarnessChoice,
    PlannedTask,
    TrialRecord,
)
from skilljuror.base.trajectory import Trajectory
from skilljuror.base.workers import wait_until_idle
from skilljuror.harness import HARNESSES
from skilljuror.harness.agents import untried
from skilljuror.harness.artifacts import Reading
from skilljuror.harness.base import Collected, Harness, TrialJob, trial_record, without_keys
from skilljuror.harness.sandbox import raise_if_stopped, request_stop
from skilljuror.harness.tasks import changed_substrate
from skilljuror.store.questions import run as ask
from skilljuror.store.trials import fault_in_output, log_of

STAGING = ".staging-"
"""Prefix of the folders of unfinished trials."""
_STEP_SECONDS = 0.1
"""Polling interval for a stop, in seconds."""
_STOP_SECONDS = 10.0
"""Seconds a stopped trial gets to end its processes."""

CONTAMINATED = "contaminated"
OUTCOMES = ("unscored", NO_ANSWER, CONTAMINATED, "error")
"""Ends of trials that may be rerun or accepted; unscored includes no_answer."""
_CONTAMINATED = """
SELECT t.trial, t.finished_at, t.trial IN (SELECT trial FROM contaminations) AS contaminated
FROM trials AS t
"""

Answer = Literal["answered", "unanswered", "unknown"]

PROVIDER_FAULTS = frozenset({
    "ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError",
    "ApiConnectionClosedError", "ApiResponseStalledError", "NetworkConnectionError",
    "ApiConnectionError", "APIConnectionError", "RateLimitError", "InternalServerError",
    "ServiceUnavailableError",
})  # fmt: skip
"""Exceptions of the model's server in Harbor and litellm."""

MACHINE_FAULTS = PROVIDER_FAULTS | {
    # of this machine: the sandbox, files, memory, connections
    "HarnessError", "OSError", "FileNotFoundError", "PermissionError", "BlockingIOError",
    "MemoryError", "TimeoutError", "ConnectionError", "ConnectionResetError",
    "ConnectionRefusedError", "ConnectionAbortedError", "BrokenPipeError",
    # of the environments that Harbor starts
    "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "AgentSetupTimeoutError",
    "HealthcheckError", "SSHAccessError", "GKEExecStreamClosedError", "GKEPodNotFoundError",
    "RuntimeRequestError", "AddTestsDirError", "DownloadVerifierDirError",
}  # fmt: skip
"""Exception names, without limits that an agent itself can reach (memory, context)."""
NO_REWARD_FILE = "RewardFileNotFoundError"
"""Exception of Harbor for a verifier that writes no reward."""
_BEFORE_VERIFIER = frozenset({NO_REWARD_FILE, "NonZeroAgentExitCodeError"})
"""Exceptions of Harbor with which a trial of a task without a verifier is complete."""
RUN_STOPPED = "RunStoppedError"
"""Exception of an attempt that was stopped while its agent ran."""
_SHARE = 0.5
"""A timed-out request counts as unanswered if it waited for at least this share of the agent's time. Most
agents time out during a model call, which is their own failure."""


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
        lock(self.lock, shared=True)
        self.fault: HarnessError | SystemExit | None = None
        """The machine's fault, or the stop, that ended the last attempt."""

    def attempt(self, job: TrialJob, raw: Path) -> TrialRecord:
        """Run one attempt; an unexpected exception is a record with status error and does not end the run."""
        self.fault = None
        started = _utc_now()
        try:
            return self.harness.run(job, raw)
        except HarnessError as fault:
            error: Exception = fault
            self.fault = fault
        except SystemExit as stop:
            if getattr(self.harness, "agent_seconds", None) is None:
                raise
            error, self.fault = RunStoppedError("its run was stopped"), stop
        except SkilljurorError:
            raise
        except Exception as unexpected:  # noqa: BLE001
            error = unexpected
        name = type(error).__name__
        text = " ".join(str(error).split())
        return trial_record(
            job,
            status="error",
            reward=None,
            exception=name,
            message=without_keys(f"{name}: {text}", job.agent)[:500],
            harness=job.choice.name,
            isolation=self.isolation,
            variant_digest=None,
            skill_root=None,
            started_at=started,
            finished_at=_utc_now(),
            agent_seconds=getattr(self.harness, "agent_seconds", None),
            verifier_seconds=None,
        )

    def is_broken(self, final: bool, record: TrialRecord) -> bool:
        """Whether the last attempt is none that counts as the trial."""
        return self.fault is not None or (not final and is_machine_fault(record))


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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

    Every attempt has a record, including one stopped after its agent started, because it spent budget. The
    final attempt becomes the trial if the harness returned a record of it; otherwise its fault is raised.
    Raises StudyError for a changed task, HarnessError if the machine cannot run or save the trial,
    SystemExit once this worker is stopped.
    """
    raise_if_stopped()
    if not _runners:
        _runners.append(_TrialRunner(setup))
    (runner,) = _runners
    for failed in range(setup.retries + 1):
        broken = partial(runner.is_broken, failed == setup.retries)
        record = save_trial(runner.study, job, partial(runner.attempt, job), broken)
        fault = runner.fault
        if fault and (failed == setup.retries or isinstance(fault, SystemExit)):
            raise fault
        if not broken(record):
            break
        until = time.monotonic() + retry_seconds(failed)
        while (left := until - time.monotonic()) > 0:
            raise_if_stopped()
            time.sleep(min(left, _STEP_SECONDS))
        raise_if_stopped()
    return record


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
        staging = Path(tempfile.mkdtemp(dir=study.trials, prefix=STAGING))
        try:
            staging.chmod(0o755)
            raw = staging / "raw"
            raw.mkdir()
            record = without_verifier(collect(raw), job.task)
            record = checked_by_log(record, raw, writes_log=job.agent.writes_log)
            write_record(staging / "trial.json", record)
            sync_tree(staging)
            staging.replace(next_attempt(study, name) if broken(record) else study.trial(name))
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise HarnessError(f"cannot save trial {name!r}: {error}; fix this and rerun") from error
    return record


def refuse_changed_task(job: TrialJob) -> None:
    """Raise StudyError for a task that differs from the plan."""
    if changed := changed_substrate(job.task, job.task_dir):
        raise StudyError(
            f"task {job.task.name!r} changed after planning ({', '.join(changed)}), so its trials are not"
            " comparable; restore the task, or run into another folder",
            file=str(job.task_dir),
        )


def set_aside(folder: StudyFolder, trial: str) -> Path:
    """Move a finished trial to its earlier attempts atomically; return its new folder."""
    target = next_attempt(folder, trial)
    folder.trial(trial).rename(target)
    sync(folder.attempts)
    sync(folder.trials)
    return target


def next_attempt(folder: StudyFolder, trial: str) -> Path:
    """Return the next free folder for an earlier attempt, and create its parent."""
    folder.attempts.mkdir(exist_ok=True)
    number = 1
    while folder.attempt(trial, number).exists():
        number += 1
    return folder.attempt(trial, number)


def is_machine_fault(record: TrialRecord) -> bool:
    """Whether an attempt without a reward failed because of the machine or the provider."""
    return record.reason == NO_ANSWER or (
        record.reward is None
        and record.status in {"error", "unscored"}
        and record.exception in MACHINE_FAULTS
    )


def retry_seconds(failed: int) -> float:
    """Seconds before the next attempt after `failed` earlier ones: 1, 4, 16, then 60."""
    return min(60.0, 4.0**failed)


def answer_of(run: Trajectory | None, record: TrialRecord, raw: Path | None = None) -> Answer:
    """Whether a model answered the agent: one rule for every agent and harness.

    Before the first answer (`Trajectory.answered`): a run that no model ever answered is "unanswered",
    however its program ended. An empty answer is none.

    After it, a run is "unanswered" if it ended in an outage: a provider's fault is the last that its log
    or, while a request waits, its output in `raw` says of the model; or the harness names such a fault; or
    the trial timed out on a request that took most of the time. A request that was refused for its own
    content, such as a context that is too long, and an empty answer are ends of the agent's own.

    "unknown" without a readable log or without a model, or if a waiting request has no known reason.
    """
    if run is None or record.scripted:
        return "unknown"
    if not run.answered or run.fault:
        return "unanswered"
    if not run.awaits_answer:
        return "answered"
    if record.exception in PROVIDER_FAULTS or (raw and fault_in_output(raw)):
        return "unanswered"
    return "unanswered" if record.status == "timeout" and _waited(run, record) else "unknown"


def _waited(run: Trajectory, record: TrialRecord) -> bool:
    """Whether most of the agent's time passed after the last record of its log."""
    if run.started_at is None or run.finished_at is None or record.agent_seconds is None:
        return False
    return run.finished_at - run.started_at < (1 - _SHARE) * record.agent_seconds


def checked_by_log(record: TrialRecord, raw: Path, *, writes_log: bool = False) -> TrialRecord:
    """Correct the record of an attempt by its log in `raw`: unscored if no model answered, an error if a
    required log is missing. `rewards` keeps the verifier's values. An unreadable log is only noted in
    `left_out`, and a version of the agent that was never tried in `agent_untried`."""
    if record.agent_seconds is None or record.exception == RUN_STOPPED:
        return record  # never started, or never ended
    reading = Reading()
    remark = untried(record.agent, record.agent_version)
    record = record.model_copy(update={"agent_untried": remark})
    run, unread = log_of(raw, record)
    if run is None and unread:  # unknown whether a model answered
        for why in unread:
            reading.leave_out(why.replace(f"{raw}/", ""))
        return record.model_copy(
            update={"left_out": (*(record.left_out or ()), *reading.summary())}
        )
    if answer_of(run, record, raw) == "unanswered":
        fault = (run.fault if run else None) or fault_in_output(raw)
        why = f"no answer of the model{f': {fault}' if fault else ''}"
        return _without_reward(record, "unscored", NO_ANSWER, why)
    if run is None and writes_log and not _left_log(raw / "agent", record):
        return _without_reward(record, "error", NO_LOG, "the agent left no log")
    return record


def without_verifier(record: TrialRecord, task: PlannedTask) -> TrialRecord:
    """Mark an attempt at a task without a verifier: complete without a reward, whatever the harness says of
    the missing one. A trial that failed for another reason is unchanged."""
    if task.judged_by == "verifier" or record.status == "scored":
        return record
    if record.status == "error" and record.exception not in _BEFORE_VERIFIER:
        return record
    update: dict[str, object] = {"reason": NO_VERIFIER}
    if record.status == "error":
        update["status"] = "unscored"
    if record.exception == NO_REWARD_FILE:
        update |= {"exception": None, "message": None}
    return record.model_copy(update=update)


def _without_reward(record: TrialRecord, status: str, reason: str, why: str) -> TrialRecord:
    message = "; ".join(filter(None, (record.message, why)))
    update = {"status": status, "reason": reason, "reward": None, "message": message}
    return record.model_copy(update=update)


def _left_log(folder: Path, record: TrialRecord) -> bool:
    """Whether an agent left any file; in Harbor, its output and the setup's files do not count."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    if record.harness != "harbor":
        return bool(files)
    return any(file.parts[0] != "setup" and file.suffix != ".txt" for file in files)


def chosen_ends(text: str) -> frozenset[str]:
    """Parse a comma-separated list of ends. Raises UsageError for an unknown one."""
    ends = frozenset(word.strip() for word in text.split(","))
    if unknown := sorted(ends - set(OUTCOMES)):
        raise UsageError(
            f"--rerun: unknown outcome {unknown[0]!r} (choose {', '.join(OUTCOMES)}); an uncontaminated trial"
            " with a reward is never rerun",
            field="rerun",
        )
    return ends


def is_final(record: TrialRecord) -> bool:
    """Whether a trial has a reward, timed out, or is complete without a verifier."""
    return record.reward is not None or record.status == "timeout" or record.reason == NO_VERIFIER


def to_run_again(
    folder: StudyFolder, finished: Mapping[str, TrialRecord], ends: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the finished trials with these ends that nobody accepted, and notes.

    Raises StudyError for contaminated trials without a database.
    """
    chosen = {
        name
        for name, record in finished.items()
        if {record.status, record.end} & set(ends) and not is_final(record)
    }
    notes = []
    if CONTAMINATED in ends:
        contaminated, unknown = _contaminated(folder, finished)
        chosen |= contaminated
        if unknown:
            notes.append(
                f"{unknown} finished trials are not ingested, so contamination is unknown; ingest and"
                " rerun"
            )
    accepted = AcceptedTrials(folder)
    return sorted(name for name in chosen if not accepted.of(name)), notes


def _contaminated(folder: StudyFolder, finished: Mapping[str, TrialRecord]) -> tuple[set[str], int]:
    """The contaminated finished trials, and the number not ingested in their current state."""
    if not folder.database.is_file():
        raise StudyError(
            f"{str(folder.root)!r} has no database, so contaminated trials are unknown; create it with"
            f" skilljuror ingest --study {folder.root}",
            file=str(folder.database),
        )
    found, unknown = set(), set(finished)
    for trial, ended, contaminated in ask(folder.database, _CONTAMINATED).rows:
        if trial in finished and _same_time(finished[trial].finished_at, ended):
            unknown.discard(trial)
            found |= {trial} if contaminated else set()
    return found, len(unknown)


def _same_time(text: str, stored: datetime | None) -> bool:
    time = datetime.fromisoformat(text)
    utc = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    return stored is not None and utc == stored.replace(tzinfo=None)


def accept_trial(study: Path, trial: str, reason: str, by: str | None = None) -> Acceptance:
    """Accept a trial's result, so that it is not rerun; without a reward it counts as not passed.

    `by` defaults to the login name. Raises UsageError without a reason and for a trial that is final
    anyway, StudyError for an unfinished one.
    """
    folder = StudyFolder.existing(study)
    if not reason.strip():
        raise UsageError("an acceptance requires a reason: --reason '…'", field="reason")
    names = folder.finished_trials()
    if trial not in names:
        message = f"no finished trial {trial!r} in {str(study)!r}; {did_you_mean(trial, names)}"
        raise StudyError(message.rstrip("; "), file=str(folder.trials))
    record = read_record(TrialRecord, folder.trial_record(trial))
    if is_final(record) and not _is_contaminated(folder, record):
        raise UsageError(
            f"trial {trial!r} ({record.status}) is already final; only trials with the"
            f" outcome {', '.join(OUTCOMES)} can be accepted",
            field="trial",
        )
    acceptance = Acceptance(
        trial=trial, seen=record_digest(folder, trial), reason=reason.strip(),
        by=by or login_name(), at=now(),
    )  # fmt: skip
    append_jsonl(folder.reviews, acceptance)
    return acceptance


def _is_contaminated(folder: StudyFolder, record: TrialRecord) -> bool:
    if not folder.database.is_file():
        return False
    return bool(_contaminated(folder, {record.trial: record})[0])

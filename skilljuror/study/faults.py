"""Recognise attempts that failed because of the machine or the model's provider.

Only these are retried (`retries` of the study file): retrying an agent's own failure would bias its arm.
Whether a model answered is read from the agent's log, in the same way for every harness and arm, never
from the reward.
"""

from pathlib import Path
from typing import Literal

from skilljuror.base.study import NO_ANSWER, NO_LOG, NO_VERIFIER, PlannedTask, TrialRecord
from skilljuror.base.trajectory import Trajectory
from skilljuror.harness.agents.tried_versions import untried
from skilljuror.harness.artifacts import Reading
from skilljuror.store.ingest.trials import fault_in_output, log_of

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

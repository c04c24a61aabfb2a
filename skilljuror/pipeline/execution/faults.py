"""Which ends of an attempt are the machine's fault and say nothing about agent or task.

Only these are tried again by a run itself (`retries` of the study file), and a trial with a reward
never is: to try again what an agent failed at would tilt its arm.
"""

from pathlib import Path

from skilljuror.models.study import TrialRecord
from skilljuror.pipeline.ingestion.trials import trajectory_of

AGENT_FAILED = "NonZeroAgentExitCodeError"
"""How Harbor, and our own harness, call the end of an agent whose program ended with another status than 0."""

MACHINE_FAULTS = frozenset({
    # of this machine: the sandbox, files, memory, connections
    "HarnessError", "OSError", "FileNotFoundError", "PermissionError", "BlockingIOError",
    "MemoryError", "TimeoutError", "ConnectionError", "ConnectionResetError",
    "ConnectionRefusedError", "ConnectionAbortedError", "BrokenPipeError",
    # of the environments that Harbor starts
    "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "AgentSetupTimeoutError",
    "HealthcheckError", "SSHAccessError", "GKEExecStreamClosedError", "GKEPodNotFoundError",
    "RuntimeRequestError", "AddTestsDirError", "DownloadVerifierDirError",
    # of the model's server, as Harbor and litellm call them
    "ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError",
    "ApiConnectionClosedError", "ApiResponseStalledError", "NetworkConnectionError",
    "ApiConnectionError", "APIConnectionError", "RateLimitError", "InternalServerError",
    "ServiceUnavailableError",
})  # fmt: skip
"""Names of exceptions. Limits that an agent itself can reach, of memory or context, are none of them."""


def is_machine_fault(record: TrialRecord) -> bool:
    """Whether an attempt ended by a fault of the machine, without a reward."""
    return (
        record.reward is None
        and record.status in {"error", "unscored"}
        and record.exception in MACHINE_FAULTS
    )


def checked_by_log(record: TrialRecord, raw: Path) -> TrialRecord:
    """The record of an attempt that left `raw`; an error without a reward where the agent's program failed
    and its log shows not one answer of a model: then the verifier judged what nobody did.

    A log that is missing, or that nobody can read, proves nothing.
    """
    if record.exception != AGENT_FAILED or record.scripted:
        return record
    run = trajectory_of(raw, record)
    if run is None or run.steps:
        return record
    why = "its log shows no answer of a model, so that there is nothing to score"
    message = "; ".join(filter(None, (record.message, why)))
    return record.model_copy(update={"status": "error", "reward": None, "message": message})

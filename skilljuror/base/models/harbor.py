"""Harbor's record of one trial, read without importing Harbor."""

import math

from msgspec import Struct, field

from skilljuror.base.models.study import TrialStatus

SKILL_ROOTS = {"0.24": "/harbor/skills", "0.25": "/runtime/skills"}
"""Supported version of Harbor -> folder in which it mounts a trial's Skills."""
OUT_OF_TIME = frozenset({"AgentTimeoutError"})
"""Harbor exceptions of an agent that timed out; the verifier still ran."""
CANCELLED = frozenset({"CancelledError", "KeyboardInterrupt"})
"""Harbor exceptions of a trial cancelled from outside."""
ENVIRONMENT_FIELDS = (
    "cpu_enforcement_policy", "delete", "env", "extra_allowed_hosts", "extra_docker_compose", "force_build",
    "memory_enforcement_policy", "mounts", "override_cpus", "override_gpus", "override_memory_mb",
    "override_storage_mb",
)  # fmt: skip
"""Fields of Harbor's environment that a study may set, beside its type and keyword arguments."""
SCRIPTED = frozenset({"oracle", "nop"})
"""Harbor's scripted agents; their figures say nothing about real agents."""

REWARD = "reward"
"""Name of the reward that counts."""


class Reward(Struct, frozen=True):
    """The verifier's answer."""

    value: float | None
    """Reward in [0, 1]; None if there is no valid one."""
    rewards: dict[str, float] = field(default_factory=dict)
    """Every finite reward by name."""
    problem: str | None = None
    """Why the trial is unscored, in one line."""


def chosen_reward(rewards: dict[str, float], name: str = REWARD) -> Reward:
    """Return the reward of that name; if nobody named one, else the only one (measures A-04)."""
    kept = {key: number for key, number in rewards.items() if math.isfinite(number)}
    if name not in rewards and (len(rewards) > 1 or name != REWARD):
        names = ", ".join(sorted(rewards)[:5])
        return Reward(None, kept, f"no key {name!r} among: {names}")
    value = rewards[name] if name in rewards else next(iter(rewards.values()))
    if not 0.0 <= value <= 1.0:
        return Reward(None, kept, f"reward {value!r} is outside [0, 1]")
    return Reward(value, kept)


class HarborResult(Struct, frozen=True):
    """A trial's result.json; None means unknown."""

    id: str
    """Harbor's id of the trial."""
    trial_name: str
    """Folder name of the trial."""
    task_name: str
    """Task, as "org/name" or a bare name."""
    task_path: str | None = None
    """Folder of a local task."""
    task_checksum: str | None = None
    """Harbor's digest of the task."""
    reward: float | None = None
    """Reward that counts, in [0, 1]; None if there is no valid one."""
    rewards: dict[str, float] = field(default_factory=dict)
    """Every reward by name."""
    problem: str | None = None
    """Why no reward counts, in one line."""
    verified: bool = False
    """Whether the verifier finished."""
    exception: str | None = None
    """Class of the exception; a trial can hold both an exception and a reward."""
    message: str | None = None
    """First line of the exception's message."""
    agent: str | None = None
    """Name of the agent."""
    agent_version: str | None = None
    """Its version; None for "unknown"."""
    agent_import_path: str | None = None
    """Import path of a custom agent."""
    model: str | None = None
    """Name of the model."""
    provider: str | None = None
    """Provider of the model."""
    environment: str | None = None
    """Isolation of the trial: docker, daytona, … or an import path."""
    skills: tuple[str, ...] = ()
    """Skills that were injected, as configured."""
    skills_loaded: tuple[str, ...] | None = None
    """Skills that the agent reports as loaded."""
    references_loaded: tuple[str, ...] | None = None
    """References that the agent reports as loaded."""
    input_tokens: int | None = None
    """Input tokens, cached ones included; None also if all counts are 0."""
    cached_tokens: int | None = None
    """Input tokens read from a cache."""
    output_tokens: int | None = None
    """Output tokens."""
    cost_usd: float | None = None
    """Cost, US dollars; an estimate from a price table for most agents."""
    started_at: float | None = None
    """Seconds since the epoch, UTC."""
    finished_at: float | None = None
    """Seconds since the epoch, UTC."""
    agent_window: tuple[float, float] | None = None
    """Start and end of the agent's execution, seconds since the epoch."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration of each phase that ended: environment_setup, agent_setup, agent_execution,
    verifier."""
    steps: tuple[str, ...] = ()
    """Names of the steps of a multi-step task."""

    @property
    def status(self) -> TrialStatus:
        """How the trial ended; the verifier also runs after a timeout or a failed agent."""
        if self.exception in OUT_OF_TIME:
            return "timeout"
        if self.reward is not None:
            return "scored"
        return "error" if self.exception else "unscored"

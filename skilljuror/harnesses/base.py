"""What a harness is."""

from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from skilljuror.models.agent import AgentProgram
from skilljuror.models.study import HarnessChoice, PlannedTask, PlannedTrial, TrialRecord


class TrialJob(Struct, frozen=True):
    """All that one trial needs."""

    trial: PlannedTrial
    """What to run."""
    task: PlannedTask
    """The task with its digests."""
    task_dir: Path
    """The task's folder in Harbor format."""
    variant: str | None
    """Name of the variant; None offers no Skill."""
    variant_dir: Path | None
    """Folder that holds the skill folders."""
    agent: AgentProgram
    """Who runs."""
    choice: HarnessChoice
    """Time limits and options."""
    config_digest: str
    """Digest of the plan."""
    variant_digest: str | None = None
    """Tree digest the build recorded for the variant; a harness refuses to offer anything else."""


class Harness(Protocol):
    """Runs trials one at a time; instances are made with `options`, once per worker process."""

    def prepare(self) -> str:
        """Check the machine and return the isolation that will be used. Raises HarnessError."""
        ...

    def run(self, job: TrialJob, target: Path) -> TrialRecord:
        """Run one trial and leave its raw artifacts in the empty folder `target`.

        What the agent or the verifier does wrong is part of the record; only a broken
        machine raises (HarnessError).
        """
        ...


def trial_record(job: TrialJob, **outcome: Any) -> TrialRecord:
    """The record of a trial: what its job says, and in `outcome` the fields that the job cannot know."""
    return TrialRecord(
        trial=job.trial.trial,
        task=job.task.name,
        condition=job.trial.condition,
        number=job.trial.number,
        seed=job.trial.seed,
        agent=job.agent.name,
        agent_version=job.agent.version,
        model=job.agent.model,
        scripted=job.agent.scripted,
        config_digest=job.config_digest,
        substrate_digest=job.task.substrate_digest,
        variant=job.variant,
        usage_reason=job.agent.usage_reason,
        **outcome,
    )

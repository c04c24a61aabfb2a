"""What a harness is."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from skilljuror.models.agent import AgentProgram
from skilljuror.models.study import (
    AgentChoice,
    HarnessChoice,
    PlannedTask,
    PlannedTrial,
    TrialRecord,
)
from skilljuror.redaction import redact


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
    announced: tuple[str, ...] = ()
    """Files that the variant's pages tell the agent to write, relative to `variant_dir`: to have written
    them is no edit of the Skill."""
    disclosed: str | None = None
    """Sentence that names the offered Skills, which the harness puts as a paragraph of its own at the
    end of the prompt; None: the prompt is the instruction alone."""


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


Collected = Callable[[Path], TrialRecord]
"""Leaves the raw artifacts of one finished trial in an empty folder, and gives its record."""


class Batch(Struct, frozen=True):
    """Trials for a harness that runs several at a time by itself."""

    jobs: tuple[TrialJob, ...]
    """What to run, in the order of the plan."""
    folder: Path
    """Where the harness keeps what it needs to go on after it was killed."""
    scratch: Path
    """Folder for what nobody needs afterwards."""
    at_once: int
    """Trials that may be under way at a time."""
    lock: int
    """An open file that every process it starts holds open while it lives."""
    heard: Callable[[int], None] = lambda _: None
    """Told how many trials have ended that were not handed out yet."""
    kept: frozenset[tuple[str, str]] = frozenset()
    """Attempts at these trials that are kept already, as trial and start: what an earlier run left of
    them is no result."""


@runtime_checkable
class BatchHarness(Harness, Protocol):
    """A harness that schedules trials itself, and may bring agents of its own."""

    def own_agent(self, choice: AgentChoice) -> AgentProgram | None:
        """The agent that a study file chooses, where it is one of the harness."""
        ...

    def run_batch(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """Run every trial of a batch, those first of which an earlier run left the results.

        A trial handed out is collected before the next is asked for. Closing the iterator ends
        what is under way. Raises HarnessError.
        """
        ...


def key_values(agent: AgentProgram) -> dict[str, str]:
    """Names of the agent's keys with their values, from the environment alone."""
    return {name: os.environ[name] for name in agent.keys if name in os.environ}


def without_keys(text: str, agent: AgentProgram) -> str:
    """A text without the values of the agent's keys."""
    return redact(text, key_values(agent).values())


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
        effort=job.agent.effort,
        scripted=job.agent.scripted,
        config_digest=job.config_digest,
        substrate_digest=job.task.substrate_digest,
        variant=job.variant,
        disclosed=job.disclosed,
        usage_reason=job.agent.usage_reason,
        **outcome,
    )

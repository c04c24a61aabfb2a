"""What one run of a study works with, and what it says at its end."""

from pathlib import Path

from msgspec import Struct

from skilljuror.files import StudyFolder
from skilljuror.harnesses.base import Harness
from skilljuror.models.agent import AgentProgram
from skilljuror.models.study import StudyPlan
from skilljuror.pipeline.construction.given_skills import GivenSkills
from skilljuror.pipeline.execution.outcomes import OutcomeCounts
from skilljuror.pipeline.execution.study_builds import StudyBuilds
from skilljuror.pipeline.workers import Listener


class RunSummary(Struct, frozen=True):
    """Where a run stands."""

    folder: str
    """Folder of the study."""
    planned: int
    """Trials of the plan."""
    finished: int
    """Trials that have a record, those of earlier runs included."""
    ran: int
    """Trials that this call ran."""
    rerun: int
    """Of these, trials that had finished before and were run again."""
    statuses: dict[str, int]
    """Finished trials by status."""
    outcomes: tuple[OutcomeCounts, ...]
    """Rewards and exceptions by task; by condition as well only where that was asked for."""
    warnings: tuple[str, ...]
    """Tasks and conditions all whose trials have one reward."""
    isolation: str
    """What separated the trials from this machine."""
    stopped: str | None = None
    """Which budget stopped it before all trials had run; raise it and the same call goes on."""
    interrupted: bool = False
    """True when a person stopped it; the same call goes on with what is missing."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know, one line each."""


class StudyRun(Struct, frozen=True):
    """What one call of `run_study` works with."""

    base: Path
    """Folder of the study file, which its paths are relative to."""
    builds: StudyBuilds
    """What its variants are taken from."""
    given: GivenSkills
    """The Skills that conditions offer as they are."""
    plan: StudyPlan
    """The plan, frozen."""
    folder: StudyFolder
    """Where it is run."""
    agents: dict[str, AgentProgram]
    """Condition -> who runs."""
    harness: Harness
    """What runs the trials."""
    listener: Listener
    """Who is told of progress."""

"""Describe a run without running it."""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from skilljuror.base.models.exclusion import ExclusionRules
from skilljuror.base.models.study import TrialRecord
from skilljuror.base.models.trial_arm import arm_at
from skilljuror.layouts.build.folder import RECORD
from skilljuror.study.attempts import to_run_again
from skilljuror.study.exclusions import undecided
from skilljuror.study.run import prepared
from skilljuror.study.saved_plan import finished_records


class BuildStep(Struct, frozen=True):
    """A build of one task."""

    task: str
    source: str
    """Source bundle, relative to the study file."""
    variants: tuple[str, ...]
    there: bool
    """A build exists; it is reused if its source and options match."""


class TrialStep(Struct, frozen=True):
    """A trial that would run."""

    trial: str
    task: str
    condition: str
    variant: str | None
    """Offered variant; None for no Skill."""
    block: int
    """0-based block; each block has every cell once."""
    seed: int
    """Seed for the agent."""
    again: bool
    """A rerun of a finished trial."""


class DryRun(Struct, frozen=True):
    """The steps of one call of `run_study`, in order."""

    folder: str
    """Folder of the study."""
    builds: tuple[BuildStep, ...]
    commands: dict[str, tuple[str, ...]]
    """Condition -> agent's command; words in braces are filled in per trial."""
    harness: str
    isolation: str
    """Isolation of the trials from this machine."""
    trials: tuple[TrialStep, ...]
    """In starting order."""
    finished: int
    """Finished trials that are not rerun."""
    notes: tuple[str, ...] = ()


def dry_run(study_file: Path, folder: Path, *, rerun: Collection[str] = ()) -> DryRun:
    """Describe `run_study` with the same arguments, without writing or starting anything.

    Raises the same errors for an invalid study.
    """
    run, isolation = prepared(study_file, folder)
    plan, wanted = run.plan, tuple(sorted(run.builds.transforms))
    before: dict[str, TrialRecord] = finished_records(run.folder, plan)
    again, notes = to_run_again(run.folder, before, rerun)
    arms = {arm.name: arm for arm in plan.config.conditions}
    trials = tuple(
        TrialStep(
            trial=one.trial, task=one.task, condition=one.condition,
            variant=arm_at(arms[one.condition], one.number).offers, block=one.block, seed=one.seed,
            again=one.trial in before,
        )
        for one in plan.trials
        if one.trial not in before or one.trial in again
    )  # fmt: skip
    builds = [
        BuildStep(task.name, task.skills, wanted, (run.folder.build(task.name) / RECORD).is_file())
        for task in plan.tasks
        if wanted
    ]
    rules = ExclusionRules() if before else plan.config.exclude_rules
    return DryRun(
        folder=str(folder),
        builds=tuple(builds),
        commands={name: agent.argv for name, agent in run.agents.items()},
        harness=plan.config.harness.name,
        isolation=isolation,
        trials=trials,
        finished=len(before) - len(again),
        notes=(*notes, *undecided(rules)),
    )

"""What a run would do, without doing any of it."""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from skilljuror.models.study import ExclusionRules, TrialRecord
from skilljuror.pipeline.construction.build_folder import RECORD
from skilljuror.pipeline.execution.attempts import to_run_again
from skilljuror.pipeline.execution.exclusions import undecided
from skilljuror.pipeline.execution.kept_plan import finished_records
from skilljuror.pipeline.execution.run import prepared


class BuildStep(Struct, frozen=True):
    """One task's variants."""

    task: str
    """The task."""
    source: str
    """Its source bundle, relative to the study file."""
    variants: tuple[str, ...]
    """What is built of it."""
    there: bool
    """Whether a build lies there already; it is used where it is of this source and these options."""


class TrialStep(Struct, frozen=True):
    """One trial that would run."""

    trial: str
    """Its name."""
    task: str
    """The task."""
    condition: str
    """The condition."""
    variant: str | None
    """What Skill it offers; None for none."""
    block: int
    """0-based block; each block holds every cell once."""
    seed: int
    """Seed handed to the agent."""
    again: bool
    """Whether it has finished before and would be run again."""


class DryRun(Struct, frozen=True):
    """What one call of `run_study` would do, in order."""

    folder: str
    """Folder of the study."""
    builds: tuple[BuildStep, ...]
    """What is built first."""
    commands: dict[str, tuple[str, ...]]
    """Condition -> the agent's command; words in braces are filled in for each trial."""
    harness: str
    """What runs the trials."""
    isolation: str
    """What would separate them from this machine."""
    trials: tuple[TrialStep, ...]
    """The trials in the order in which they would begin."""
    finished: int
    """Trials that have a record already and stay as they are."""
    notes: tuple[str, ...] = ()
    """What else is to be said of it."""


def dry_run(study_file: Path, folder: Path, *, rerun: Collection[str] = ()) -> DryRun:
    """What `run_study` would do with the same arguments; nothing is written, nothing is started.

    Raises what it would raise of a study that cannot be run.
    """
    run, isolation = prepared(study_file, folder)
    plan, wanted = run.plan, tuple(sorted(run.builds.transforms))
    before: dict[str, TrialRecord] = finished_records(run.folder, plan)
    again, notes = to_run_again(run.folder, before, rerun)
    offers = {arm.name: arm.offers for arm in plan.config.conditions}
    trials = tuple(
        TrialStep(
            trial=one.trial, task=one.task, condition=one.condition,
            variant=offers[one.condition], block=one.block, seed=one.seed,
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

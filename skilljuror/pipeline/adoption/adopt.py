"""Finished Harbor jobs as a study: what a trial's result says is its record, and nothing is made up."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from skilljuror import __version__
from skilljuror.bundles import write_bundle
from skilljuror.errors import StudyError
from skilljuror.files import (
    StudyFolder,
    digest_json,
    fresh_dir,
    path_text,
    read_record,
    write_atomic,
    write_jsonl,
    write_record,
)
from skilljuror.models.adoption import AdoptionMap
from skilljuror.models.harbor import SCRIPTED, HarborResult
from skilljuror.models.study import (
    AgentChoice,
    Condition,
    HarnessChoice,
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TaskEntry,
    TrialRecord,
)
from skilljuror.parsers.harbor.result import record_fields
from skilljuror.pipeline.adoption.matching import AdoptedTrial, TrialLeftOut, match_trials
from skilljuror.pipeline.adoption.offered_skills import OfferedSkills, offered_skills, unproved
from skilljuror.studies.plan import check_conditions, planned_trial
from skilljuror.studies.study_file import load_adoption
from skilljuror.studies.tasks import task_attributes

ADOPTED = "adopted.jsonl"
"""Where every trial of an adopted study comes from."""


class AdoptedArm(Struct, frozen=True):
    """One arm of an adopted study."""

    condition: str
    """Name of the arm."""
    rule: str
    """Glob that its trials' paths fit."""
    trials: int
    """How many fit it."""
    tasks: int
    """How many tasks these are of."""


class AdoptedCell(Struct, frozen=True):
    """How the trials of a task ended under one condition."""

    task: str
    """Name of the task."""
    agent: str
    """Name of the agent."""
    condition: str
    """Name of the arm."""
    trials: int
    """Its trials."""
    scored: int
    """Trials with a reward."""
    strict_pass: int
    """Trials with a reward of exactly 1."""


class Adoption(Struct, frozen=True):
    """What came of an adoption."""

    folder: str
    """Folder of the study."""
    written: bool
    """False where nothing was to be written."""
    arms: tuple[AdoptedArm, ...]
    """The arms, in the order of the map."""
    outcomes: tuple[AdoptedCell, ...]
    """By task and arm."""
    left_out: tuple[TrialLeftOut, ...]
    """Trials in no arm."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know."""


class SourceOfTrial(Struct, frozen=True):
    """A row of adopted.jsonl."""

    trial: str
    """<task>__<condition>__<number>."""
    source: str
    """The folder that it was copied from."""
    task_checksum: str | None
    """Harbor's digest of the task, with the Skills that it bakes in."""


def adopt(jobs: Sequence[Path], map_file: Path, target: Path, *, dry_run: bool = False) -> Adoption:
    """Make a new study at `target` of the finished trials below `jobs`, each in the arm that the map
    gives it; with `dry_run` nothing is written.

    Raises StudyError for a map that is wrong or fits no trial, and for a target that holds something.
    """
    adoption = load_adoption(map_file)
    check_conditions([arm.name for arm in adoption.conditions], adoption.contrast)
    trials, left_out = match_trials(jobs, adoption)
    if not trials:
        reason = f"; {left_out[0].folder}: {left_out[0].reason}" if left_out else ""
        raise StudyError(
            f"{map_file}: none of {len(left_out)} trials fits an arm{reason}", file=str(map_file)
        )
    offered = offered_skills(adoption, trials, map_file)
    plan = _plan(adoption, _in_time(trials), map_file.parent)
    if not dry_run and not _is_there(target, plan):
        _write(target, plan, _in_time(trials), offered, map_file)
    return Adoption(
        str(target),
        not dry_run,
        tuple(_arms(adoption, trials)),
        tuple(_outcomes(adoption, trials)),
        tuple(left_out),
        (*_changed_tasks(trials), *unproved(trials, offered)),
    )


def _in_time(trials: Sequence[AdoptedTrial]) -> list[AdoptedTrial]:
    """The trials as they began."""
    return sorted(trials, key=lambda trial: (trial.result.started_at or 0.0, trial.folder))


def _is_there(target: Path, plan: StudyPlan) -> bool:
    """Whether the folder holds this very study. Raises StudyError where it holds anything else."""
    folder = StudyFolder(target)
    if (
        folder.planned
        and read_record(StudyPlan, folder.plan_file).config_digest == plan.config_digest
    ):
        return True
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StudyError(f"{str(target)!r} holds something; name a new folder", file=str(target))
    return False


def _write(
    target: Path,
    plan: StudyPlan,
    trials: Sequence[AdoptedTrial],
    offered: OfferedSkills,
    map_file: Path,
) -> None:
    """The study, whole or not at all, with every artifact byte for byte."""
    variants = {arm.name: arm.variant for arm in plan.config.conditions if arm.variant}
    with fresh_dir(target) as staging:
        folder = StudyFolder(staging)
        built = {(task, variants[arm]): bundle for (task, arm), bundle in offered.items()}
        for (task, variant), bundle in built.items():
            write_bundle(bundle.files, folder.variant(task, variant))
        sources = []
        for trial, planned in zip(trials, plan.trials, strict=True):
            shutil.copytree(trial.path, folder.trial_raw(planned.trial), symlinks=True)
            got = offered.get((trial.task, trial.condition))
            record = _record(plan, planned, trial.result, got.digest if got else None)
            write_record(folder.trial_record(planned.trial), record)
            sources.append(
                SourceOfTrial(planned.trial, path_text(trial.path), trial.result.task_checksum)
            )
        write_jsonl(staging / ADOPTED, sources)
        write_atomic(staging / "map.yaml", map_file.read_bytes())
        write_record(folder.plan_file, plan)


def _plan(adoption: AdoptionMap, trials: Sequence[AdoptedTrial], base: Path) -> StudyPlan:
    """The plan that the trials, in the order of their time, amount to."""
    attributes = dict(task_attributes(entry, base) for entry in adoption.tasks)
    names = sorted({trial.task for trial in trials})
    tasks = tuple(_task(name, attributes.get(name, {})) for name in names)
    cells: Counter[tuple[str, str]] = Counter()
    planned = []
    for order, trial in enumerate(trials):
        cell = trial.task, trial.condition
        planned.append(planned_trial(0, *cell, order, cells[cell]))
        cells[cell] += 1
    digest = digest_json([
        adoption.model_dump(mode="json"), sorted(trial.result.id for trial in trials)
    ])  # fmt: skip
    config = StudyConfig(
        name=adoption.name,
        trials_per_cell=max(cells.values()),
        tasks=tuple(TaskEntry(path=task.path) for task in tasks),
        conditions=tuple(Condition(name=a.name, variant=a.variant) for a in adoption.conditions),
        contrast=adoption.contrast,
        harness=HarnessChoice(name="harbor"),
        agent=AgentChoice(name=_agent(trials[0].result), model=trials[0].result.model),
    )
    return StudyPlan(
        skilljuror_version=__version__,
        config=config,
        config_digest=digest,
        tasks=tasks,
        trials=tuple(planned),
    )


def _agent(result: HarborResult) -> str:
    return result.agent or "unknown"


def _task(name: str, attributes: dict[str, str]) -> PlannedTask:
    """A task as it ran, of which no file is known."""
    return PlannedTask(
        name=name,
        path=name,
        skills="",
        attributes=attributes,
        instruction_digest="",
        environment_digest="",
        verifier_digest="",
        source_digest="",
    )


def _record(
    plan: StudyPlan, planned: PlannedTrial, result: HarborResult, variant_digest: str | None
) -> TrialRecord:
    """The record of a trial as Harbor tells it; what it does not say is null."""
    task = next(task for task in plan.tasks if task.name == planned.task)
    arm = next(arm for arm in plan.config.conditions if arm.name == planned.condition)
    return TrialRecord(
        trial=planned.trial,
        task=planned.task,
        condition=planned.condition,
        number=planned.number,
        seed=planned.seed,
        agent=_agent(result),
        agent_version=result.agent_version,
        model=result.model,
        scripted=result.agent in SCRIPTED,
        config_digest=plan.config_digest,
        substrate_digest=task.substrate_digest,
        variant=arm.variant,
        variant_digest=variant_digest,
        skill_root=None,
        **record_fields(result),
    )


def _arms(adoption: AdoptionMap, trials: Sequence[AdoptedTrial]) -> Iterator[AdoptedArm]:
    for arm in adoption.conditions:
        own = [trial for trial in trials if trial.condition == arm.name]
        yield AdoptedArm(arm.name, arm.trials, len(own), len({trial.task for trial in own}))


def _outcomes(adoption: AdoptionMap, trials: Sequence[AdoptedTrial]) -> Iterator[AdoptedCell]:
    for task in sorted({trial.task for trial in trials}):
        for arm in adoption.conditions:
            cell = [t.result for t in trials if (t.task, t.condition) == (task, arm.name)]
            if cell:
                scored = sum(result.reward is not None for result in cell)
                passed = sum(result.reward == 1.0 for result in cell)
                yield AdoptedCell(task, _agent(cell[0]), arm.name, len(cell), scored, passed)


def _changed_tasks(trials: Sequence[AdoptedTrial]) -> Iterator[str]:
    """A note on tasks whose trials ran on different files: SkillsBench bakes its Skills in."""
    checksums: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        if trial.result.task_checksum:
            checksums[trial.task].add(trial.result.task_checksum)
    changed = sorted(task for task, found in checksums.items() if len(found) > 1)
    if changed:
        yield (
            f"Harbor's checksum of the task differs between trials of {', '.join(changed[:3])}"
            f"{' and others' if len(changed) > 3 else ''}: more than the Skill may differ there"
        )

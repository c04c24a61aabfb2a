"""Adopt finished Harbor jobs as a study, with records from each trial's result."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from skilljuror.base import __version__
from skilljuror.base.errors import StudyError
from skilljuror.base.files import (
    StudyFolder,
    digest_json,
    fresh_dir,
    path_text,
    read_record,
    write_atomic,
    write_jsonl,
    write_record,
)
from skilljuror.base.study import (
    SCRIPTED,
    AdoptionMap,
    AgentChoice,
    Condition,
    HarborResult,
    HarnessChoice,
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TaskEntry,
    TrialRecord,
)
from skilljuror.harness.tasks import task_attributes
from skilljuror.logs.harbor.result import record_fields
from skilljuror.skill.bundles import write_bundle
from skilljuror.study.condition_matching import AdoptedTrial, TrialLeftOut, match_trials
from skilljuror.study.faults import checked_by_log
from skilljuror.study.offered_skills import OfferedSkills, offered_skills, unproved
from skilljuror.study.plan import check_conditions, planned_trial
from skilljuror.study.study_file import load_adoption

ADOPTED = "adopted.jsonl"
"""Sources of an adopted study's trials."""


class AdoptedArm(Struct, frozen=True):
    """One arm of an adopted study."""

    condition: str
    rule: str
    """Glob for its trials' paths."""
    trials: int
    """Matching trials."""
    tasks: int
    """Tasks of these trials."""


class AdoptedCell(Struct, frozen=True):
    """Results of a task under one condition."""

    task: str
    agent: str
    condition: str
    trials: int
    scored: int
    """Trials with a reward."""
    strict_pass: int
    """Trials with a reward of exactly 1."""


class Adoption(Struct, frozen=True):
    """Result of an adoption."""

    folder: str
    """Folder of the study."""
    written: bool
    """False for a dry run."""
    arms: tuple[AdoptedArm, ...]
    """In the order of the map."""
    outcomes: tuple[AdoptedCell, ...]
    """By task and arm."""
    left_out: tuple[TrialLeftOut, ...]
    """Trials without an arm."""
    notes: tuple[str, ...] = ()


class SourceOfTrial(Struct, frozen=True):
    """A row of adopted.jsonl."""

    trial: str
    """<task>__<condition>__<number>."""
    source: str
    """Original folder."""
    task_checksum: str | None
    """Harbor's digest of the task, including its baked-in Skills."""


def adopt(jobs: Sequence[Path], map_file: Path, target: Path, *, dry_run: bool = False) -> Adoption:
    """Create a study at `target` from the finished trials below `jobs`, with arms by the map; `dry_run`
    writes nothing.

    Raises StudyError for a map that is invalid or matches no trial, and for a target with content.
    """
    adoption = load_adoption(map_file)
    check_conditions([arm.name for arm in adoption.conditions], adoption.contrast)
    trials, left_out = match_trials(jobs, adoption)
    if not trials:
        reason = f"; {left_out[0].folder}: {left_out[0].reason}" if left_out else ""
        raise StudyError(
            f"{map_file}: no arm matches any of {len(left_out)} trials{reason}", file=str(map_file)
        )
    offered = offered_skills(adoption, trials, map_file)
    trials.sort(key=lambda trial: (trial.result.started_at or 0.0, trial.folder))
    plan = _plan(adoption, trials, map_file.parent)
    records = [
        _record(plan, planned, trial, offered)
        for trial, planned in zip(trials, plan.trials, strict=True)
    ]
    if not dry_run and not _exists(target, plan):
        _write(target, plan, list(zip(trials, records, strict=True)), offered, map_file)
    return Adoption(
        str(target),
        not dry_run,
        tuple(_arms(adoption, trials)),
        tuple(_outcomes(adoption, records)),
        tuple(left_out),
        (*_changed_tasks(trials), *unproved(trials, offered)),
    )


def _exists(target: Path, plan: StudyPlan) -> bool:
    """Whether the folder has this study. Raises StudyError for other content."""
    folder = StudyFolder(target)
    if (
        folder.planned
        and read_record(StudyPlan, folder.plan_file).config_digest == plan.config_digest
    ):
        return True
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StudyError(f"{str(target)!r} is not empty; name a new folder", file=str(target))
    return False


def _write(
    target: Path,
    plan: StudyPlan,
    trials: Sequence[tuple[AdoptedTrial, TrialRecord]],
    offered: OfferedSkills,
    map_file: Path,
) -> None:
    """Write the study atomically, with byte-for-byte copies of all artifacts."""
    variants = {arm.name: arm.variant for arm in plan.config.conditions if arm.variant}
    with fresh_dir(target) as staging:
        folder = StudyFolder(staging)
        built = {(task, variants[arm]): bundle for (task, arm), bundle in offered.items()}
        for (task, variant), bundle in built.items():
            write_bundle(bundle.files, folder.variant(task, variant))
        sources = []
        for trial, record in trials:
            shutil.copytree(trial.path, folder.trial_raw(record.trial), symlinks=True)
            write_record(folder.trial_record(record.trial), record)
            sources.append(
                SourceOfTrial(record.trial, path_text(trial.path), trial.result.task_checksum)
            )
        write_jsonl(staging / ADOPTED, sources)
        write_atomic(staging / "map.yaml", map_file.read_bytes())
        write_record(folder.plan_file, plan)


def _plan(adoption: AdoptionMap, trials: Sequence[AdoptedTrial], base: Path) -> StudyPlan:
    """Derive the plan from the trials in order of time."""
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
        healthy_first=adoption.healthy_first,
        fewest_usable=adoption.fewest_usable,
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
    """A task without known files."""
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
    plan: StudyPlan, planned: PlannedTrial, trial: AdoptedTrial, offered: OfferedSkills
) -> TrialRecord:
    """Convert Harbor's result; missing values are null. The log decides as in other studies whether a
    model answered; without a log that is unknown."""
    result, got = trial.result, offered.get((trial.task, trial.condition))
    task = next(task for task in plan.tasks if task.name == planned.task)
    arm = next(arm for arm in plan.config.conditions if arm.name == planned.condition)
    record = TrialRecord(
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
        variant_digest=got.digest if got else None,
        skill_root=None,
        **record_fields(result),
    )
    return checked_by_log(record, trial.path)


def _arms(adoption: AdoptionMap, trials: Sequence[AdoptedTrial]) -> Iterator[AdoptedArm]:
    for arm in adoption.conditions:
        own = [trial for trial in trials if trial.condition == arm.name]
        yield AdoptedArm(arm.name, arm.trials, len(own), len({trial.task for trial in own}))


def _outcomes(adoption: AdoptionMap, records: Sequence[TrialRecord]) -> Iterator[AdoptedCell]:
    for task in sorted({record.task for record in records}):
        for arm in adoption.conditions:
            cell = [one for one in records if (one.task, one.condition) == (task, arm.name)]
            if cell:
                scored = sum(record.reward is not None for record in cell)
                passed = sum(record.reward == 1.0 for record in cell)
                yield AdoptedCell(task, cell[0].agent, arm.name, len(cell), scored, passed)


def _changed_tasks(trials: Sequence[AdoptedTrial]) -> Iterator[str]:
    """Note tasks with different files between trials: SkillsBench bakes in its Skills."""
    checksums: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        if trial.result.task_checksum:
            checksums[trial.task].add(trial.result.task_checksum)
    changed = sorted(task for task, found in checksums.items() if len(found) > 1)
    if changed:
        yield (
            f"Harbor's task checksum differs between trials of {', '.join(changed[:3])}"
            f"{' and others' if len(changed) > 3 else ''}: these may differ in more than the Skill"
        )

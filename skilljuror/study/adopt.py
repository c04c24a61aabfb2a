"""Make a study from the trials of finished Harbor jobs: a map says which trials belong to which arm."""

import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base import __version__
from skilljuror.base.errors import StudyError, TrajectoryError, UsageError
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
from skilljuror.base.skill import Bundle
from skilljuror.base.study import (
    REWARD,
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
    chosen_reward,
)
from skilljuror.harness.tasks import can_name_trials, task_attributes
from skilljuror.logs.harbor import (
    describe_skills,
    is_trial,
    locked_skills,
    read_result,
    record_fields,
    skill_digest,
)
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.study.plan import check_conditions, load_yaml, planned_trial
from skilljuror.study.trial import checked_by_log


class AdoptedTrial(Struct, frozen=True):
    """A trial that belongs to an arm."""

    folder: str
    """Folder from the job on, which the map's globs match."""
    path: Path
    """Full path of the folder."""
    result: HarborResult
    condition: str
    """Name of its arm."""

    @property
    def task(self) -> str:
        """The task's name in the study."""
        return task_of(self.result)


def task_of(result: HarborResult) -> str:
    """The task's name without its organisation, with single underscores: two part the names of
    trials."""
    return re.sub("__+", "_", result.task_name.rpartition("/")[2])


class TrialLeftOut(Struct, frozen=True):
    """A trial without an arm."""

    folder: str
    """Folder from the job on."""
    reason: str


def match_trials(
    jobs: Sequence[Path], adoption: AdoptionMap
) -> tuple[list[AdoptedTrial], list[TrialLeftOut]]:
    """Match every trial below `jobs`, in path order; return adopted and excluded ones.

    Raises UsageError for a missing job, StudyError for a trial that matches two arms and for trials of
    several agents or models.
    """
    adopted: dict[str, AdoptedTrial] = {}
    left_out: list[TrialLeftOut] = []
    for path, folder in _trial_folders(jobs):
        found = _match(path, folder, adoption)
        if isinstance(found, TrialLeftOut):
            left_out.append(found)
        elif (first := adopted.setdefault(found.result.id, found)) is not found:
            left_out.append(TrialLeftOut(folder, f"a copy of {first.folder}"))
    _refuse_several(list(adopted.values()))
    _refuse_equal_names(list(adopted.values()))
    return list(adopted.values()), left_out


def _trial_folders(jobs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """(folder, path from the job's parent on) of every trial."""
    for job in jobs:
        if not job.is_dir():
            raise UsageError(f"jobs folder {str(job)!r} not found", file=str(job))
        root = job.resolve()
        for base, folders, files in os.walk(root):
            folders.sort()
            path = Path(base)
            if "result.json" in files and is_trial(path):
                folders.clear()
                yield path, path_text(path.relative_to(root.parent))


def _match(path: Path, folder: str, adoption: AdoptionMap) -> AdoptedTrial | TrialLeftOut:
    try:
        result = read_result(path)
    except TrajectoryError as error:
        return TrialLeftOut(folder, error.message)
    arms = [arm for arm in adoption.conditions if fnmatchcase(folder, arm.trials)]
    if len(arms) > 1:
        raise StudyError(
            f"{folder!r} matches the trials of {arms[0].name!r} ({arms[0].trials!r}) and of"
            f" {arms[1].name!r} ({arms[1].trials!r}); make the globs of the arms disjoint",
            field="conditions",
        )
    reason = _misfit(result, adoption) if arms else "no condition's glob matches its path"
    if reason:
        return TrialLeftOut(folder, reason)
    if result.rewards and adoption.reward != REWARD:
        chosen = chosen_reward(result.rewards, adoption.reward)
        result = replace(result, reward=chosen.value, problem=chosen.problem)
    return AdoptedTrial(folder, path, result, arms[0].name)


def _misfit(result: HarborResult, adoption: AdoptionMap) -> str | None:
    """Why a trial cannot be part of the study, or None."""
    if adoption.agent is not None and result.agent != adoption.agent:
        return f"its agent is {result.agent}"
    if adoption.model is not None and result.model != adoption.model:
        return f"its model is {result.model}"
    if not can_name_trials(task_of(result)):
        return f"its task {result.task_name!r} is not a valid name"
    if result.started_at is None or result.finished_at is None:
        return "its result.json lacks a start or end time"
    return None


def _refuse_equal_names(adopted: Sequence[AdoptedTrial]) -> None:
    """Raise StudyError for two tasks that would have one name in the study."""
    first: dict[str, str] = {}
    for name, given in ((trial.task, trial.result.task_name) for trial in adopted):
        if first.setdefault(name, given).rpartition("/")[2] != given.rpartition("/")[2]:
            raise StudyError(
                f"the tasks {first[name]!r} and {given!r} would both be {name!r} in the study; adopt"
                " them as two studies",
                field="conditions",
            )


def _refuse_several(adopted: Sequence[AdoptedTrial]) -> None:
    """Raise StudyError for several agents or models: trials may differ in the Skill only."""
    for field in ("agent", "model"):
        names = sorted({str(getattr(trial.result, field)) for trial in adopted})
        if len(names) > 1:
            raise StudyError(
                f"the trials have several {field}s ({', '.join(names)}), but a study has one; choose it"
                f" in the map ({field}: {names[0]})",
                field=field,
            )


OfferedSkills = Mapping[tuple[str, str], Bundle]
"""(task, condition) -> Skills of its trials, if known."""


def offered_skills(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> OfferedSkills:
    """Load the Skills that the map names. Raises StudyError if Harbor locked other Skills, if an arm
    without a variant has Skills, or if a name stands for two variants; BundleError for an invalid
    folder."""
    _refuse_skills_without_variant(adoption, trials, map_file)
    offered: dict[tuple[str, str], Bundle] = {}
    folders = {arm.name: arm.skills for arm in adoption.conditions if arm.skills}
    for trial in trials:
        cell = trial.task, trial.condition
        if trial.condition in folders and cell not in offered:
            offered[cell] = load_bundle(
                map_file.parent / folders[trial.condition].replace("{task}", trial.task)
            )
        if cell in offered:
            _refuse_other_skills(trial, offered[cell])
    _refuse_ambiguous_variants(adoption, offered)
    return offered


def _refuse_skills_without_variant(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> None:
    for place, arm in enumerate(adoption.conditions):
        if arm.variant is not None:
            continue
        own = (trial for trial in trials if trial.condition == arm.name)
        locked = next((trial.folder for trial in own if locked_skills(trial.path)), None)
        if arm.skills or locked:
            why = "it has skills" if arm.skills else f"the lock.json of {locked!r} has Skills"
            raise StudyError(
                f"{map_file}: field 'conditions.{place}.variant': null means no Skill in"
                f" {arm.name!r}, but {why}; name the variant, such as variant: origin",
                file=str(map_file),
                field=f"conditions.{place}.variant",
            )


def _refuse_ambiguous_variants(adoption: AdoptionMap, offered: OfferedSkills) -> None:
    variants = {arm.name: arm.variant for arm in adoption.conditions}
    first: dict[tuple[str, str | None], str] = {}
    for (task, condition), bundle in offered.items():
        other = first.setdefault((task, variants[condition]), condition)
        if offered[task, other].digest != bundle.digest:
            raise StudyError(
                f"the variant {variants[condition]!r} of task {task!r} differs between {other!r} and"
                f" {condition!r}; give each its own name",
                field="variant",
            )


def unproved(trials: Sequence[AdoptedTrial], offered: OfferedSkills) -> Iterator[str]:
    """Note trials without a lock of their Skills."""
    count = sum((t.task, t.condition) in offered and locked_skills(t.path) is None for t in trials)
    if count:
        yield f"trials without a lock.json, so their Skills are unproved: {count}"


def _refuse_other_skills(trial: AdoptedTrial, bundle: Bundle) -> None:
    locked = locked_skills(trial.path)
    held = {skill.directory: _digest(bundle, skill.directory) for skill in bundle.skills}
    if locked is not None and locked != held:
        raise StudyError(
            f"{trial.folder!r} has other Skills than {bundle.source!r}: its lock.json has"
            f" {describe_skills(locked)}, the folder {describe_skills(held)}; fix the skills of {trial.condition!r}",
            file=str(trial.path / "lock.json"),
            field="skills",
        )


def _digest(bundle: Bundle, directory: str) -> str:
    folder = f"{directory}/"
    files = {path: blob for path, blob in bundle.files.items() if path.startswith(folder)}
    return skill_digest((path.removeprefix(folder), blob.sha256) for path, blob in files.items())


ADOPTED = "adopted.jsonl"
"""Sources of an adopted study's trials."""


class SourceOfTrial(Struct, frozen=True):
    """A row of adopted.jsonl."""

    trial: str
    """<task>__<condition>__<number>."""
    source: str
    """Original folder."""
    task_checksum: str | None
    """Harbor's digest of the task, including its baked-in Skills."""


def adopt(jobs: Sequence[Path], map_file: Path, target: Path) -> tuple[str, ...]:
    """Create a study at `target` from the finished trials below `jobs`, with arms by the map; return what a reader
    must know of it, in sentences. A study that was made before is left as it is.

    Raises StudyError for a map that is invalid or matches no trial, and for a target with content.
    """
    adoption = load_yaml(map_file, AdoptionMap, "map.yaml")
    check_conditions([arm.name for arm in adoption.conditions], adoption.contrast)
    trials, left_out = match_trials(jobs, adoption)
    reasons = [f"{trial.folder} is left out: {trial.reason}" for trial in left_out]
    if not trials:
        reason = f"; {left_out[0].folder}: {left_out[0].reason}" if left_out else ""
        raise StudyError(
            f"{map_file}: no arm matches any of {len(left_out)} trials{reason}", file=str(map_file)
        )
    offered = offered_skills(adoption, trials, map_file)
    trials.sort(key=lambda trial: (trial.result.started_at or 0.0, trial.folder))
    plan = _plan(adoption, trials, map_file.parent)
    if not _exists(target, plan):
        records = [
            _record(plan, planned, trial, offered)
            for trial, planned in zip(trials, plan.trials, strict=True)
        ]
        _write(target, plan, list(zip(trials, records, strict=True)), offered, map_file)
    return (*reasons, *_changed_tasks(trials), *unproved(trials, offered))


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

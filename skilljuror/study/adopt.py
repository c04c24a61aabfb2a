"""Make a study from the trials of finished Harbor jobs: a map says which trials belong to which arm."""

import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
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
    """A finished trial of Harbor that belongs to an arm."""

    folder: str
    """Folder from the job on, which the map's globs match."""
    path: Path
    """Full path of the folder."""
    result: HarborResult
    condition: str
    """Name of its arm."""

    @property
    def task(self) -> str:
        """The task's name without its organisation, with single underscores: two part the names of trials."""
        return re.sub("__+", "_", self.result.task_name.rpartition("/")[2])


def adopt(jobs: Sequence[Path], map_file: Path, target: Path) -> tuple[str, ...]:
    """Create a study at `target` from the finished trials below `jobs`, with arms by the map; return what a reader
    must know of it, in sentences. A study that was made before is left as it is.

    Raises UsageError for a missing job; StudyError for a map that is invalid or matches no trial, for trials that
    differ in more than the Skill, for Skills that Harbor did not lock, and for a target with content.
    """
    adoption = load_yaml(map_file, AdoptionMap, "map.yaml")
    check_conditions([arm.name for arm in adoption.conditions], adoption.contrast)
    trials, notes = _match(jobs, adoption)
    if not trials:
        raise StudyError(
            f"{map_file}: no arm matches any of {len(notes)} trials"
            + (f"; {notes[0]}" if notes else ""),
            file=str(map_file),
        )
    _refuse_other_differences(trials)
    skills, unproved = _offered_skills(adoption, trials, map_file)
    trials.sort(key=lambda trial: (trial.result.started_at or 0.0, trial.folder))
    plan = _plan(adoption, trials, map_file.parent)
    folder = StudyFolder(target)
    known = folder.planned and read_record(StudyPlan, folder.plan_file)
    if not known or known.config_digest != plan.config_digest:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise StudyError(f"{str(target)!r} is not empty; name a new folder", file=str(target))
        _write(target, plan, trials, skills, map_file)
    checksums = defaultdict[str, set[str]](set)
    for trial in trials:
        if trial.result.task_checksum:
            checksums[trial.task].add(trial.result.task_checksum)
    changed = sorted(task for task, found in checksums.items() if len(found) > 1)
    if changed:
        notes.append(
            f"Harbor's task checksum differs between trials of {', '.join(changed[:3])}"
            f"{' and others' if len(changed) > 3 else ''}: these may differ in more than the Skill"
        )
    if unproved:
        notes.append(f"trials without a lock.json, so their Skills are unproved: {unproved}")
    return tuple(notes)


def _match(jobs: Sequence[Path], adoption: AdoptionMap) -> tuple[list[AdoptedTrial], list[str]]:
    """Match every trial below `jobs`, in path order; return the adopted ones, and a sentence about each other."""
    adopted: dict[str, AdoptedTrial] = {}
    left_out: list[str] = []
    for path, folder in _trial_folders(jobs):
        try:
            result = read_result(path)
        except TrajectoryError as error:
            left_out.append(f"{folder} is left out: {error.message}")
            continue
        arms = [arm for arm in adoption.conditions if fnmatchcase(folder, arm.trials)]
        if len(arms) > 1:
            raise StudyError(
                f"{folder!r} matches the trials of {arms[0].name!r} ({arms[0].trials!r}) and of"
                f" {arms[1].name!r} ({arms[1].trials!r}); make the globs of the arms disjoint",
                field="conditions",
            )
        trial = AdoptedTrial(folder, path, result, arms[0].name if arms else "")
        reason = "no condition's glob matches its path"
        if arms:
            copy = adopted.get(result.id)
            reason = f"a copy of {copy.folder}" if copy else _misfit(trial, adoption)
        if reason:
            left_out.append(f"{folder} is left out: {reason}")
            continue
        if result.rewards and adoption.reward != REWARD:
            chosen = chosen_reward(result.rewards, adoption.reward)
            trial = replace(
                trial, result=replace(result, reward=chosen.value, problem=chosen.problem)
            )
        adopted[result.id] = trial
    return list(adopted.values()), left_out


def _misfit(trial: AdoptedTrial, adoption: AdoptionMap) -> str:
    """Why a trial cannot be part of the study; "" if it can."""
    result = trial.result
    if adoption.agent not in {None, result.agent}:
        return f"its agent is {result.agent}"
    if adoption.model not in {None, result.model}:
        return f"its model is {result.model}"
    if not can_name_trials(trial.task):
        return f"its task {result.task_name!r} is not a valid name"
    timed = result.started_at is not None and result.finished_at is not None
    return "" if timed else "its result.json lacks a start or end time"


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


def _refuse_other_differences(trials: Sequence[AdoptedTrial]) -> None:
    """Raise StudyError for several agents or models, and for two tasks that would have one name."""
    for field in ("agent", "model"):
        names = sorted({str(getattr(trial.result, field)) for trial in trials})
        if len(names) > 1:
            raise StudyError(
                f"the trials have several {field}s ({', '.join(names)}), but a study has one; choose it"
                f" in the map ({field}: {names[0]})",
                field=field,
            )
    given: dict[str, str] = {}
    for trial in trials:
        name = trial.result.task_name
        first = given.setdefault(trial.task, name)
        if first.rpartition("/")[2] != name.rpartition("/")[2]:
            raise StudyError(
                f"the tasks {first!r} and {name!r} would both be {trial.task!r} in the study; adopt"
                " them as two studies",
                field="conditions",
            )


def _offered_skills(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> tuple[dict[tuple[str, str], Bundle], int]:
    """Load the Skills that the map names, by (task, condition); return them, and how many of their trials have no
    lock. Raises StudyError if Harbor locked other Skills, if an arm without a variant has Skills, or if a name
    stands for two variants; BundleError for an invalid folder."""
    arms = {arm.name: arm for arm in adoption.conditions}
    skills: dict[tuple[str, str], Bundle] = {}
    held: dict[tuple[str, str], dict[str, str]] = {}
    variants: dict[tuple[str, str | None], str] = {}
    unproved = 0
    for trial in trials:
        arm, cell = arms[trial.condition], (trial.task, trial.condition)
        locked = locked_skills(trial.path)
        if arm.variant is None and (arm.skills or locked):
            field = f"conditions.{adoption.conditions.index(arm)}.variant"
            why = "it has skills" if arm.skills else f"the lock.json of {trial.folder!r} has Skills"
            raise StudyError(
                f"{map_file}: field {field!r}: null means no Skill in {arm.name!r}, but {why};"
                " name the variant, such as variant: origin",
                file=str(map_file),
                field=field,
            )
        if not arm.skills:
            continue
        if cell not in skills:
            bundle = load_bundle(map_file.parent / arm.skills.replace("{task}", trial.task))
            skills[cell], held[cell] = bundle, {}
            for skill in bundle.skills:
                inside = f"{skill.directory}/"
                held[cell][skill.directory] = skill_digest(
                    (path.removeprefix(inside), blob.sha256)
                    for path, blob in bundle.files.items()
                    if path.startswith(inside)
                )
            first = variants.setdefault((trial.task, arm.variant), arm.name)
            if skills[trial.task, first].digest != bundle.digest:
                raise StudyError(
                    f"the variant {arm.variant!r} of task {trial.task!r} differs between {first!r} and"
                    f" {arm.name!r}; give each its own name",
                    field="variant",
                )
        unproved += locked is None
        if locked is not None and locked != held[cell]:
            raise StudyError(
                f"{trial.folder!r} has other Skills than {skills[cell].source!r}: its lock.json has"
                f" {describe_skills(locked)}, the folder {describe_skills(held[cell])}; fix the skills of"
                f" {trial.condition!r}",
                file=str(trial.path / "lock.json"),
                field="skills",
            )
    return skills, unproved


def _plan(adoption: AdoptionMap, trials: Sequence[AdoptedTrial], base: Path) -> StudyPlan:
    """Derive the plan from the trials in order of time; the files of the tasks are unknown."""
    attributes = dict(task_attributes(entry, base) for entry in adoption.tasks)
    digests = dict.fromkeys(
        ("instruction_digest", "environment_digest", "verifier_digest", "source_digest"), ""
    )
    tasks = tuple(
        PlannedTask(name=name, path=name, skills="", attributes=attributes.get(name, {}), **digests)
        for name in sorted({trial.task for trial in trials})
    )
    cells: Counter[tuple[str, str]] = Counter()
    planned = []
    for order, trial in enumerate(trials):
        cell = trial.task, trial.condition
        planned.append(planned_trial(0, *cell, order, cells[cell]))
        cells[cell] += 1
    first = trials[0].result
    config = StudyConfig(
        name=adoption.name,
        trials_per_cell=max(cells.values()),
        tasks=tuple(TaskEntry(path=task.path) for task in tasks),
        conditions=tuple(Condition(name=a.name, variant=a.variant) for a in adoption.conditions),
        contrast=adoption.contrast,
        healthy_first=adoption.healthy_first,
        fewest_usable=adoption.fewest_usable,
        harness=HarnessChoice(name="harbor"),
        agent=AgentChoice(name=first.agent or "unknown", model=first.model),
    )
    return StudyPlan(
        skilljuror_version=__version__,
        config=config,
        config_digest=digest_json([
            adoption.model_dump(mode="json"), sorted(trial.result.id for trial in trials)
        ]),
        tasks=tasks,
        trials=tuple(planned),
    )  # fmt: skip


def _write(
    target: Path,
    plan: StudyPlan,
    trials: Sequence[AdoptedTrial],
    skills: dict[tuple[str, str], Bundle],
    map_file: Path,
) -> None:
    """Write the study atomically, with byte-for-byte copies of all artifacts.

    A record is Harbor's result; missing values are null. The log decides as in other studies whether a model
    answered; without a log that is unknown.
    """
    variants = {arm.name: arm.variant for arm in plan.config.conditions}
    tasks = {task.name: task for task in plan.tasks}
    with fresh_dir(target) as staging:
        folder = StudyFolder(staging)
        for (task, variant), bundle in {
            (task, variants[arm]): bundle for (task, arm), bundle in skills.items()
        }.items():
            write_bundle(bundle.files, folder.variant(task, str(variant)))
        sources = []
        for trial, planned in zip(trials, plan.trials, strict=True):
            result, offered = trial.result, skills.get((trial.task, trial.condition))
            record = TrialRecord(
                trial=planned.trial,
                task=planned.task,
                condition=planned.condition,
                number=planned.number,
                seed=planned.seed,
                agent=result.agent or "unknown",
                agent_version=result.agent_version,
                model=result.model,
                scripted=result.agent in SCRIPTED,
                config_digest=plan.config_digest,
                substrate_digest=tasks[planned.task].substrate_digest,
                variant=variants[planned.condition],
                variant_digest=offered.digest if offered else None,
                skill_root=None,
                **record_fields(result),
            )
            shutil.copytree(trial.path, folder.trial_raw(record.trial), symlinks=True)
            write_record(folder.trial_record(record.trial), checked_by_log(record, trial.path))
            sources.append({
                "trial": record.trial,
                "source": path_text(trial.path),
                "task_checksum": result.task_checksum,
            })
        write_jsonl(staging / "adopted.jsonl", sources)
        write_atomic(staging / "map.yaml", map_file.read_bytes())
        write_record(folder.plan_file, plan)

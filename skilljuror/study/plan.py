"""Turn a study file into a frozen plan: tasks with digests, matched cells, order and seeds.

The plan is a pure function of the study file and the tasks' content. Order and seeds come from
sha256, so they are the same on every machine and Python.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from skilljuror.base import __version__
from skilljuror.base.errors import StudyError
from skilljuror.base.files import digest_json
from skilljuror.base.study import (
    Condition,
    Contrast,
    ExcludedTask,
    Exclusion,
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TaskEntry,
    trial_arms,
)
from skilljuror.harness.tasks import FindSkill, expanded, planned_task, task_name

MAX_TRIAL_NAME = 200


def freeze(
    config: StudyConfig,
    base: Path,
    find_skill: FindSkill | None = None,
    ruled_out: Collection[ExcludedTask] = (),
) -> StudyPlan:
    """Return the plan of `config`; its paths are relative to `base`.

    `find_skill` resolves Skills that conditions offer unchanged; `ruled_out` are the tasks that the
    study's rules exclude. Raises StudyError.
    """
    _check_skills(config.conditions)
    check_conditions([arm.name for arm in config.conditions], config.contrast)
    _check_unique((arm.name for arm in trial_arms(config)), "condition")
    _check_differences(config)
    expanded_entries = list(expanded(config.tasks, base))
    _check_unique((task_name(base / entry.path) for entry in expanded_entries), "task")
    entries = {task_name(base / entry.path): entry for entry in expanded_entries}
    excluded = {one.name: one for one in (*_excluded(config.exclude, entries), *ruled_out)}
    tasks = tuple(
        planned_task(trial_arms(config), entry, base, find_skill)
        for name, entry in entries.items()
        if name not in excluded
    )
    if not tasks:
        raise StudyError("every task is excluded; include at least one", field="exclude")
    for arm in config.conditions:
        _check_matches(arm, [task.name for task in tasks])
    return StudyPlan(
        skilljuror_version=__version__,
        config=config,
        config_digest=digest_json({
            "config": config.planned,
            "tasks": [task.model_dump(mode="json") for task in tasks],
        }),
        tasks=tasks,
        trials=tuple(_trials(config, tasks)),
        excluded=tuple(excluded[name] for name in entries if name in excluded),
    )


def _excluded(
    exclude: Sequence[Exclusion], entries: Mapping[str, TaskEntry]
) -> Iterator[ExcludedTask]:
    """The tasks that the study file excludes. Raises StudyError for an unknown one."""
    _check_unique((one.task for one in exclude), "excluded task")
    for one in exclude:
        if one.task not in entries:
            near = get_close_matches(one.task, entries, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise StudyError(
                f"exclude: unknown task {one.task!r}; {guess}correct or remove it", field="exclude"
            )
        yield ExcludedTask(
            name=one.task, path=entries[one.task].path, category=one.category, reason=one.reason,
            decided_by="person",
        )  # fmt: skip


def changed_fields(before: StudyPlan, after: StudyPlan) -> list[str]:
    """Return the paths of the fields that differ between two plans; empty if a run may resume."""
    if before.config_digest == after.config_digest:
        return []
    old, new = before.config.planned, after.config.planned
    changed = list(_differing_fields(old, new, ""))
    tasks_before = {task.name: task for task in before.tasks}
    for task in after.tasks:
        if task.name in tasks_before:
            old_task = tasks_before[task.name].model_dump(mode="json")
            new_task = task.model_dump(mode="json")
            changed += _differing_fields(old_task, new_task, f"task {task.name}: ")
    names = {task.name for task in after.tasks}
    changed += [f"task {name}: new" for name in sorted(names - tasks_before.keys())]
    changed += [f"task {name}: removed" for name in sorted(tasks_before.keys() - names)]
    return changed or ["plan.json is from another version of skilljuror"]


def _differing_fields(before: Any, after: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        gap = "" if not place or place.endswith(" ") else "."
        for key in sorted({*before, *after}):
            yield from _differing_fields(before.get(key), after.get(key), f"{place}{gap}{key}")
    elif before != after:
        yield place


def _check_skills(conditions: Sequence[Condition]) -> None:
    """Raise StudyError for an arm with two Skills, and for two Skills with one name in tables."""
    variants = {"source"} | {arm.variant for arm in conditions if arm.variant}
    for arm in conditions:
        if arm.skill and arm.variant:
            raise StudyError(
                f"condition {arm.name!r} has both a variant and a skill; remove one",
                field="conditions",
            )
        if arm.skill and arm.name in variants:
            raise StudyError(
                f"condition {arm.name!r} offers an unchanged Skill but has the name of a variant;"
                " rename the condition",
                field="conditions",
            )


def _check_matches(arm: Condition, names: Sequence[str]) -> None:
    """Raise StudyError for a name or glob of the condition's tasks that matches none."""
    for pattern in arm.tasks if arm.tasks is not None else ():
        if not any(fnmatchcase(name, pattern) for name in names):
            near = get_close_matches(pattern, names, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise StudyError(
                f"condition {arm.name!r}: tasks: {pattern!r} matches no task; {guess}correct or remove it",
                field="conditions",
            )


def _check_differences(config: StudyConfig) -> None:
    """Raise StudyError for two arms that differ in a setting that the study does not vary."""
    first, *others = config.conditions
    expected = config.settings(first)
    for arm in others:
        for name, value in config.settings(arm).items():
            if value != expected[name] and name not in config.vary:
                raise StudyError(
                    f"conditions {first.name!r} and {arm.name!r} differ in {name}"
                    f" ({expected[name] or 'none'}, {value or 'none'}), but the study varies"
                    f" {', '.join(config.vary) or 'nothing'}; make them equal, or add it to vary",
                    field="conditions",
                )


def check_conditions(names: Sequence[str], contrast: Contrast | None) -> None:
    """Raise StudyError for duplicate conditions, and for a contrast of unknown ones."""
    _check_unique(names, "condition")
    if contrast is None:
        return
    for side in ("treatment", "control"):
        name = getattr(contrast, side)
        if name not in names:
            raise StudyError(
                f"contrast.{side}: unknown condition {name!r}; choose one of {', '.join(names)}",
                field=f"contrast.{side}",
            )
    if contrast.treatment == contrast.control:
        raise StudyError(
            f"contrast: {contrast.control!r} is compared with itself; name two conditions",
            field="contrast",
        )


def _check_unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise StudyError(f"duplicate {what} {name!r}; every {what} needs a unique name")
        seen.add(name)


def _trials(config: StudyConfig, tasks: tuple[PlannedTask, ...]) -> Iterator[PlannedTrial]:
    """Every cell once per block; a keyed hash shuffles each block."""
    cells = [
        (task.name, arm.name)
        for task in tasks
        for arm in config.conditions
        if arm.tasks is None or any(fnmatchcase(task.name, pattern) for pattern in arm.tasks)
    ]
    order = 0
    for block in range(config.trials_per_cell):
        for task, condition in sorted(
            cells, key=lambda cell: digest_json([config.seed, block, *cell])
        ):
            yield planned_trial(config.seed, task, condition, order, block)
            order += 1


def planned_trial(seed: int, task: str, condition: str, order: int, block: int) -> PlannedTrial:
    """Return the trial of a cell in a block, at its place in the run. Raises StudyError for long
    names."""
    number = block + 1
    trial = f"{task}__{condition}__{number}"
    if len(trial) > MAX_TRIAL_NAME:
        raise StudyError(
            f"trial name {trial[:40]!r}… has {len(trial)} characters, more than {MAX_TRIAL_NAME};"
            " shorten the names of task or condition"
        )
    return PlannedTrial(
        trial=trial,
        task=task,
        condition=condition,
        number=number,
        order=order,
        block=block,
        seed=int(digest_json([seed, task, number])[:8], 16) & 0x7FFFFFFF,
    )

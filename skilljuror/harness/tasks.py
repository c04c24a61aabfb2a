"""Task folders: required files, attributes, and digests of the parts that must not change."""

import glob
import os
import posixpath
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from skilljuror.base.errors import StudyError
from skilljuror.base.files import digest_tree, read_record, sha256
from skilljuror.base.review import RUBRIC_FILE
from skilljuror.base.skill import class_of
from skilljuror.base.study import (
    TRIGGER_FILE,
    Condition,
    GivenSkill,
    PlannedTask,
    SkillSource,
    TaskEntry,
    TaskJudge,
    TaskTrigger,
)
from skilljuror.base.texts import copies, texts_below

BAKED_SKILLS = "skills"
"""Folder under environment/ with a task's own Skill; no arm ever gets it directly."""
TASK_PARTS = ("task.toml", "instruction.md", "environment", "tests/test.sh")
"""Required contents of a folder in Harbor task format."""
JUDGES: dict[TaskJudge, str] = {
    "verifier": "tests/test.sh",
    "rubric": f"tests/{RUBRIC_FILE}",
    "trigger": f"tests/{TRIGGER_FILE}",
}
"""What judges the trials of a task, by the first of these files that it has."""
_TASK_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_))*")


def changed_substrate(task: PlannedTask, task_dir: Path) -> list[str]:
    """Return the parts of a task on disk that differ from its plan."""
    planned = (
        task.instruction_digest,
        task.environment_digest,
        task.verifier_digest,
        task.settings_digest,
    )
    found = _substrate(task_dir)
    return [
        name
        for (name, digest), frozen in zip(found.items(), planned, strict=True)
        if frozen and digest != frozen
    ]


def _substrate(task_dir: Path) -> dict[str, str]:
    """Part of a task that must be equal in all conditions -> its digest."""
    return {
        "instruction.md": sha256((task_dir / "instruction.md").read_bytes()),
        "environment/": digest_tree(task_dir / "environment", skip={BAKED_SKILLS}),
        "tests/": digest_tree(task_dir / "tests"),
        "task.toml": sha256((task_dir / "task.toml").read_bytes()),
    }


def task_digests(folder: Path) -> tuple[str, str]:
    """Return the digests of a task's instruction and verifier, as in a plan; "" if missing."""
    instruction, tests = folder / "instruction.md", folder / "tests"
    return (
        sha256(instruction.read_bytes()) if instruction.is_file() else "",
        digest_tree(tests) if tests.is_dir() else "",
    )


def expanded(entries: Iterable[TaskEntry], base: Path) -> Iterator[TaskEntry]:
    """Yield an entry for every task folder; a glob yields its folders in bytewise order. Raises
    StudyError for a glob without a match."""
    for entry in entries:
        if (base / entry.path).is_dir() or not glob.has_magic(entry.path):
            yield _named(entry, entry.path)
            continue
        found = glob.glob(entry.path, root_dir=base, recursive=True)  # noqa: PTH207 absolute ones too
        folders = sorted((name for name in found if (base / name).is_dir()), key=os.fsencode)
        if not folders:
            raise StudyError(
                f"tasks: no folder matches {entry.path!r}; paths are relative to the study file",
                field="tasks",
            )
        yield from (_named(entry, folder) for folder in folders)


def _named(entry: TaskEntry, path: str) -> TaskEntry:
    skills = entry.skills and entry.skills.replace("{task}", Path(path).name)
    return entry.model_copy(update={"path": path, "skills": skills})


FindSkill = Callable[[SkillSource, str], GivenSkill]
"""Finds the unchanged Skill that a condition offers to a task. Raises UsageError."""


def planned_task(
    conditions: Sequence[Condition],
    entry: TaskEntry,
    base: Path,
    find_skill: FindSkill | None = None,
) -> PlannedTask:
    """Return a task with its digests. Raises StudyError if it cannot run under the conditions."""
    folder = base / entry.path
    name = task_name(folder)
    _check_task(folder, entry)
    skills = _source(conditions, entry, base)
    meta = task_settings(folder)
    _check_contamination(conditions, folder)
    _check_copies(conditions, folder, base / skills if skills else None)
    instruction, environment, verifier, settings = _substrate(folder).values()
    return PlannedTask(
        name=name,
        path=entry.path,
        skills=skills,
        attributes=_attributes(entry, folder, meta),
        instruction_digest=instruction,
        environment_digest=environment,
        verifier_digest=verifier,
        source_digest=_source_digest(base / skills) if skills else "",
        stripped=tuple(baked_skills(folder, meta)),
        settings_digest=settings,
        judged_by=judge_of(folder),
        given={
            arm.name: find_skill(arm.skill, name) for arm in conditions if arm.skill and find_skill
        },
    )


def judge_of(folder: Path) -> TaskJudge:
    """Return what judges the trials of a task folder."""
    found = (judge for judge, part in JUDGES.items() if (folder / part).is_file())
    return next(found, "verifier")


def task_attributes(entry: TaskEntry, base: Path) -> tuple[str, dict[str, str]]:
    """Return a task's name and attributes. Raises StudyError for a folder that is not a task."""
    folder = base / entry.path
    _check_task(folder, entry)
    return task_name(folder), _attributes(entry, folder, task_settings(folder))


def _attributes(entry: TaskEntry, folder: Path, meta: dict[str, Any]) -> dict[str, str]:
    file = folder / "tests" / TRIGGER_FILE
    trigger = read_record(TaskTrigger, file).attributes if file.is_file() else {}
    return {**_metadata_attributes(meta), **trigger, **entry.attributes}


def _source_digest(source: Path) -> str:
    return digest_tree(source) if source.is_dir() else sha256(source.read_bytes())


def can_name_trials(task: str) -> bool:
    """Whether a task's name is valid in names of trials."""
    return _TASK_NAME.fullmatch(task) is not None


def task_name(folder: Path) -> str:
    """Return the name of a task's folder. Raises StudyError for an invalid name."""
    name = folder.resolve().name
    if not can_name_trials(name):
        raise StudyError(
            f"invalid name of task folder {name!r};"
            " use letters, digits, '.', '-' and single '_', beginning with a letter or digit"
        )
    return name


def _check_task(folder: Path, entry: TaskEntry) -> None:
    if not folder.is_dir():
        raise StudyError(
            f"task {entry.path!r}: folder {str(folder)!r} not found; paths are relative to the study file",
            file=str(folder),
            field="tasks",
        )
    if missing := missing_parts(folder):
        raise StudyError(
            f"task {entry.path!r}: missing {', '.join(missing)};"
            f" a task folder requires {', '.join(TASK_PARTS)}",
            file=str(folder),
        )


def missing_parts(folder: Path) -> list[str]:
    """Return the required contents that a task folder lacks; a rubric or trigger replaces the verifier."""
    judged = any((folder / part).is_file() for part in JUDGES.values())
    needed = TASK_PARTS[:-1] if judged else TASK_PARTS
    return [part for part in needed if not (folder / part).exists()]


def _source(conditions: Sequence[Condition], entry: TaskEntry, base: Path) -> str:
    default = f"{entry.path.rstrip('/')}/environment/{BAKED_SKILLS}"
    skills = entry.skills or default
    if (base / skills).exists():
        return skills
    needed = [condition.name for condition in conditions if condition.variant]
    if needed or entry.skills:
        raise StudyError(
            f"task {entry.path!r}: skills source {skills!r} not found"
            f" (needed by {', '.join(needed) or 'no condition'}); set the task's 'skills'",
            file=str(base / skills),
            field="skills",
        )
    return ""


def task_settings(folder: Path) -> dict[str, Any]:
    """Return a task's task.toml. Raises StudyError if it is invalid."""
    path = folder / "task.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{path}: invalid TOML: {error}", file=str(path)) from error


def _metadata_attributes(meta: dict[str, Any]) -> dict[str, str]:
    table = meta.get("metadata", {})
    pairs = table.items() if isinstance(table, dict) else ()
    return {key: str(value) for key, value in pairs if isinstance(value, str | int | float)}


def baked_skills(folder: Path, meta: dict[str, Any]) -> Iterator[str]:
    """Yield where a task brings its own Skill, which is removed for every trial."""
    if (folder / "environment" / BAKED_SKILLS).exists():
        yield f"environment/{BAKED_SKILLS}"
    dockerfile = folder / "environment" / "Dockerfile"
    if dockerfile.is_file():
        lines = dockerfile.read_text(encoding="utf-8", errors="replace").splitlines()
        yield from (f"Dockerfile: {line.strip()}" for line in lines if copies_skills(line))
    environment = meta.get("environment")
    if isinstance(environment, dict) and environment.get("skills_dir"):
        yield "task.toml: environment.skills_dir"


def copies_skills(line: str) -> bool:
    """Whether a Dockerfile line copies the task's own Skill into the image."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return False
    if not words or words[0].upper() not in {"COPY", "ADD"}:
        return False
    sources = [posixpath.normpath(word.lstrip("/")) for word in words[1:-1] if word[:2] != "--"]
    return any(source.split("/")[0] == BAKED_SKILLS for source in sources)


def _check_contamination(conditions: Sequence[Condition], folder: Path) -> None:
    """Raise StudyError for a SKILL.md in the environment if an arm offers no Skill."""
    bare = [condition.name for condition in conditions if condition.offers is None]
    environment = folder / "environment"
    for path in sorted(environment.rglob("*")):
        inside = path.relative_to(environment)
        if bare and inside.name.lower() == "skill.md" and inside.parts[0] != BAKED_SKILLS:
            raise StudyError(
                f"task {folder.name!r}: environment/{inside} is visible to condition {bare[0]!r},"
                f" which offers no Skill; move it to environment/{BAKED_SKILLS}",
                file=str(path),
            )


def _check_copies(conditions: Sequence[Condition], folder: Path, skills: Path | None) -> None:
    """Raise StudyError for an environment file with half of the text of test.sh, of a file that
    test.sh names, or of a Skill that an arm does not offer. Data and other files of the verifier
    are ignored: they may be copies of the environment's."""
    environment = texts_below(folder / "environment", skip=BAKED_SKILLS)
    bare = [condition.name for condition in conditions if condition.offers is None]
    tests = texts_below(folder / "tests")
    script = tests.get("test.sh", "")
    verifier = {path: text for path, text in tests.items() if path == "test.sh" or path in script}
    skill = texts_below(skills) if skills and bare else {}
    for whose, texts, arm in (
        ("tests/", verifier, "any arm"),
        ("the Skill", skill, "an arm without it"),
    ):
        written = {path: text for path, text in texts.items() if class_of(path) != "data"}
        for path, copied in copies(written, environment):
            raise StudyError(
                f"task {folder.name!r}: environment/{path} has the text of {copied!r} of {whose},"
                f" which agents of {arm} must not see; remove it from the environment",
                file=str(folder / "environment" / path),
            )

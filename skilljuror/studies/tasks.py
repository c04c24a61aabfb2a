"""A task as it lies on disk: what it must hold, what it says of itself, what of it must not change."""

import glob
import os
import posixpath
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from skilljuror.errors import StudyError
from skilljuror.files import digest_tree, sha256
from skilljuror.fingerprints import copies, texts_below
from skilljuror.models.resource_class import class_of
from skilljuror.models.study import Condition, GivenSkill, PlannedTask, SkillSource, TaskEntry

BAKED_SKILLS = "skills"
"""Folder under environment/ in which a task brings its own Skill; no arm ever gets it as it lies."""
TASK_PARTS = ("task.toml", "instruction.md", "environment", "tests/test.sh")
"""What a folder in Harbor task format must hold."""
_TASK_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_))*")


def changed_substrate(task: PlannedTask, task_dir: Path) -> list[str]:
    """Which parts of a planned task are not those of the plan, as they lie on disk now."""
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
    """What of a task must be equal in all conditions -> its digest."""
    return {
        "instruction.md": sha256((task_dir / "instruction.md").read_bytes()),
        "environment/": digest_tree(task_dir / "environment", skip={BAKED_SKILLS}),
        "tests/": digest_tree(task_dir / "tests"),
        "task.toml": sha256((task_dir / "task.toml").read_bytes()),
    }


def task_digests(folder: Path) -> tuple[str, str]:
    """Digests of a task's instruction and of its verifier, as a plan holds them; "" for what is not
    there."""
    instruction, tests = folder / "instruction.md", folder / "tests"
    return (
        sha256(instruction.read_bytes()) if instruction.is_file() else "",
        digest_tree(tests) if tests.is_dir() else "",
    )


def expanded(entries: Iterable[TaskEntry], base: Path) -> Iterator[TaskEntry]:
    """Every task folder with its entry: a glob stands for each folder that it fits, in order of the
    names' bytes. Raises StudyError for one that fits none."""
    for entry in entries:
        if (base / entry.path).is_dir() or not glob.has_magic(entry.path):
            yield _named(entry, entry.path)
            continue
        found = glob.glob(entry.path, root_dir=base, recursive=True)  # noqa: PTH207 absolute ones too
        folders = sorted((name for name in found if (base / name).is_dir()), key=os.fsencode)
        if not folders:
            raise StudyError(
                f"tasks: no folder fits {entry.path!r}; paths are relative to the study file",
                field="tasks",
            )
        yield from (_named(entry, folder) for folder in folders)


def _named(entry: TaskEntry, path: str) -> TaskEntry:
    """An entry for one folder."""
    skills = entry.skills and entry.skills.replace("{task}", Path(path).name)
    return entry.model_copy(update={"path": path, "skills": skills})


Give = Callable[[SkillSource, str], GivenSkill]
"""Finds the Skill that a condition gives to a task as it is. Raises UsageError."""


def planned_task(
    conditions: Sequence[Condition], entry: TaskEntry, base: Path, give: Give | None = None
) -> PlannedTask:
    """A task with its digests. Raises StudyError for one that cannot be run under the conditions."""
    folder = base / entry.path
    name = task_name(folder)
    _check_task(folder, entry)
    skills = _source(conditions, entry, base)
    meta = task_settings(folder)
    _refuse_contaminated(conditions, folder)
    _refuse_copies(conditions, folder, base / skills if skills else None)
    instruction, environment, verifier, settings = _substrate(folder).values()
    return PlannedTask(
        name=name,
        path=entry.path,
        skills=skills,
        attributes=_attributes(entry, meta),
        instruction_digest=instruction,
        environment_digest=environment,
        verifier_digest=verifier,
        source_digest=_source_digest(base / skills) if skills else "",
        stripped=tuple(_baked_skills(folder, meta)),
        settings_digest=settings,
        given={arm.name: give(arm.skill, name) for arm in conditions if arm.skill and give},
    )


def task_attributes(entry: TaskEntry, base: Path) -> tuple[str, dict[str, str]]:
    """Name of a task, and what it says of itself. Raises StudyError for a folder that is no task."""
    folder = base / entry.path
    _check_task(folder, entry)
    return task_name(folder), _attributes(entry, task_settings(folder))


def _attributes(entry: TaskEntry, meta: dict[str, Any]) -> dict[str, str]:
    return {**_metadata_attributes(meta), **entry.attributes}


def _source_digest(source: Path) -> str:
    return digest_tree(source) if source.is_dir() else sha256(source.read_bytes())


def can_name_trials(task: str) -> bool:
    """Whether trials can be called after a task."""
    return _TASK_NAME.fullmatch(task) is not None


def task_name(folder: Path) -> str:
    """The name of a task's folder. Raises StudyError for one that trials cannot be called after."""
    name = folder.resolve().name
    if not can_name_trials(name):
        raise StudyError(
            f"task folder {name!r} cannot name trials;"
            " use letters, digits, '.', '-' and single '_', beginning with a letter or digit"
        )
    return name


def _check_task(folder: Path, entry: TaskEntry) -> None:
    if not folder.is_dir():
        raise StudyError(
            f"task {entry.path!r}: no folder {str(folder)!r}; paths are relative to the study file",
            file=str(folder),
            field="tasks",
        )
    missing = [part for part in TASK_PARTS if not (folder / part).exists()]
    if missing:
        raise StudyError(
            f"task {entry.path!r} lacks {', '.join(missing)};"
            f" a task folder holds {', '.join(TASK_PARTS)}",
            file=str(folder),
        )


def _source(conditions: Sequence[Condition], entry: TaskEntry, base: Path) -> str:
    default = f"{entry.path.rstrip('/')}/environment/{BAKED_SKILLS}"
    skills = entry.skills or default
    if (base / skills).exists():
        return skills
    needed = [condition.name for condition in conditions if condition.variant]
    if needed or entry.skills:
        raise StudyError(
            f"task {entry.path!r}: no skills source at {skills!r},"
            f" needed by {', '.join(needed) or 'nobody'}; set the task's 'skills'",
            file=str(base / skills),
            field="skills",
        )
    return ""


def task_settings(folder: Path) -> dict[str, Any]:
    """The task.toml of a task's folder. Raises StudyError."""
    path = folder / "task.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{path}: not TOML: {error}", file=str(path)) from error


def _metadata_attributes(meta: dict[str, Any]) -> dict[str, str]:
    table = meta.get("metadata", {})
    pairs = table.items() if isinstance(table, dict) else ()
    return {key: str(value) for key, value in pairs if isinstance(value, str | int | float)}


def _baked_skills(folder: Path, meta: dict[str, Any]) -> Iterator[str]:
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
    """Whether a Dockerfile line puts the task's own Skill into the image."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return False
    if not words or words[0].upper() not in {"COPY", "ADD"}:
        return False
    sources = [posixpath.normpath(word.lstrip("/")) for word in words[1:-1] if word[:2] != "--"]
    return any(source.split("/")[0] == BAKED_SKILLS for source in sources)


def _refuse_contaminated(conditions: Sequence[Condition], folder: Path) -> None:
    bare = [condition.name for condition in conditions if condition.offers is None]
    environment = folder / "environment"
    for path in sorted(environment.rglob("*")):
        inside = path.relative_to(environment)
        if bare and inside.name.lower() == "skill.md" and inside.parts[0] != BAKED_SKILLS:
            raise StudyError(
                f"task {folder.name!r}: environment/{inside} would reach the arm {bare[0]!r},"
                f" which offers no Skill; move it into environment/{BAKED_SKILLS}",
                file=str(path),
            )


def _refuse_copies(conditions: Sequence[Condition], folder: Path, skills: Path | None) -> None:
    """Raise StudyError for a file of the environment that holds half of the text of test.sh, of a file
    that test.sh names, or of a file of a Skill that an arm does not offer. Data is left out, and so is
    what else the verifier brings: it may be a copy of what the environment has."""
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
                f"task {folder.name!r}: environment/{path} holds the text of {copied!r} of {whose},"
                f" which no agent of {arm} should see; remove it from the environment",
                file=str(folder / "environment" / path),
            )

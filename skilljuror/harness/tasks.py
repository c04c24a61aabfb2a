"""Task folders: required files, attributes, digests of the parts that must not change, and what of their environment this machine can lay out without building an image."""

import glob
import os
import posixpath
import re
import shlex
import shutil
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import HarnessError, StudyError
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
from skilljuror.harness.base import Requirement
from skilljuror.harness.sandbox import MEGABYTE, RESERVED, Limits, host_path, own_file, own_folder

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
    parts = zip(_substrate(task_dir).items(), planned, strict=True)
    return [name for (name, digest), frozen in parts if frozen and digest != frozen]


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
        folders = [entry.path]
        if not (base / entry.path).is_dir() and glob.has_magic(entry.path):
            paths = glob.glob(entry.path, root_dir=base, recursive=True)  # noqa: PTH207 absolute ones too
            folders = sorted((path for path in paths if (base / path).is_dir()), key=os.fsencode)
        if not folders:
            raise StudyError(
                f"tasks: no folder matches {entry.path!r}; paths are relative to the study file",
                field="tasks",
            )
        for folder in folders:
            skills = entry.skills and entry.skills.replace("{task}", Path(folder).name)
            yield entry.model_copy(update={"path": folder, "skills": skills})


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
    source = base / skills
    source_digest = ""
    if skills:
        source_digest = digest_tree(source) if source.is_dir() else sha256(source.read_bytes())
    return PlannedTask(
        name=name,
        path=entry.path,
        skills=skills,
        attributes=_attributes(entry, folder, meta),
        instruction_digest=instruction,
        environment_digest=environment,
        verifier_digest=verifier,
        source_digest=source_digest,
        stripped=tuple(baked_skills(folder, meta)),
        settings_digest=settings,
        judged_by=judge_of(folder),
        given={
            arm.name: find_skill(arm.skill, name) for arm in conditions if arm.skill and find_skill
        },
    )


def judge_of(folder: Path) -> TaskJudge:
    """Return what judges the trials of a task folder."""
    judges = (judge for judge, part in JUDGES.items() if (folder / part).is_file())
    return next(judges, "verifier")


def task_attributes(entry: TaskEntry, base: Path) -> tuple[str, dict[str, str]]:
    """Return a task's name and attributes. Raises StudyError for a folder that is not a task."""
    folder = base / entry.path
    _check_task(folder, entry)
    return task_name(folder), _attributes(entry, folder, task_settings(folder))


def _attributes(entry: TaskEntry, folder: Path, meta: dict[str, Any]) -> dict[str, str]:
    file, table = folder / "tests" / TRIGGER_FILE, meta.get("metadata")
    trigger = read_record(TaskTrigger, file).attributes if file.is_file() else {}
    pairs = table.items() if isinstance(table, dict) else ()
    told = {key: str(value) for key, value in pairs if isinstance(value, str | int | float)}
    return {**told, **trigger, **entry.attributes}


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
    return _without_skills(line) != line


def _without_skills(line: str) -> str:
    """A Dockerfile line without the task's own Skill; "" if it copies nothing else."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return line
    if not words or words[0].upper() not in {"COPY", "ADD"}:
        return line
    places = [word for word in words[1:] if not word.startswith("--")]
    kept = [
        word
        for word in places[:-1]
        if posixpath.normpath(word.lstrip("/")).split("/")[0] != BAKED_SKILLS
    ]
    if kept == places[:-1]:
        return line
    flags = [word for word in words[1:] if word.startswith("--")]
    return " ".join([words[0], *flags, *kept, places[-1]]) if kept else ""


def copy_environment_folder(task_dir: Path, target: Path) -> None:
    """Copy a task's environment/ to a new folder, without its own Skill and what copies it into an image."""
    source = task_dir / "environment"

    def skills(folder: str, names: list[str]) -> list[str]:
        return [BAKED_SKILLS] if Path(folder) == source and BAKED_SKILLS in names else []

    shutil.copytree(source, target, symlinks=True, ignore=skills, dirs_exist_ok=True)
    if (target / "Dockerfile").is_file():
        code = {"encoding": "utf-8", "errors": "surrogateescape"}
        lines = (target / "Dockerfile").read_text(**code).splitlines()
        kept = [left for line in lines if (left := _without_skills(line)) or not line]
        own_file(target, "Dockerfile").write_text("\n".join(kept) + "\n", **code)


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


# The environment, laid out without Docker: only WORKDIR, COPY and ADD are followed. A task with other lines is
# refused, because nothing is built or installed here. environment/skills is never copied.

WORKDIR = "/app"
NOT_COPIED = frozenset({"Dockerfile", "docker-compose.yaml", "docker-compose.yml", BAKED_SKILLS})
"""Entries of environment/ that are not task files."""
_SILENT = frozenset({
    "FROM", "WORKDIR", "COPY", "ADD", "CMD", "ENTRYPOINT", "LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL",
    "HEALTHCHECK",
})  # fmt: skip
"""Instructions that are supported or have no effect on a trial."""


class DockerfileRecipe(Struct, frozen=True):
    """The supported part of a Dockerfile."""

    workdir: str = WORKDIR
    """Working directory."""
    copies: tuple[tuple[str, str, bool], ...] = ()
    """(source inside environment/, absolute destination, whether an archive is unpacked there)."""
    left_out: tuple[str, ...] = ()
    """Ignored lines."""


class Allowance(Struct, frozen=True):
    """[environment] of a task's task.toml."""

    limits: Limits
    """At least the default limits; a task may raise memory and storage."""
    network: str | None
    """Network setting; None if missing."""
    cpus: int | None = None
    """CPUs that a container of the task gets; None if it does not say."""


def read_allowance(task_dir: Path) -> Allowance:
    """Read the allowance of a task."""
    table = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8")).get("environment")
    table = table if isinstance(table, dict) else {}
    default = Limits()
    limits = Limits(
        memory=max(default.memory, _megabytes(table, "memory") * MEGABYTE),
        storage=max(default.storage, _megabytes(table, "storage") * MEGABYTE),
    )
    network = table.get("network_mode", table.get("allow_internet"))
    words = {True: "allowed", False: "refused", None: None}
    cpus = table.get("cpus")
    return Allowance(
        limits, words.get(network, str(network)), cpus if isinstance(cpus, int) else None
    )


def _megabytes(table: dict[str, Any], name: str) -> int:
    """Parse `memory_mb = 4096`, or Harbor's older `memory = "4G"`; 0 otherwise."""
    size = table.get(f"{name}_mb")
    if isinstance(size, int):
        return size
    written = re.fullmatch(r"(\d+)\s*([GM])i?B?", str(table.get(name, "")))
    return int(written[1]) * (1_000 if written[2] == "G" else 1) if written else 0


def read_recipe(environment: Path) -> DockerfileRecipe:
    """Read the recipe of environment/; without a Dockerfile every file is copied to /app."""
    dockerfile = environment / "Dockerfile"
    if not dockerfile.is_file():
        return DockerfileRecipe()
    workdir, copies, left_out = WORKDIR, list[tuple[str, str, bool]](), []
    text = dockerfile.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            words = shlex.split(line)
        except ValueError:
            words = line.split()
        verb = words[0].upper() if words and not line.startswith("#") else ""
        if verb == "WORKDIR" and len(words) == 2:
            workdir = posixpath.normpath(posixpath.join(workdir, words[1]))
        elif verb in {"COPY", "ADD"} and len(words) >= 3 and not words[1].startswith("--from"):
            *sources, target = [word for word in words[1:] if not word.startswith("--")]
            slash = "/" if target.endswith(("/", ".")) or len(sources) > 1 else ""
            place = posixpath.normpath(posixpath.join(workdir, target)) + slash
            names = [posixpath.normpath(word.lstrip("/")) for word in sources]
            kept = [name for name in names if name.split("/")[0] != BAKED_SKILLS]
            copies += [(name, place, verb == "ADD") for name in kept]
        elif verb and verb not in _SILENT:
            left_out.append(line)
    return DockerfileRecipe(workdir, tuple(copies), tuple(left_out))


def copy_environment(environment: Path, root: Path) -> DockerfileRecipe:
    """Copy the environment's files below `root`. Raises HarnessError for an invalid COPY or ADD."""
    recipe = read_recipe(environment)
    copies = recipe.copies or ((".", recipe.workdir + "/", False),)
    for guest in (recipe.workdir, *(target for _, target, _ in copies)):
        if any(guest == folder or guest.startswith(f"{folder}/") for folder in RESERVED):
            raise HarnessError(
                f"the task's Dockerfile writes to {guest!r}, which is read-only in the local harness;"
                " copy to another folder, or use a container harness"
            )
    own_folder(root, recipe.workdir)
    for source, target, unpack in copies:
        for path in _matching(environment, source):
            place = target.rstrip("/")
            if unpack and path.is_file() and tarfile.is_tarfile(path):
                _unpack(path, own_folder(root, place))
            elif path.is_dir():
                _copy_folder(environment, path, root, place)
            else:
                into = target.endswith("/") or host_path(root, target).is_dir()
                shutil.copy(path, own_file(root, f"{place}/{path.name}" if into else target))
    return recipe


def _matching(environment: Path, source: str) -> list[Path]:
    """The files of the environment that a COPY names, without the task's own Skill."""

    def is_below(path: Path, folder: Path) -> bool:
        return path.resolve().is_relative_to(folder.resolve())

    globbed = any(sign in source for sign in "*?[")
    paths = sorted(environment.glob(source)) if globbed else [environment / source]
    paths = [path for path in paths if path.exists() and is_below(path, environment)]
    if not paths:
        raise HarnessError(
            f"the task's Dockerfile copies {source!r}, which is not in {str(environment)!r};"
            " add the file or fix the line"
        )
    return [path for path in paths if not is_below(path, environment / BAKED_SKILLS)]


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive as ADD does. Raises HarnessError for a damaged one, and for a link out of it."""
    try:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise HarnessError(
            f"{str(archive)!r} cannot be unpacked: {error}; repair the task's environment"
        ) from error


def _copy_folder(environment: Path, folder: Path, root: Path, guest: str) -> None:
    """Copy a folder's content; links stay links, and files replace existing links."""
    own_folder(root, guest)
    whole = folder.resolve() == environment.resolve()
    for path in folder.iterdir():
        place = f"{guest}/{path.name}"
        if whole and path.name in NOT_COPIED:
            continue
        if path.is_symlink() or not path.is_dir():
            shutil.copy2(path, own_file(root, place), follow_symlinks=False)
        else:
            _copy_folder(environment, path, root, place)
            shutil.copystat(path, host_path(root, place))


_COMPOSE = ("docker-compose.yaml", "docker-compose.yml")
_FETCHES = re.compile(
    r"\b(?:apt|apt-get|apk|dnf|yum)\s[^#\n]*\b(?:install|update|add)\b"
    r"|\b(?:pip3?|npm|conda|gem|cargo)\s+(?:install|ci)\b|\buvx\b|\buv\s+(?:pip\s+install|sync|tool|run)\b"
    r"|\b(?:curl|wget)\b[^#\n]*https?://(?!localhost|127\.|0\.0\.0\.0)"
)
"""Commands that need a package registry or the web."""
_SHOWN = 5
"""Tasks that a message names."""


def unsupported(task_dir: Path) -> list[str]:
    """Return lines of a task that no sandbox follows, and those of its verifier that need the network."""
    environment = task_dir / "environment"
    lines = sorted(
        read_recipe(environment).left_out, key=lambda line: not line.upper().startswith("RUN")
    )
    told = [f"environment/Dockerfile: {line}" for line in lines]
    told += [f"environment/{name}" for name in _COMPOSE if (environment / name).exists()]
    script = task_dir / "tests" / "test.sh"
    text = script.read_text(encoding="utf-8", errors="replace") if script.is_file() else ""
    for line in text.splitlines():
        if not line.lstrip().startswith("#") and _FETCHES.search(line):
            told.append(f"tests/test.sh, without a network: {line.strip()}")
    return told


def tasks_requirement(tasks: Sequence[Path], *, ignore: bool) -> Requirement:
    """Whether a sandbox that builds no image can run all tasks, or may `ignore` what it does not follow."""
    lines_of = {path.name: lines for path in tasks if (lines := unsupported(path))}
    if not lines_of:
        return Requirement("tasks", True, "none needs an image")
    shown = [
        f"{name} ({lines[0]}{f', and {len(lines) - 1} more' * (len(lines) > 1)})"
        for name, lines in list(lines_of.items())[:_SHOWN]
    ]
    more = f"; and {len(lines_of) - _SHOWN} more" if len(lines_of) > _SHOWN else ""
    told = (
        f"{len(lines_of)} of {len(tasks)} tasks need more than a sandbox: {'; '.join(shown)}{more}"
    )
    if ignore:
        return Requirement("tasks", True, f"ignored, as the study says: {told}")
    fix = (
        ". Use harness harbor with environment docker, or exclude them; if this machine has what they"
        " install, set harness.options.unsupported: ignore"
    )
    return Requirement("tasks", False, told + fix)


MARK = re.compile(r"(?<![A-Za-z0-9])[Aa][Cc][-_]?(\d{1,3})(?![A-Za-z0-9])")
"""The number of an acceptance criterion in a name or text: AC-3, ac_3, AC3."""

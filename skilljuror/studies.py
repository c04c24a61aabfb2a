"""From a study file to a frozen plan: tasks with digests, matched cells, order and seeds.

The plan is a pure function of the study file and the tasks' content. Order and seeds are
read off sha256, so they are the same on every machine and Python.
"""

import re
import shlex
import tomllib
from collections.abc import Hashable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skilljuror import __version__
from skilljuror.errors import StudyError
from skilljuror.files import digest_json, digest_tree, sha256
from skilljuror.models.record import Record
from skilljuror.models.study import (
    AgentChoice,
    Condition,
    Contrast,
    HarnessChoice,
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TaskEntry,
)

BAKED_SKILLS = "skills"
"""Folder under environment/ in which a task brings its own Skill; no arm ever gets it as it lies."""
TASK_PARTS = ("task.toml", "instruction.md", "environment", "tests/test.sh")
"""What a folder in Harbor task format must hold."""
MAX_STUDY_BYTES = 1_000_000
MAX_YAML_DEPTH = 50
"""Levels of lists and mappings in a study file."""
MAX_TRIAL_NAME = 200
_RECORDS: dict[str, type[Record]] = {
    "tasks": TaskEntry,
    "conditions": Condition,
    "contrast": Contrast,
    "harness": HarnessChoice,
    "agent": AgentChoice,
}
_TASK_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_))*")


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class _StrictLoader(yaml.SafeLoader):
    """YAML without aliases, which can blow up, without a silent choice between equal keys, and as
    deep as a person writes."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(None, None, "aliases are not taken; write it out", mark)
        if self.depth > MAX_YAML_DEPTH:
            raise yaml.MarkedYAMLError(
                None, None, f"nested deeper than {MAX_YAML_DEPTH} levels", self.get_mark()
            )
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        if isinstance(node, yaml.ScalarNode) and _NO_TEXT.search(node.value):
            problem = "a NUL, or half a character, which nothing can be called"
            raise yaml.MarkedYAMLError(None, None, problem, node.start_mark)
        return super().construct_scalar(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    None, None, f"{key.value!r} is given twice", key.start_mark
                )
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_study(path: Path) -> StudyConfig:
    """The study file as a record. Raises StudyError with file, field and mend."""
    name = str(path)
    try:
        if path.stat().st_size > MAX_STUDY_BYTES:
            raise StudyError(f"{name}: larger than {MAX_STUDY_BYTES} bytes; is it a study file?")
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        inside = f", such as {path / 'study.yaml'}" if (path / "study.yaml").is_file() else ""
        raise StudyError(
            f"{name}: {reason}; name an existing study file{inside}", file=name
        ) from error
    except UnicodeDecodeError as error:
        raise StudyError(f"{name}: not UTF-8; save the study file as UTF-8", file=name) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or number that is none
        raise StudyError(f"{name}: not YAML: {_one_line(error)}", file=name) from error
    return _validate(raw, name)


def _one_line(error: yaml.YAMLError | ValueError) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f", line {mark.line + 1}" if mark else ""
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem}{place}"


def _validate(raw: Any, name: str) -> StudyConfig:
    if not isinstance(raw, dict):
        what = "nothing: the file is empty" if raw is None else f"a {type(raw).__name__}"
        raise StudyError(
            f"{name}: expected a mapping with name, tasks and conditions, got {what}", file=name
        )
    try:
        return StudyConfig.model_validate(raw)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise StudyError(
            f"{name}: field {field!r}: {_explain(problem)}",
            file=name,
            field=field,
        ) from error


def _explain(problem: ErrorDetails) -> str:
    """What is wrong with a field, and the mend."""
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "missing":
        return f"{problem['msg']}; add it"
    if kind == "extra_forbidden":
        return _unknown_field(str(place[-1]), place)
    if kind == "string_pattern_mismatch":
        return (
            f"{given!r} is no short name; use small letters, digits, '-' and '_', beginning with a"
            " letter or digit"
        )
    if kind == "tuple_type":
        return "must be a list: one '- ' for each entry"
    if place == ("format_version",):
        return f"this skilljuror reads 1, got {given!r}; upgrade skilljuror, or write 1"
    return f"{problem['msg']}, got {str(given)[:60]!r}"


def _unknown_field(name: str, place: tuple[int | str, ...]) -> str:
    record = StudyConfig if len(place) == 1 else _RECORDS[str(place[0])]
    near = get_close_matches(name, record.model_fields, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown; {guess}known fields: {', '.join(record.model_fields)}"


def freeze(config: StudyConfig, base: Path) -> StudyPlan:
    """The plan of `config`, its paths taken relative to `base`. Raises StudyError."""
    _check_conditions(config)
    tasks = tuple(_planned_task(config, entry, base) for entry in config.tasks)
    _refuse_duplicates((task.name for task in tasks), "task")
    return StudyPlan(
        skilljuror_version=__version__,
        config=config,
        config_digest=_config_digest(config, tasks),
        tasks=tasks,
        trials=tuple(_trials(config, tasks)),
    )


def changed_fields(before: StudyPlan, after: StudyPlan) -> list[str]:
    """What differs between two plans, as paths of fields; empty when a run may resume."""
    if before.config_digest == after.config_digest:
        return []
    old, new = before.config.model_dump(mode="json"), after.config.model_dump(mode="json")
    changed = list(_differing_fields(old, new, ""))
    tasks_before = {task.name: task for task in before.tasks}
    for task in after.tasks:
        if task.name in tasks_before:
            old_task = tasks_before[task.name].model_dump(mode="json")
            new_task = task.model_dump(mode="json")
            changed += _differing_fields(old_task, new_task, f"task {task.name}: ")
    return changed or ["plan.json was made by another version of skilljuror"]


def _differing_fields(before: Any, after: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        gap = "" if not place or place.endswith(" ") else "."
        for key in sorted({*before, *after}):
            yield from _differing_fields(before.get(key), after.get(key), f"{place}{gap}{key}")
    elif before != after:
        yield place


def substrate_digest(task_dir: Path) -> str:
    """Digest of instruction, environment and verifier as they lie on disk now."""
    parts = _substrate(task_dir)
    return "-".join(digest[:16] for digest in parts)


def _substrate(task_dir: Path) -> tuple[str, str, str]:
    return (
        sha256((task_dir / "instruction.md").read_bytes()),
        digest_tree(task_dir / "environment", skip={BAKED_SKILLS}),
        digest_tree(task_dir / "tests"),
    )


def _check_conditions(config: StudyConfig) -> None:
    names = [condition.name for condition in config.conditions]
    _refuse_duplicates(names, "condition")
    if config.contrast is None:
        return
    for side in ("treatment", "control"):
        name = getattr(config.contrast, side)
        if name not in names:
            raise StudyError(
                f"contrast.{side}: unknown condition {name!r}; choose one of {', '.join(names)}",
                field=f"contrast.{side}",
            )
    if config.contrast.treatment == config.contrast.control:
        raise StudyError(
            f"contrast: {config.contrast.control!r} is compared with itself; name two conditions",
            field="contrast",
        )


def _refuse_duplicates(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise StudyError(f"two {what}s are called {name!r}; every {what} needs its own name")
        seen.add(name)


def _planned_task(config: StudyConfig, entry: TaskEntry, base: Path) -> PlannedTask:
    folder = base / entry.path
    name = _task_name(folder)
    _check_task(folder, entry)
    skills = _source(config, entry, base)
    meta = _read_task_toml(folder)
    _refuse_contaminated(config, folder)
    instruction, environment, verifier = _substrate(folder)
    return PlannedTask(
        name=name,
        path=entry.path,
        skills=skills,
        attributes={**_metadata_attributes(meta), **entry.attributes},
        instruction_digest=instruction,
        environment_digest=environment,
        verifier_digest=verifier,
        source_digest=_source_digest(base / skills) if skills else "",
        stripped=tuple(_baked_skills(folder, meta)),
    )


def _source_digest(source: Path) -> str:
    return digest_tree(source) if source.is_dir() else sha256(source.read_bytes())


def _task_name(folder: Path) -> str:
    name = folder.resolve().name
    if not _TASK_NAME.fullmatch(name):
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


def _source(config: StudyConfig, entry: TaskEntry, base: Path) -> str:
    default = f"{entry.path.rstrip('/')}/environment/{BAKED_SKILLS}"
    skills = entry.skills or default
    if (base / skills).exists():
        return skills
    needed = [condition.name for condition in config.conditions if condition.variant]
    if needed or entry.skills:
        raise StudyError(
            f"task {entry.path!r}: no skills source at {skills!r},"
            f" needed by {', '.join(needed) or 'nobody'}; set the task's 'skills'",
            file=str(base / skills),
            field="skills",
        )
    return ""


def _read_task_toml(folder: Path) -> dict[str, Any]:
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
    sources = [word.removeprefix("./") for word in words[1:-1] if not word.startswith("--")]
    return any(Path(word).parts[:1] == (BAKED_SKILLS,) for word in sources)


def _refuse_contaminated(config: StudyConfig, folder: Path) -> None:
    bare = [condition.name for condition in config.conditions if condition.variant is None]
    environment = folder / "environment"
    for path in sorted(environment.rglob("*")):
        inside = path.relative_to(environment)
        if bare and inside.name.lower() == "skill.md" and inside.parts[0] != BAKED_SKILLS:
            raise StudyError(
                f"task {folder.name!r}: environment/{inside} would reach the arm {bare[0]!r},"
                f" which offers no Skill; move it into environment/{BAKED_SKILLS}",
                file=str(path),
            )


def _config_digest(config: StudyConfig, tasks: tuple[PlannedTask, ...]) -> str:
    described = [task.model_dump(mode="json") for task in tasks]
    return digest_json({"config": config.model_dump(mode="json"), "tasks": described})


def _trials(config: StudyConfig, tasks: tuple[PlannedTask, ...]) -> Iterator[PlannedTrial]:
    """Every cell once per block; inside a block by a keyed hash, which is a fair shuffle."""
    cells = [(task.name, condition.name) for task in tasks for condition in config.conditions]
    order = 0
    for block in range(config.trials_per_cell):
        for task, condition in sorted(
            cells, key=lambda cell: digest_json([config.seed, block, *cell])
        ):
            yield _planned_trial(config.seed, task, condition, order, block)
            order += 1


def _planned_trial(seed: int, task: str, condition: str, order: int, block: int) -> PlannedTrial:
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

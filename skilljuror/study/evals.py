"""Task folders made once from a Skill's own evals: evals/evals.json of the Agent Skills guide, and its trigger queries.

All of them are written, or none. A Skill is hostile: it is read as bundles are, nothing in it is followed or run,
and whatever cannot be a task is refused in one line with its file and field.
"""

import json
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError
from skilljuror.base.files import digest_tree, sha256
from skilljuror.base.review import MAX_ITEMS, RUBRIC_FILE, TaskRubric
from skilljuror.base.skill import Blob, class_of
from skilljuror.base.study import TRIGGER_FILE, TaskTrigger
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.skill.markdown.block_index import slug
from skilljuror.skill.units.critical_tokens import critical_tokens

MAX_TASKS = 1_000
"""Evals and queries of a Skill."""
TASKS, SKILLS = "tasks", "skills"
"""Folders of converted tasks and their Skills beside the study file."""
SOURCE_FILE = "source.json"
"""File of a converted task that says where it came from."""
DOCKERFILE = "FROM ubuntu:24.04\nWORKDIR /app\nCOPY . /app/\n"
"""Environment of a task that brings none."""
EVALS = "evals"
_ITEMS = ("assertions", "expectations")
"""Names of an eval's list of assertions, the newer first."""
_TEXTS = ("text", "description", "check")
"""Names of the text of an assertion that is an object."""
_QUERIES = ("query", "prompt")
_SPLIT = {"should_trigger": True, "should_not_trigger": False}
"""Names of the two lists of trigger queries, where they are parted."""
_DISTINCTIVE = ("num:", "code:", "path:", "flag:")
"""Critical tokens that tell one text from another."""


class TaskDraft(Struct, frozen=True):
    """A task folder to write."""

    name: str
    files: dict[str, Blob]
    """Path in the folder -> content; the settings, the origin and a Dockerfile are added."""
    source: str
    """evals or trigger."""
    origin: dict[str, Any]
    """Content of source.json: path, digest, Skill and item."""
    lacks: str | None = None
    """Why the task cannot be run as it is, for its exclusion."""

    def content(self) -> dict[str, Blob]:
        """Every file of the folder."""
        origin = {"kind": self.source, **self.origin}
        added = {
            "task.toml": f'schema_version = "1.4"\n\n[metadata]\nsource = "{self.source}"\n',
            SOURCE_FILE: json.dumps(origin, indent=1, ensure_ascii=False) + "\n",
        }
        if not any(path.startswith("environment/") for path in self.files):
            added["environment/Dockerfile"] = DOCKERFILE
        return self.files | {path: Blob(text.encode()) for path, text in added.items()}


def refused(file: Path | str, field: str, problem: str) -> StudyError:
    """Return the error for a field of a source."""
    return StudyError(f"{str(file)!r}: {field}: {problem}", file=str(file), field=field)


def text_at(value: Any, file: Path, field: str) -> str:
    """Return a text of a source. Raises StudyError if it is empty or not text."""
    if not isinstance(value, str) or not value.strip():
        what = "empty" if isinstance(value, str) else f"a {type(value).__name__}"
        raise refused(file, field, f"is {what}; write a text")
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise refused(file, field, "has a NUL or half of a character; remove it")
    return value


def relative(path: Path, base: Path) -> str:
    """A path relative to the study file's folder, with links resolved."""
    place, start = path.parent.resolve() / path.name, base.resolve()
    common = next(folder for folder in (start, *start.parents) if place.is_relative_to(folder))
    up = [".."] * len(start.relative_to(common).parts)
    return str(Path(*up, place.relative_to(common)))


@contextmanager
def placed(folders: Mapping[str, dict[str, Blob]], base: Path) -> Iterator[None]:
    """Write folders, by path relative to `base`, for the block; remove the new ones if it fails.

    An equal existing folder stays. Raises StudyError for a different one, before anything is in place.
    """
    parents = [base / parent for parent in (TASKS, SKILLS) if not (base / parent).exists()]
    new = [path for path in folders if not (base / path).exists()]
    with tempfile.TemporaryDirectory(dir=base, prefix=".init-") as staging, ExitStack() as undo:
        for path, files in folders.items():
            write_bundle(files, Path(staging, path))
            target = base / path
            same = target.is_dir() and digest_tree(Path(staging, path)) == digest_tree(target)
            if path not in new and not same:
                raise StudyError(
                    f"{str(target)!r} already exists; move it away, or write the study into another folder with --out",
                    file=str(target),
                )
        for parent in parents:
            undo.callback(shutil.rmtree, parent, ignore_errors=True)
        for path in new:
            undo.callback(shutil.rmtree, base / path, ignore_errors=True)
            (base / path).parent.mkdir(parents=True, exist_ok=True)
            Path(staging, path).rename(base / path)
        yield
        undo.pop_all()


class _EvalSkill(Struct, frozen=True):
    """The Skill whose evals are read."""

    folder: Path
    name: str
    directory: str
    """Name of its folder."""
    files: dict[str, Blob]
    """Path in the Skill's folder -> content."""
    offered: dict[str, Blob]
    """The files that a trial offers: evals/ would tell an agent what it is judged by."""
    text: str
    """Every text that a trial offers."""


def tasks_of_evals(folder: Path, base: Path) -> tuple[dict[str, dict[str, Blob]], list[TaskDraft]]:
    """Return the Skill to offer, by its path from `base`, and a task for each eval and trigger query.

    Raises StudyError and BundleError with file, field and fix.
    """
    bundle = load_bundle(folder, inspect=False)
    if len(bundle.skills) != 1:
        raise StudyError(
            f"--evals {str(folder)!r} has {len(bundle.skills)} Skills; name the folder of one Skill",
            file=str(folder),
        )
    (skill,) = bundle.skills
    inner = f"{skill.directory}/"
    files = {
        path.removeprefix(inner): blob
        for path, blob in bundle.files.items()
        if path.startswith(inner)
    }
    offered = {path: blob for path, blob in files.items() if not path.startswith(f"{EVALS}/")}
    text = "\n".join(filter(None, (blob.text for blob in offered.values())))
    place = folder if (folder / Path(skill.path).name).is_file() else folder / skill.directory
    directory = posixpath.basename(skill.directory)
    found = _EvalSkill(place, skill.name, directory, files, offered, text)
    drafts: dict[str, TaskDraft] = {}
    for draft in chain.from_iterable(_drafts_of(found, path, base) for path in sorted(files)):
        if draft.name in drafts:
            item, other = drafts[draft.name].origin["item"], draft.origin["item"]
            raise refused(place / EVALS, other, f"has the same id as {item}; give each its own")
        drafts[draft.name] = draft
    if not drafts:
        raise StudyError(
            f"{str(place / EVALS)!r} has neither evals.json, with a list `evals`, nor a list of trigger queries",
            file=str(place / EVALS),
        )
    if len(drafts) > MAX_TASKS:
        raise StudyError(
            f"{str(place / EVALS)!r} has {len(drafts)} evals and queries; use at most {MAX_TASKS}"
        )
    return {f"{SKILLS}/{directory}": offered}, [*drafts.values()]


def _drafts_of(skill: _EvalSkill, path: str, base: Path) -> Iterator[TaskDraft]:
    """The tasks of one file of evals/; none for a file of another kind."""
    folder, name = posixpath.split(path)
    if folder != EVALS or not name.endswith(".json"):
        return
    file, content = skill.folder / path, skill.files[path].data
    data = None
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if name == "evals.json":
            why = str(error).splitlines()[0]
            raise refused(file, "(whole file)", f"is not JSON: {why}; correct it") from error
    origin = {
        "path": relative(file, base),
        "digest": sha256(content),
        "commit": None,
        "skill": skill.name,
    }
    if name == "evals.json":
        for number, row in _eval_rows(data, file):
            yield _eval_task(skill, row, file, number, origin)
    for field, query, expected in _queries(data):
        text = text_at(query, file, field)
        named = slug(f"{'' if file.stem == EVALS else file.stem} {field}")
        trigger = TaskTrigger(should_trigger=expected, skill=skill.directory)
        yield TaskDraft(
            name=f"{slug(skill.name)}-trigger-{named}",
            files={
                "instruction.md": Blob(f"{text.rstrip()}\n".encode()),
                f"tests/{TRIGGER_FILE}": Blob(_as_json(trigger)),
            },
            source="trigger",
            origin={**origin, "item": field},
        )


def _eval_rows(data: Any, file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and content of each eval that is not a trigger query."""
    rows = data.get("evals") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        kind = type(data).__name__
        held = ", ".join(map(str, list(data)[:8])) if isinstance(data, dict) else kind
        raise refused(file, "evals", f"is not a list; the file has: {held or 'nothing'}")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            problem = f"is a {type(row).__name__}; write an object with a prompt"
            raise refused(file, f"evals[{number}]", problem)
        if not _is_query(row):
            yield number, row


def _as_json(record: TaskRubric | TaskTrigger) -> bytes:
    text = json.dumps(record.model_dump(exclude_defaults=True), indent=1, ensure_ascii=False)
    return f"{text}\n".encode()


def _is_query(row: dict[str, Any]) -> bool:
    """Whether a row asks only whether the Skill is opened."""
    return isinstance(row.get("should_trigger"), bool) and not any(map(row.get, _ITEMS))


def _queries(data: Any) -> Iterator[tuple[str, Any, bool]]:
    """Field, query and whether it should trigger, of a list of objects or of two lists."""
    if isinstance(data, dict):
        for name in ("trigger_evaluation", "evals", "queries"):
            for field, query, expected in _queries(data.get(name)):
                yield f"{name}{'' if field.startswith('[') else '.'}{field}", query, expected
        for name, expected in _SPLIT.items():
            rows = data.get(name)
            for number, query in enumerate(rows if isinstance(rows, list) else []):
                yield f"{name}[{number}]", query, expected
    for number, row in enumerate(data if isinstance(data, list) else []):
        if isinstance(row, dict) and _is_query(row):
            query = next((row[name] for name in _QUERIES if row.get(name)), None)
            yield f"[{number}]", query, row["should_trigger"]


def _eval_task(
    skill: _EvalSkill, row: dict[str, Any], file: Path, number: int, origin: dict[str, Any]
) -> TaskDraft:
    """An eval as a task whose rubric is its assertions. An item is of the group following if distinctive tokens
    are in the Skill's text and not in what the task says, none in neither; else of the goal."""
    field = f"evals[{number}]"
    prompt = text_at(row.get("prompt"), file, f"{field}.prompt")
    inputs, own, missing = _inputs(skill, row.get("files"), prompt, file, f"{field}.files")
    seen = "\n".join([prompt, *filter(None, (blob.text for blob in inputs.values()))])
    items = []
    for name, text in _items(row, file, field):
        tokens = [
            token.partition(":")[2].partition("|")[0]
            for token in critical_tokens(text)
            if token.startswith(_DISTINCTIVE)
        ]
        lacking = [token for token in tokens if not _has(seen, token)]
        follows = lacking and all(_has(skill.text, token) for token in lacking)
        items.append({"id": name, "text": text, "group": "following" if follows else "goal"})
    rubric = TaskRubric.model_validate({"name": EVALS, "items": items})
    named = row["id"] if isinstance(row.get("id"), str | int) else row.get("name")
    return TaskDraft(
        name=f"{slug(skill.name)}-eval-{slug(str(named), empty=str(number))}",
        files={
            "instruction.md": Blob(f"{prompt.rstrip()}\n".encode()),
            f"tests/{RUBRIC_FILE}": Blob(_as_json(rubric)),
            **{f"environment/{path}": blob for path, blob in inputs.items()},
        },
        source="evals",
        origin={**origin, "item": field, "of_skill": own},
        lacks=f"{field}.files: {', '.join(missing)} not found in the Skill" if missing else None,
    )


def _has(text: str, token: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(token)}(?!\w)", text) is not None


def _items(row: dict[str, Any], file: Path, field: str) -> Iterator[tuple[str, str]]:
    """Id and text of each assertion; without any, the expected output is the only one."""
    name = next((name for name in _ITEMS if row.get(name)), None)
    if name is None:
        expected = row.get("expected_output")
        if not expected:
            problem = "has neither assertions nor expected_output, so nothing judges it; write one"
            raise refused(file, field, problem)
        yield "expected_output", text_at(expected, file, f"{field}.expected_output")
        return
    listed, field = row[name], f"{field}.{name}"
    if not isinstance(listed, list) or len(listed) > MAX_ITEMS:
        raise refused(file, field, f"is not a list of at most {MAX_ITEMS} assertions")
    for number, item in enumerate(listed, 1):
        text = item
        if isinstance(item, dict):
            text = next((item[key] for key in _TEXTS if item.get(key)), None)
        yield str(number), text_at(text, file, f"{field}[{number - 1}]")


def _inputs(
    skill: _EvalSkill, listed: Any, prompt: str, file: Path, field: str
) -> tuple[dict[str, Blob], list[str], list[str]]:
    """Input files by their place in the environment; listed files of the Skill itself, which only a trial with
    the Skill has; and names that are in neither."""
    inputs, own, missing = dict[str, Blob](), list[str](), list[str]()
    if not isinstance(listed or [], list):
        raise refused(file, field, f"is a {type(listed).__name__}; write a list of paths")
    for number, entry in enumerate(listed or []):
        name = text_at(entry, file, f"{field}[{number}]")
        inner = posixpath.normpath(name)
        if inner.startswith(("/", "../")) or inner in {".", ".."} or "\\" in name:
            problem = f"{name!r} is not inside the Skill; use a relative path"
            raise refused(file, f"{field}[{number}]", problem)
        below = {
            path: skill.files[path]
            for whole in (inner, f"{EVALS}/{inner}")
            for path in skill.files
            if path == whole or path.startswith(f"{whole}/")
        }
        if not below:
            missing.append(name)
        for path, blob in below.items():
            if not path.startswith(f"{EVALS}/") and class_of(path) != "data":
                own.append(path)
            else:
                inputs[_place(path, inner, prompt, inputs)] = blob
    return inputs, own, missing


def _place(path: str, listed: str, prompt: str, taken: dict[str, Blob]) -> str:
    """Where an input lies in the working directory: at the path that the prompt names, else by its name in its
    listed folder; by its whole path if that is taken."""
    parts = path.split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    named = next((end for end in ends if "/" in end and end in prompt), None)
    folder = posixpath.dirname(listed)
    short = path.split(f"{folder}/", 1)[-1] if folder else path.removeprefix(f"{EVALS}/")
    place = named or short
    return path if place in taken else place

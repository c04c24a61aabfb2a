"""A Skill's own evals as tasks: evals/evals.json of the Agent Skills guide, and its trigger queries.

The assertions of an eval become its rubric. The Skill is offered without evals/, which would tell an agent
what it is judged by.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError
from skilljuror.base.files import sha256
from skilljuror.base.review import MAX_ITEMS, RUBRIC_FILE, TaskRubric
from skilljuror.base.skill import Blob, Skill, class_of
from skilljuror.base.study import TRIGGER_FILE, TaskTrigger
from skilljuror.skill.bundles import load_bundle
from skilljuror.skill.markdown.block_index import slug
from skilljuror.skill.units.critical_tokens import critical_tokens
from skilljuror.study.task_sources import SKILLS, TaskDraft, refused, relative, text_at

EVALS = "evals"
MAX_TASKS = 1_000
_ITEMS = ("assertions", "expectations")
"""Names of an eval's list of assertions, the newer first."""
_TEXTS = ("text", "description", "check")
"""Names of the text of an assertion that is an object."""
_QUERIES = ("query", "prompt")
_SPLIT = {"should_trigger": True, "should_not_trigger": False}
"""Names of the two lists of trigger queries, where they are parted."""
_DISTINCTIVE = ("num:", "code:", "path:", "flag:")
"""Critical tokens that tell one text from another."""


class _Skill(Struct, frozen=True):
    """The Skill whose evals are read."""

    folder: Path
    skill: Skill
    files: dict[str, Blob]
    """Path in the Skill's folder -> content."""

    @property
    def offered(self) -> dict[str, Blob]:
        """The files that a trial offers."""
        return {path: one for path, one in self.files.items() if not path.startswith(f"{EVALS}/")}

    @property
    def text(self) -> str:
        """Every text that a trial offers."""
        return "\n".join(filter(None, (blob.text for blob in self.offered.values())))


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
    place = folder if (folder / Path(skill.path).name).is_file() else folder / skill.directory
    found = _Skill(place, skill, files)
    drafts = list(chain.from_iterable(_drafts(found, path, base) for path in sorted(files)))
    if not drafts:
        raise StudyError(
            f"{str(place / EVALS)!r} has neither evals.json, with a list `evals`, nor a list of trigger queries",
            file=str(place / EVALS),
        )
    if len(drafts) > MAX_TASKS:
        raise StudyError(
            f"{str(place / EVALS)!r} has {len(drafts)} evals and queries; use at most {MAX_TASKS}"
        )
    _check_names(drafts, place / EVALS)
    return {f"{SKILLS}/{posixpath.basename(skill.directory)}": found.offered}, drafts


def _check_names(drafts: Sequence[TaskDraft], folder: Path) -> None:
    seen: dict[str, TaskDraft] = {}
    for draft in drafts:
        if draft.name in seen:
            one, other = (each.origin["item"] for each in (seen[draft.name], draft))
            raise refused(folder, other, f"has the same id as {one}; give each its own")
        seen[draft.name] = draft


def _drafts(skill: _Skill, path: str, base: Path) -> Iterator[TaskDraft]:
    """The tasks of one file of evals/; none for a file of another kind."""
    folder, name = posixpath.split(path)
    if folder != EVALS or not name.endswith(".json"):
        return
    file = skill.folder / path
    data = _json(skill.files[path], file, required=name == "evals.json")
    origin = {
        "path": relative(file, base),
        "digest": sha256(skill.files[path].data),
        "commit": None,
        "skill": skill.skill.name,
    }
    if name == "evals.json":
        yield from _evals(skill, data, file, origin)
    for field, query, expected in _queries(data):
        yield _trigger(skill, file, field, query, expected, origin)


def _json(blob: Blob, file: Path, *, required: bool) -> Any:
    try:
        return json.loads(blob.data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if not required:
            return None
        why = str(error).splitlines()[0]
        raise refused(file, "(whole file)", f"is not JSON: {why}; correct it") from error


def _evals(skill: _Skill, data: Any, file: Path, origin: dict[str, Any]) -> Iterator[TaskDraft]:
    rows = data.get("evals") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        held = (
            ", ".join(map(str, list(data)[:8])) if isinstance(data, dict) else type(data).__name__
        )
        raise refused(file, "evals", f"is not a list; the file has: {held or 'nothing'}")
    text = skill.text
    for number, row in enumerate(rows):
        field = f"evals[{number}]"
        if not isinstance(row, dict):
            raise refused(file, field, f"is a {type(row).__name__}; write an object with a prompt")
        if not _is_query(row):
            yield _eval(skill, text, row, file, field, origin)


def _eval(
    skill: _Skill, text: str, row: dict[str, Any], file: Path, field: str, origin: dict[str, Any]
) -> TaskDraft:
    prompt = text_at(row.get("prompt"), file, f"{field}.prompt")
    inputs, own, missing = _inputs(skill, row.get("files"), prompt, file, f"{field}.files")
    items = _items(row, file, field)
    seen = "\n".join([prompt, *filter(None, (blob.text for blob in inputs.values()))])
    rubric = TaskRubric.model_validate({
        "name": EVALS,
        "items": [
            {"id": name, "text": item, "group": _group(item, seen, text)} for name, item in items
        ],
    })
    named = row["id"] if isinstance(row.get("id"), str | int) else row.get("name")
    number = field.partition("[")[2].rstrip("]")
    return TaskDraft(
        name=f"{slug(skill.skill.name)}-eval-{slug(str(named), empty=number)}",
        files={
            "instruction.md": Blob(f"{prompt.rstrip()}\n".encode()),
            f"tests/{RUBRIC_FILE}": Blob(_as_json(rubric)),
            **{f"environment/{path}": blob for path, blob in inputs.items()},
        },
        settings={"schema_version": "1.4", "metadata": {"source": "evals"}},
        origin={"kind": "evals", **origin, "item": field, "of_skill": own},
        lacks=f"{field}.files: {', '.join(missing)} not found in the Skill" if missing else None,
    )


def _as_json(record: TaskRubric | TaskTrigger) -> bytes:
    text = json.dumps(record.model_dump(exclude_defaults=True), indent=1, ensure_ascii=False)
    return f"{text}\n".encode()


def _items(row: dict[str, Any], file: Path, field: str) -> list[tuple[str, str]]:
    """Id and text of each assertion; without any, the expected output is the only one."""
    name = next((name for name in _ITEMS if row.get(name)), None)
    if name is None:
        expected = row.get("expected_output")
        if not expected:
            problem = "has neither assertions nor expected_output, so nothing judges it; write one"
            raise refused(file, field, problem)
        return [("expected_output", text_at(expected, file, f"{field}.expected_output"))]
    listed, field = row[name], f"{field}.{name}"
    if not isinstance(listed, list) or len(listed) > MAX_ITEMS:
        raise refused(file, field, f"is not a list of at most {MAX_ITEMS} assertions")
    found = []
    for number, one in enumerate(listed, 1):
        place = f"{field}[{number - 1}]"
        said = one
        if isinstance(one, dict):
            said = next((one[key] for key in _TEXTS if one.get(key)), None)
        found.append((str(number), text_at(said, file, place)))
    return found


def _inputs(
    skill: _Skill, listed: Any, prompt: str, file: Path, field: str
) -> tuple[dict[str, Blob], list[str], list[str]]:
    """Input files by their place in the environment; listed files of the Skill itself, which only a trial with
    the Skill has; and names that are in neither."""
    inputs, own, missing = dict[str, Blob](), list[str](), list[str]()
    if not isinstance(listed or [], list):
        raise refused(file, field, f"is a {type(listed).__name__}; write a list of paths")
    for number, one in enumerate(listed or []):
        name = text_at(one, file, f"{field}[{number}]")
        inner = posixpath.normpath(name)
        if inner.startswith(("/", "../")) or inner == ".." or "\\" in name or inner == ".":
            raise refused(
                file, f"{field}[{number}]", f"{name!r} is not inside the Skill; use a relative path"
            )
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


def _group(item: str, seen: str, skill: str) -> str:
    """following if distinctive tokens are in the Skill's text and not in what the task says, none in neither;
    else goal."""
    lacking = [token for token in _distinctive(item) if not _has(seen, token)]
    return "following" if lacking and all(_has(skill, token) for token in lacking) else "goal"


def _distinctive(text: str) -> list[str]:
    return [
        token.partition(":")[2].partition("|")[0]
        for token in critical_tokens(text)
        if token.startswith(_DISTINCTIVE)
    ]


def _has(text: str, token: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(token)}(?!\w)", text) is not None


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


def _trigger(
    skill: _Skill, file: Path, field: str, query: Any, expected: bool, origin: dict[str, Any]
) -> TaskDraft:
    text = text_at(query, file, field)
    named = slug(f"{'' if file.stem == EVALS else file.stem} {field}")
    return TaskDraft(
        name=f"{slug(skill.skill.name)}-trigger-{named}",
        files={
            "instruction.md": Blob(f"{text.rstrip()}\n".encode()),
            f"tests/{TRIGGER_FILE}": Blob(
                _as_json(
                    TaskTrigger(
                        should_trigger=expected, skill=posixpath.basename(skill.skill.directory)
                    )
                )
            ),
        },
        settings={"schema_version": "1.4", "metadata": {"source": "trigger"}},
        origin={"kind": "trigger", **origin, "item": field},
    )

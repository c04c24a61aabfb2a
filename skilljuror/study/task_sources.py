"""Task folders made once from other sources: a Skill's own evals (evals/evals.json of the Agent Skills guide, and
its trigger queries), a repository at a commit with a requirement, packages with a task.md.

All of them are written, or none. Sources are hostile: they are read as bundles are, nothing in them is followed
or run, and whatever cannot be a task is refused in one line with its file and field.
"""

import io
import json
import posixpath
import re
import shutil
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import BundleError, StudyError, UsageError
from skilljuror.base.files import digest_tree, sha256
from skilljuror.base.review import MAX_ITEMS, RUBRIC_FILE, TaskRubric
from skilljuror.base.skill import Blob, class_of, is_root_name
from skilljuror.base.study import TRIGGER_FILE, TaskTrigger
from skilljuror.skill.bundles import load_bundle, read_folder, write_bundle
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.markdown import frontmatter_end, parse_frontmatter, slug
from skilljuror.skill.revision import TreeFile, tree_at

MAX_TASKS = 1_000
"""Evals and queries of a Skill."""
MAX_REQUIREMENT = 1_000_000
"""Bytes of the requirement of a repository."""

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
TASK_MD = "task.md"
_SAME = {"sandbox": "environment", "oracle": "solution"}
"""Table in task.md -> table in task.toml: two spellings occur, `sandbox:` with a heading `## prompt`, and
`environment:` with a bare body."""
_FOLDERS = {"verifier": "tests", "oracle": "solution"}
"""Folder of a package -> folder of a task."""
_TABLES = ("task", "metadata", "agent", "verifier", "environment", "solution")
_PLAIN = ("schema_version", "version", "source", "artifacts")
_NOT_RUNNABLE = (
    "agents", "roles", "scenes", "steps", "user", "benchflow", "multi_step_reward_strategy",
)  # fmt: skip
"""Keys of packages with several agents, turns or steps, which no harness here runs."""
_PROMPT = re.compile(r"^## prompt[ \t]*$", re.MULTILINE)
_ROLES = re.compile(r"^## ((?:role|scene):\S+|user-persona)", re.MULTILINE)
ARCHIVE = "repo.tar"
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AGENT_SKILLS = re.compile(r"(?:^|.*/)\.[a-z0-9_-]+/skills?/")
"""Folders in which agents look for a repository's own Skills, such as .claude/skills."""
REPOSITORY_DOCKERFILE = f"FROM python:3.12\nWORKDIR /app\nADD {ARCHIVE} /app/\n"
TEST = """\
#!/bin/bash
# Reward 1 if every test passes.
logs="${LOGS_DIR:-/logs}/verifier"
if python3 -m pytest -q --junitxml="$logs/junit.xml" "${TESTS_DIR:-/tests}"; then r=1; else r=0; fi
echo $r > "$logs/reward.txt"
"""
RUBRIC = """\
{
 "name": "requirement",
 "items": [
  {"id": "requirement", "text": "The repository meets every requirement of the instruction."}
 ]
}
"""


class RepositorySource(Struct, frozen=True):
    """A repository, one of its commits, and what is asked of it."""

    path: Path
    """A folder in a git repository on this machine."""
    commit: str
    """Full hash of the commit."""
    requirement: Path
    """Text of the task."""
    tests: Path | None = None
    """The verifier: a folder with test.sh, or with test_*.py for pytest; None: a rubric judges the work."""


class TaskDraft(Struct, frozen=True):
    """A task folder to write."""

    name: str
    files: dict[str, Blob]
    """Path in the folder -> content; the settings and the origin are added."""
    settings: dict[str, Any]
    """Content of task.toml."""
    origin: dict[str, Any]
    """Content of source.json: kind, path, digest, commit, and what the kind adds."""
    lacks: str | None = None
    """Why the task cannot be run as it is, for its exclusion."""

    def content(self) -> dict[str, Blob]:
        """Every file of the folder."""
        origin = json.dumps(self.origin, indent=1, ensure_ascii=False) + "\n"
        added = {"task.toml": to_toml(self.settings), SOURCE_FILE: origin}
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


def to_toml(table: Mapping[str, Any]) -> str:
    """Return a mapping as TOML, without its nulls."""

    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return f"{{{', '.join(pairs(value))}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(text(item) for item in value if item is not None)}]"
        if isinstance(value, date):  # and times
            return value.isoformat()
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    def name(key: str) -> str:
        return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else text(key)

    def pairs(table: Mapping[str, Any]) -> list[str]:
        return [f"{name(key)} = {text(value)}" for key, value in table.items() if value is not None]

    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = pairs({key: value for key, value in table.items() if key not in tables})
    for key, inner in tables.items():
        lines += ["", f"[{name(key)}]", *pairs(inner)]
    toml = "\n".join(lines).lstrip("\n") + "\n"
    tomllib.loads(toml)
    return toml


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
            settings={"schema_version": "1.4", "metadata": {"source": "trigger"}},
            origin={"kind": "trigger", **origin, "item": field},
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
        settings={"schema_version": "1.4", "metadata": {"source": "evals"}},
        origin={"kind": "evals", **origin, "item": field, "of_skill": own},
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


def task_of_repository(source: RepositorySource, base: Path) -> TaskDraft:
    """Return a repository at a commit as a task: its files in an archive, a requirement as the instruction.
    Raises UsageError with the option and fix."""
    repo, short = repr(str(source.path)), source.commit[:12]
    if "://" in str(source.path) or ":/" in str(source.path):
        raise UsageError(
            f"--repo {repo} is an address; clone it, and name the folder", field="repo"
        )
    if not _SHA.fullmatch(source.commit):
        raise UsageError(
            f"--commit {source.commit!r} is not a full hash of 40 or 64 hexadecimal digits; git rev-parse"
            " REVISION prints it",
            field="commit",
        )
    kept, stripped = list[TreeFile](), set[str]()
    try:
        tree = [*tree_at(source.path, source.commit)]
    except BundleError as error:
        raise UsageError(
            f"--repo {repo}: commit {short} cannot be read: {error.message}", field="commit"
        ) from error
    for file in tree:
        if folder := _AGENT_SKILLS.match(file.path):
            stripped.add(folder[0].rstrip("/"))
        elif is_root_name(file.path):
            raise UsageError(
                f"--repo {repo}: {file.path} at {short} would be visible to an arm without a Skill; choose a"
                " commit without it",
                file=file.path, field="repo",
            )  # fmt: skip
        else:
            kept.append(file)
    archive = _archive(kept)
    return TaskDraft(
        name=slug(source.requirement.stem, empty="requirement"),
        files={
            "instruction.md": Blob(_requirement(source.requirement)),
            "environment/Dockerfile": Blob(REPOSITORY_DOCKERFILE.encode()),
            f"environment/{ARCHIVE}": Blob(archive),
            **_verifier(source.tests),
        },
        settings={"schema_version": "1.4", "metadata": {"source": "repository"}},
        origin={
            "kind": "repository",
            "path": relative(source.path, base),
            "digest": sha256(archive),
            "commit": source.commit,
            "stripped": sorted(stripped),
        },
    )


def _archive(files: Sequence[TreeFile]) -> bytes:
    """A tar that depends on paths, modes and contents alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            member = tarfile.TarInfo(file.path)
            member.mode = 0o755 if file.executable else 0o644
            if file.link:
                member.type, member.linkname = tarfile.SYMTYPE, file.data.decode()
                archive.addfile(member)
            else:
                member.size = len(file.data)
                archive.addfile(member, io.BytesIO(file.data))
    return buffer.getvalue()


def _requirement(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_REQUIREMENT:
            raise refused(path, "requirement", f"is larger than {MAX_REQUIREMENT} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not UTF-8"
        raise refused(path, "requirement", f"{why}; name a text file") from error
    return f"{text_at(text, path, 'requirement').rstrip()}\n".encode()


def _verifier(folder: Path | None) -> dict[str, Blob]:
    if folder is None:
        return {f"tests/{RUBRIC_FILE}": Blob(RUBRIC.encode())}
    files, _ = read_folder(folder)
    tests = {f"tests/{path}": blob for path, blob in files.items()}
    if "tests/test.sh" in tests:
        return tests
    if not any(re.search(r"(?:^|/)test_[^/]*\.py$", path) for path in files):
        raise refused(folder, "tests", "has neither test.sh nor a test_*.py; add one")
    return tests | {"tests/test.sh": Blob(TEST.encode(), executable=True)}


def task_of_package(folder: Path, base: Path) -> TaskDraft:
    """Return the task of a folder with a task.md: its front matter is the settings, its body the instruction.
    Raises StudyError and BundleError with file, field and fix."""
    try:
        files, _ = read_folder(folder)
    except BundleError as error:
        raise refused(folder, "(files)", error.message) from error
    file = folder / TASK_MD
    lines = text_at(files[TASK_MD].text, file, "(whole file)").splitlines()
    fields, problem = parse_frontmatter(lines)
    if problem:
        problem = f"{problem}; it holds the settings, between two lines '---'"
        raise refused(file, "front matter", problem)
    settings = _settings(fields, file)
    body = "\n".join(lines[frontmatter_end(lines) :])
    if role := _ROLES.search(body):
        raise refused(file, f"## {role[1]}", "roles and scenes are not runnable here")
    prompt = text_at(_PROMPT.split(body, maxsplit=1)[-1].strip(), file, "body")
    kept, left_out = dict[str, Blob](), list[str]()
    tops = {path.split("/")[0] for path in files}
    for old, new in _FOLDERS.items():
        if {old, new} <= tops:
            raise refused(folder, f"{old}/", f"both {old}/ and {new}/ are there; keep one")
    for path, blob in files.items():
        top, _, rest = path.partition("/")
        top = _FOLDERS.get(top, top)
        if top in {"environment", *_FOLDERS.values()} and rest:
            kept[f"{top}/{rest}"] = blob
        elif path != TASK_MD:
            left_out.append(path)
    if "tests/test.sh" not in kept:
        problem = "is missing; only verifiers of type test-script run here"
        raise refused(folder, "verifier/test.sh", problem)
    return TaskDraft(
        name=folder.resolve().name,
        files={"instruction.md": Blob(f"{prompt}\n".encode()), **kept},
        settings=settings,
        origin={
            "kind": TASK_MD,
            "path": relative(folder, base),
            "digest": digest_tree(folder),
            "commit": None,
            "left_out": left_out,
        },
    )


def _settings(fields: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The content of task.toml."""
    for key in _NOT_RUNNABLE:
        if fields.get(key):
            raise refused(file, key, "several agents, turns or steps are not runnable here")
    for old, new in _SAME.items():
        if old in fields and new in fields:
            raise refused(file, old, f"both {old!r} and {new!r} are given; keep one")
    known = {*_TABLES, *_PLAIN, *_SAME, *_NOT_RUNNABLE}
    if unknown := sorted(set(fields) - known):
        problem = f"is unknown; choose one of {', '.join((*_PLAIN, *_TABLES))}"
        raise refused(file, unknown[0], problem)
    tables = {_SAME.get(key, key): fields[key] for key in fields if key not in _NOT_RUNNABLE}
    for key in _TABLES:
        if not isinstance(tables.get(key) or {}, dict):
            raise refused(file, key, f"is a {type(tables[key]).__name__}; write a mapping")
    kind = (tables.get("verifier") or {}).get("type", "test-script")
    if kind != "test-script":
        raise refused(file, "verifier.type", f"{kind!r} does not run here; use test-script")
    without_hosts = [
        key
        for key in ("agent", "verifier", "environment")
        if (table := tables.get(key) or {}).get("network_mode") == "allowlist"
        and not table.get("allowed_hosts")
    ]
    if without_hosts:
        problem = "is missing; network_mode allowlist requires hosts"
        raise refused(file, f"{without_hosts[0]}.allowed_hosts", problem)
    return {key: value for key, value in tables.items() if value is not None}

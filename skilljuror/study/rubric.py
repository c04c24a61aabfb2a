"""Rubrics of tasks: read one, decide its items by code on what a trial left, and find weak items before any trial."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import regex

from skilljuror.base.errors import HarnessError, StudyError
from skilljuror.base.files import read_record, sha256
from skilljuror.base.review import (
    MAX_BYTES,
    RUBRIC_FILE,
    CodeCheck,
    JsonValue,
    TaskRubric,
    TaskRubricItem,
)
from skilljuror.harness.artifacts import LISTING, MAX_KEPT, WORK, Reading, plain_files
from skilljuror.harness.sandbox import host_path
from skilljuror.harness.tasks import copy_environment

MAX_QUOTE = 300
MAX_SECONDS = 2
"""Longest search of a regular expression of a rubric in one text."""
_TOKEN = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]{2,60})\"|(?<!\w)(--[a-z][\w-]+|[\w.-]*/[\w./-]*\w|\w+\.[a-z]{1,5}"
    r"|\d[\d,]*\.\d+|\d{2,}|[a-zA-Z]\w*_\w+|[a-z]+[A-Z]\w+|[A-Z][A-Z\d]{2,})(?!\w)"
)
"""Words of an item that can be looked up: code, quoted words, options, paths, numbers, identifiers."""


class Work(NamedTuple):
    """What a trial left of its work."""

    files: Mapping[str, str] = {}
    """Path -> text, of kept files and of inputs that are as they were."""
    left: frozenset[str] = frozenset()
    """Paths of all files."""
    changed: tuple[str, ...] = ()
    """Paths of the kept files."""
    not_kept: Mapping[str, str] = {}
    """Path -> why its text is unknown."""
    whole: bool = True
    """Whether `left` has every file."""
    missing: str | None = None
    """Why nothing of the work is known, or None."""
    commands: tuple[str, ...] | None = ()
    """Commands that the agent ran; None without a readable log."""


class Decided(NamedTuple):
    """What code says of an item."""

    answer: Literal["yes", "no"] | None
    reason: str = ""
    """Why it says no, or nothing."""
    file: str = ""
    line: int | None = None
    quote: str = ""


class RubricFinding(NamedTuple):
    """A weakness of an item."""

    rule: Literal["following", "goal", "free points", "orphan"]
    item: str
    """Id of the item."""
    group: str
    tokens: tuple[str, ...]
    """Its words that decided it."""
    message: str


def has_rubric(task_dir: Path) -> bool:
    """Whether a task has a tests/rubric.json, be it a link."""
    path = task_dir / "tests" / RUBRIC_FILE
    return path.exists() or path.is_symlink()


def read_rubric(path: Path) -> TaskRubric:
    """Read a rubric. Raises StudyError for a file that is not one, with field and fix."""
    if path.is_symlink() or not path.is_file():
        raise StudyError(f"rubric {str(path)!r} is not a regular file", file=str(path))
    if (size := path.stat().st_size) > MAX_BYTES:
        raise StudyError(
            f"rubric {str(path)!r} has {size} bytes, more than {MAX_BYTES}; divide it",
            file=str(path),
        )
    return read_record(TaskRubric, path)


def texts_in(folder: Path) -> dict[str, str]:
    """Return path -> text of the text files below a folder, up to the size of a kept file."""
    texts, reading = {}, Reading()
    for path, info in plain_files(folder, [], reading):
        if info.st_size <= MAX_KEPT and reading.takes(str(path), info.st_size):
            try:
                texts[path.relative_to(folder).as_posix()] = path.read_bytes().decode()
            except (OSError, UnicodeDecodeError):
                continue
    return texts


def inputs_of(task_dir: Path) -> dict[str, str]:
    """Return path -> text of the files in a task's working directory before the agent, as its Dockerfile
    copies them; empty where it cannot be followed."""
    with TemporaryDirectory() as name:
        try:
            recipe = copy_environment(task_dir / "environment", Path(name))
        except HarnessError:
            return {}
        return texts_in(host_path(Path(name), recipe.workdir))


def work_of(raw: Path, inputs: Mapping[str, str], commands: tuple[str, ...] | None) -> Work:
    """Return what a trial's raw folder has of its work."""
    try:
        listing = json.loads((raw / LISTING).read_bytes())
        digests = {file["path"]: file["sha256"] for file in listing["files"]}
        others = [str(line) for line in listing["others"]]
        not_kept = dict(str(line).split(": ", 1) for line in listing.get("not_kept", ()))
    except (OSError, ValueError, KeyError, TypeError):
        digests, others, not_kept = None, [], {}
    if digests is None or not (raw / WORK).is_dir():
        return Work(missing="the trial kept no files (field keep of the study)", commands=commands)
    kept = texts_in(raw / WORK)
    same = {
        path: text
        for path, text in inputs.items()
        if digests.get(path) == sha256(text.encode()) and path not in kept
    }
    return Work(
        files={**same, **kept},
        left=frozenset({*digests, *kept}),
        changed=tuple(kept),
        not_kept=not_kept,
        whole=not any(line.startswith("more than") for line in others),
        commands=commands,
    )


def decide(check: CodeCheck, work: Work) -> Decided:
    """Decide an item by code; without an answer if what it asks for is unknown."""
    if check.command is not None:
        return _decide_command(check.command, check.used, work.commands)
    name = check.file or ""
    if work.missing:
        return Decided(None, work.missing)
    present = name in work.left or any(path.startswith(f"{name}/") for path in work.left)
    if not present and not work.whole:
        return Decided(None, f"the list of files is cut, and does not have {name}")
    if check.exists is False and not present:
        return Decided("yes") if work.changed else Decided("no", "the agent left no file")
    text = work.files.get(name)
    if check.exists is not None:
        return Decided("yes" if check.exists else "no", "", name, 1, _line(text or "", 0))
    if not present:
        return Decided("no", f"{name} does not exist")
    if text is None:
        return Decided(None, work.not_kept.get(name, f"the text of {name} was not kept"))
    return _decide_text(check, name, text)


def _decide_text(check: CodeCheck, name: str, text: str) -> Decided:
    if check.value is not None:
        return _decide_json(check.value, name, text)
    wanted = check.contains or check.absent
    at = _search(check.regex or "", text) if wanted is None else text.find(wanted)
    answer: Literal["yes", "no"] = "yes" if (at >= 0) == (check.absent is None) else "no"
    if at < 0:
        return Decided(answer, "", name, None, text.strip()[:MAX_QUOTE])
    return Decided(answer, "", name, text.count("\n", 0, at) + 1, _line(text, at))


def _decide_command(pattern: str, used: bool, commands: tuple[str, ...] | None) -> Decided:
    if commands is None:
        return Decided(None, "the trial has no readable log")
    for number, text in enumerate(commands, 1):
        if (at := _search(pattern, text)) >= 0:
            return Decided("yes" if used else "no", "", "commands", number, _line(text, at))
    return Decided("no" if used else "yes", "", "commands")


def _decide_json(wanted: JsonValue, name: str, text: str) -> Decided:
    try:
        node = json.loads(text)
    except (ValueError, RecursionError):
        return Decided("no", f"{name} is not valid JSON", name)
    try:
        for part in wanted.path.split(".") if wanted.path else ():
            node = node[int(part) if isinstance(node, list) else part]
    except (KeyError, IndexError, ValueError, TypeError):
        return Decided("no", f"{name} has no value at {wanted.path}", name)
    same = _is_equal(node, wanted.equals, wanted.within)
    quote = f"{wanted.path}: {json.dumps(node)[:MAX_QUOTE]}"
    return Decided("yes" if same else "no", "", name, None, quote)


def _is_equal(value: Any, wanted: Any, within: float) -> bool:
    if not {type(value), type(wanted)} <= {int, float}:
        return type(value) is type(wanted) and bool(value == wanted)
    try:
        return math.isfinite(value) and abs(value - wanted) <= within
    except OverflowError:
        return False


def _line(text: str, at: int) -> str:
    """The line of a text around a place."""
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else None].strip()[:MAX_QUOTE]


def _search(pattern: str, text: str) -> int:
    """Return where a pattern matches, -1 if nowhere. Raises StudyError for one that takes too long."""
    try:
        match = regex.search(pattern, text, regex.MULTILINE, timeout=MAX_SECONDS)
    except TimeoutError:
        raise StudyError(
            f"the regular expression {pattern!r} takes more than {MAX_SECONDS} s on one text;"
            " make it simpler, without a repetition inside another",
            file=RUBRIC_FILE, field="check",
        ) from None  # fmt: skip
    return match.start() if match else -1


def rubric_findings(task_dir: Path, skill: Iterable[str]) -> list[RubricFinding]:
    """Return the weaknesses of tests/rubric.json of a task, against its instruction, its inputs and the
    texts of the Skill; [] without a rubric.

    following: the task itself says what the Skill should earn. goal: an item of the task's aim asks for
    what only the Skill says. free points: the untouched inputs meet its check. orphan: neither task nor
    Skill says it. An item without distinctive words is found by none of the three rules of words.
    Raises StudyError for an invalid rubric.
    """
    if not has_rubric(task_dir):
        return []
    inputs = inputs_of(task_dir)
    instruction = (task_dir / "instruction.md").read_text(encoding="utf-8", errors="replace")
    task = _lower([instruction, *inputs, *inputs.values()])
    told = _lower(skill)
    start = Work(inputs, frozenset(inputs), commands=())
    findings = []
    for item in read_rubric(task_dir / "tests" / RUBRIC_FILE).items:
        if item.check and decide(item.check, start).answer == "yes":
            why = "the untouched inputs meet it"
            findings.append(RubricFinding("free points", item.id, item.group, (), why))
        findings += _word_findings(item, task, told)
    return findings


def _word_findings(item: TaskRubricItem, task: str, skill: str) -> Iterator[RubricFinding]:
    tokens = distinctive_tokens(item)
    outside = [token for token in tokens if not _has(task, token)]
    lost = tuple(token for token in outside if not _has(skill, token))
    of_skill = tuple(token for token in outside if token not in lost)
    if item.group == "following" and tokens and not outside:
        why = "instruction and inputs have all its distinctive words"
        yield RubricFinding("following", item.id, item.group, tokens, why)
    if item.group == "goal" and of_skill:
        why = "the Skill alone has distinctive words of it"
        yield RubricFinding("goal", item.id, item.group, of_skill, why)
    if lost:
        why = "neither task nor Skill has distinctive words of it"
        yield RubricFinding("orphan", item.id, item.group, lost, why)


def _has(text: str, token: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(token.lower())}(?!\w)", text) is not None


def distinctive_tokens(item: TaskRubricItem) -> tuple[str, ...]:
    """Return the words of an item, and of its check, that can be looked up, each once."""
    words = [next(filter(None, groups)) for groups in _TOKEN.findall(item.text)]
    if check := item.check:
        words += filter(None, (check.file, check.contains, check.absent))
    return tuple(dict.fromkeys(" ".join(word.split()) for word in words))


def _lower(texts: Iterable[str]) -> str:
    return "\n".join(" ".join(text.lower().split()) for text in texts)

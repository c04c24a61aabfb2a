"""What a rubric judges: the files of a trial's work, the inputs of its task; leaks of a rubric itself."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import sha256
from skilljuror.base.review import RUBRIC_FILE, TaskRubricItem
from skilljuror.harness.artifacts import LISTING, MAX_KEPT, WORK, Reading, plain_files
from skilljuror.harness.environment import copy_environment
from skilljuror.harness.sandbox import host_path
from skilljuror.study.task_rubric import Work, decide, read_rubric

_TOKEN = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]{2,60})\"|(?<!\w)(--[a-z][\w-]+|[\w.-]*/[\w./-]*\w|\w+\.[a-z]{1,5}"
    r"|\d[\d,]*\.\d+|\d{2,}|[a-zA-Z]\w*_\w+|[a-z]+[A-Z]\w+|[A-Z][A-Z\d]{2,})(?!\w)"
)
"""Words of an item that can be looked up: code, quoted words, options, paths, numbers, identifiers."""


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
        digests = {one["path"]: one["sha256"] for one in listing["files"]}
        others = [str(one) for one in listing["others"]]
        not_kept = dict(str(one).split(": ", 1) for one in listing.get("not_kept", ()))
    except (OSError, ValueError, KeyError, TypeError):
        return Work(missing="the trial kept no files (field keep of the study)", commands=commands)
    if not (raw / WORK).is_dir():
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
        whole=not any(one.startswith("more than") for one in others),
        commands=commands,
    )


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
    found = []
    for item in read_rubric(task_dir / "tests" / RUBRIC_FILE).items:
        if item.check and decide(item.check, start).answer == "yes":
            why = "the untouched inputs meet it"
            found.append(RubricFinding("free points", item.id, item.group, (), why))
        found += _told(item, task, told)
    return found


def _told(item: TaskRubricItem, task: str, skill: str) -> Iterable[RubricFinding]:
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
    words = [next(filter(None, found)) for found in _TOKEN.findall(item.text)]
    if check := item.check:
        words += filter(None, (check.file, check.contains, check.absent))
    return tuple(dict.fromkeys(" ".join(word.split()) for word in words))


def _lower(texts: Iterable[str]) -> str:
    return "\n".join(" ".join(text.lower().split()) for text in texts)

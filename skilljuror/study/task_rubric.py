"""Rubrics of tasks: read one, and decide its items by code."""

import json
import math
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from skilljuror.base.errors import StudyError
from skilljuror.base.files import read_record
from skilljuror.base.review import MAX_BYTES, CodeCheck, JsonValue, TaskRubric

SECONDS = 1.0
"""Time limit of a regular expression on one text; then it decides nothing any more."""
MAX_QUOTE = 300


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


def decide(check: CodeCheck, work: Work) -> Decided:
    """Decide an item by code; without an answer if what it asks for is unknown."""
    if check.command is not None:
        return _command(check.command, check.used, work.commands)
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
    return _in_text(check, name, text)


def _in_text(check: CodeCheck, name: str, text: str) -> Decided:
    if check.value is not None:
        return _json(check.value, name, text)
    wanted = check.contains or check.absent
    if wanted is not None:
        at: int | None = text.find(wanted)
    else:
        at = _search(check.regex or "", text)
    if at is None:
        return Decided(None, f"its regular expression takes more than {SECONDS:g} s")
    instead = name, None, text.strip()[:MAX_QUOTE]
    found = (name, text.count("\n", 0, at) + 1, _line(text, at)) if at >= 0 else instead
    return Decided("yes" if (at >= 0) == (check.absent is None) else "no", "", *found)


def _command(pattern: str, used: bool, commands: tuple[str, ...] | None) -> Decided:
    if commands is None:
        return Decided(None, "the trial has no readable log")
    for number, text in enumerate(commands, 1):
        at = _search(pattern, text)
        if at is None:
            return Decided(None, f"its regular expression takes more than {SECONDS:g} s")
        if at >= 0:
            return Decided("yes" if used else "no", "", "commands", number, _line(text, at))
    return Decided("no" if used else "yes", "", "commands")


def _line(text: str, at: int) -> str:
    """The line of a text around a place."""
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else None].strip()[:MAX_QUOTE]


_too_slow: set[str] = set()
"""Patterns that once exceeded the limit."""


def _search(pattern: str, text: str) -> int | None:
    """Return where a pattern matches, -1 if nowhere, None if it takes too long."""
    if pattern in _too_slow:
        return None
    try:
        with _time_limit():
            found = _compiled(pattern).search(text)
    except TimeoutError:
        _too_slow.add(pattern)
        return None
    return found.start() if found else -1


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError after `SECONDS`; Python's matching stops for a signal."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


def _json(wanted: JsonValue, name: str, text: str) -> Decided:
    try:
        node = json.loads(text)
    except (ValueError, RecursionError):
        return Decided("no", f"{name} is not valid JSON", name)
    try:
        for part in wanted.path.split(".") if wanted.path else ():
            node = node[int(part) if isinstance(node, list) else part]
    except (KeyError, IndexError, ValueError, TypeError):
        return Decided("no", f"{name} has no value at {wanted.path}", name)
    said = json.dumps(node)[:MAX_QUOTE]
    same = _same(node, wanted.equals, wanted.within)
    return Decided("yes" if same else "no", "", name, None, f"{wanted.path}: {said}")


def _same(found: Any, wanted: Any, within: float) -> bool:
    numbers = all(type(one) in {int, float} for one in (found, wanted))
    if not numbers:
        return type(found) is type(wanted) and bool(found == wanted)
    try:
        return math.isfinite(found) and abs(found - wanted) <= within
    except OverflowError:
        return False

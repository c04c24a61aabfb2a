"""Task folders made from other sources, once: all of them are written, or none.

Sources are hostile: they are read as bundles are, nothing in them is followed or run, and whatever cannot
be a task is refused in one line with its file and field.
"""

import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError
from skilljuror.base.files import digest_tree
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles import write_bundle

SOURCE_FILE = "source.json"
"""File of a converted task that says where it came from."""
TASKS, SKILLS = "tasks", "skills"
"""Folders beside the study file."""
DOCKERFILE = "FROM ubuntu:24.04\nWORKDIR /app\nCOPY . /app/\n"
"""Environment of a task that brings none."""
_KEY = re.compile(r"[A-Za-z0-9_-]+")


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
    made = [base / parent for parent in (TASKS, SKILLS) if not (base / parent).exists()]
    new = [path for path in folders if not (base / path).exists()]
    with tempfile.TemporaryDirectory(dir=base, prefix=".init-") as staging:
        for path, files in folders.items():
            write_bundle(files, Path(staging, path))
            if path not in new:
                _require_same(Path(staging, path), base / path)
        with _removed_on_failure([base / path for path in new], made):
            for path in new:
                (base / path).parent.mkdir(parents=True, exist_ok=True)
                Path(staging, path).rename(base / path)
            yield


@contextmanager
def _removed_on_failure(folders: Sequence[Path], parents: Sequence[Path]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        for parent in parents:
            with suppress(OSError):  # it is not empty, or was never made
                parent.rmdir()
        raise


def _require_same(one: Path, other: Path) -> None:
    if not (other.is_dir() and digest_tree(one) == digest_tree(other)):
        raise StudyError(
            f"{str(other)!r} already exists; move it away, or write the study into another folder with --out",
            file=str(other),
        )


def to_toml(table: Mapping[str, Any]) -> str:
    """Return a mapping as TOML, without its nulls."""
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    lines = [*_pairs(plain)]
    for key, inner in table.items():
        if isinstance(inner, Mapping):
            lines += ["", f"[{_key(key)}]", *_pairs(inner)]
    text = "\n".join(lines).lstrip("\n") + "\n"
    tomllib.loads(text)
    return text


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if value is not None:
            yield f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{{', '.join(_pairs(value))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value if one is not None)}]"
    if isinstance(value, date):  # and times
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)

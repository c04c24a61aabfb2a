"""Raw JSON lines: one object at a time with its 1-based line, tolerant of damage.

Real logs contain two objects on one line, a missing final newline, invalid UTF-8, NUL padding and a
truncated last line; no record may be lost.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.raw_logs.decoded import open_decoded

_DECODER = json.JSONDecoder(strict=False)
_DEEPEST = 200
"""Maximum nesting kept of a repaired value."""
_PADDING = " \t\r\n\x00\ufeff"


class JsonLines:
    """Iterates over (line, object) of one file; diagnostics are available afterwards."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        """One message per invalid line."""
        self.complete = True
        """False if the last line is cut off."""

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with open_log(self.path) as raw:
            for number, line in enumerate(raw, 1):
                try:
                    value = orjson.loads(line)
                except orjson.JSONDecodeError:
                    yield from self._repair(number, line)
                    continue
                if isinstance(value, dict):
                    yield number, value

    def _repair(self, number: int, line: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        values, whole = decode_glued(line)
        for value in values:
            if isinstance(value, dict):
                yield number, value
        if whole:
            return
        if line.endswith(b"\n"):
            self.warnings.append(f"line {number} is not valid JSON; skipped")
        else:
            self.complete = False


def unreadable(path: Path, problem: str) -> TrajectoryError:
    """Return an error that names the file and the problem."""
    return TrajectoryError(f"{str(path)!r} {problem}", file=str(path))


def open_log(path: Path) -> Any:
    """Open a log for reading decoded bytes. Raises TrajectoryError."""
    try:
        return open_decoded(path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}; check that it exists and is readable"
        raise unreadable(path, problem) from error


def file_key(path: Path) -> str:
    """Key of a run without a session id: a digest of the decoded bytes."""
    with open_log(path) as log:
        return f"file-{hashlib.file_digest(log, 'sha256').hexdigest()[:16]}"


def decode_glued(line: bytes) -> tuple[list[Any], bool]:
    """Return all JSON values at the start of a line, and whether they fill the line."""
    plain = line.decode("utf-8", "replace")
    values: list[Any] = []
    at = 0
    while True:
        at = _next_value(plain, at)
        if at >= len(plain):
            return values, True
        try:
            value, at = _DECODER.raw_decode(plain, at)
            values.append(without_surrogates(value))
        except (ValueError, RecursionError):
            return values, False


def _next_value(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in _PADDING:
        at += 1
    return at


def without_surrogates(value: Any, depth: int = 0) -> Any:
    """Replace lone surrogates, so that every string can be encoded; values nested too deeply become
    None."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [without_surrogates(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {
            without_surrogates(key): without_surrogates(item, depth + 1)
            for key, item in value.items()
        }
    return value

"""Split logs into fields that can be changed one kind at a time, and write them back.

Only a field's position and its values' types are reported, never text.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from msgspec import Struct

MARK = "zqxj"
"""Part of every changed string, to find it in the parsed result."""

EMPTY = frozenset({"null", "empty string", "empty list", "empty object"})
"""Shapes of values without content."""

FILE = b""
"""Placeholder for the content of an unread file."""

Place = tuple[str | int, ...]
"""Keys and indices from a record to one of its values."""

TAGS = ("type", "role", "action", "observation")
"""Members that name the kind of an object; `source` is used if no enclosing object has a kind."""
TAG_DEPTH = 3
"""Nesting depth up to which kinds are used; deeper objects are tool arguments."""
MANY_KEYS = 64
"""Objects with more members are tables of data, whose keys are content."""

_EXACT = 2**53
"""From here on floats no longer distinguish neighbouring integers."""
_LATE = 9000
_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,39}")
_CONTENT_KEY = re.compile(r"[0-9a-f-]{12,}|.*\d{4,}.*")
_TAG = re.compile(r"[A-Za-z<][A-Za-z0-9_./>-]{0,39}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_NUMBERED = re.compile(r"(?=.*\d)[0-9a-fT]+")


class Field(Struct, frozen=True, order=True):
    """A kind of value in a log: the common properties of its occurrences."""

    file: str
    """File within a folder, digits folded; "" if all files are alike."""
    record: str
    """Kinds of the enclosing objects, outermost first, joined by "/"; "" if unknown."""
    path: str
    """Members down to the value, `[]` for list items and `*` for keys that are data."""


class Entry(NamedTuple):
    """One JSON value of a file (a line, or the whole), or bytes that are not JSON."""

    raw: bytes
    value: Any
    """None for bytes that are written back unchanged."""


class LogFile:
    """One file: JSON lines, one JSON document, or neither."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        """Path to write back to."""
        whole = _decoded(data)
        lines = data.removesuffix(b"\n").split(b"\n") if whole is None else [orjson.dumps(whole)]
        self._end = b"" if whole is None and not data.endswith(b"\n") else b"\n"
        self.entries = [Entry(line, _decoded(line)) for line in lines]
        """A document becomes one line, so that values keep their line when another changes."""

    def write(self, changed: dict[int, bytes]) -> None:
        """Write the file with some entries replaced."""
        parts = [changed.get(at, entry.raw) for at, entry in enumerate(self.entries)]
        self.path.write_bytes(b"\n".join(parts) + self._end)


def _decoded(raw: bytes) -> Any:
    """Decode a JSON object or list; None for anything else."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict | list) else None


def fields_of(value: Any, file: str = "") -> Iterator[tuple[Field, Place, Any]]:
    """Yield every value of a record except non-empty objects and lists."""
    for record, path, place, leaf in _walk(value, (), "", ()):
        yield Field(file, "/".join(record), path), place, leaf


def _walk(
    value: Any, record: tuple[str, ...], path: str, place: Place
) -> Iterator[tuple[tuple[str, ...], str, Place, Any]]:
    if isinstance(value, dict) and value:
        depth = sum(isinstance(step, str) for step in place)
        inner = (*record, *_kind(value, record)) if depth < TAG_DEPTH else record
        crowded = len(value) > MANY_KEYS
        for key, item in value.items():
            name = "*" if crowded else _folded(key)
            yield from _walk(item, inner, f"{path}.{name}" if path else name, (*place, key))
    elif isinstance(value, list) and value:
        for at, item in enumerate(value):
            yield from _walk(item, record, f"{path}[]", (*place, at))
    else:
        yield record, path, place, value


def _kind(value: dict[str, Any], record: tuple[str, ...]) -> Iterator[str]:
    names = TAGS if record else (*TAGS, "source")
    for name in names:
        tag = value.get(name)
        if isinstance(tag, str) and _TAG.fullmatch(tag):
            yield tag
            break
    below = value.get("subtype")
    if isinstance(below, str) and _TAG.fullmatch(below):
        yield below


def _folded(key: str) -> str:
    """A member's name, or `*` if it looks like data (a path, number or id)."""
    return key if _PLAIN_KEY.fullmatch(key) and not _CONTENT_KEY.fullmatch(key) else "*"


def folded_path(path: Path) -> str:
    """A relative path with numbers and ids folded to `*`."""
    pieces = re.split(r"([/._-])", path.as_posix())
    plain = "".join("*" if _NUMBERED.fullmatch(piece) else piece for piece in pieces)
    return re.sub(r"\*([._T/-]+\*)+", "*", plain)


_SHAPES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "empty list",
    dict: "empty object",
    bytes: "file",
}


def value_type(value: Any) -> str:
    """Type of a value in a word or two, never the value."""
    if not isinstance(value, str):
        return _SHAPES[type(value)]
    if not value:
        return "empty string"
    if _moment(value) is not None:
        return "time"
    return "JSON text" if _decoded_text(value) is not None else "string"


def changed_value(value: Any, number: int, *, ahead: bool = False) -> Any:
    """Return a different value of the same type; `number` keeps several distinct.

    A string gets a mark at its end or, if `ahead`, at its start; times move by seconds; JSON text
    stays JSON. None and empty containers are returned unchanged.
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1 + number if value < _EXACT else value - 1 - number
    if isinstance(value, float):  # a reward stays within its range
        return (
            value / (2 + number) if 0 < value <= 1 or abs(value) >= _EXACT else value + 1 + number
        )
    return _other_text(value, number, ahead) if isinstance(value, str) else value


def _other_text(value: str, number: int, ahead: bool) -> str:
    moment = _moment(value)
    if moment is not None:
        step = timedelta(seconds=1 + number)
        later = (moment - step if moment.year > _LATE else moment + step).isoformat()
        return later.replace("+00:00", "Z") if value.endswith("Z") else later
    inner = _decoded_text(value)
    if inner is not None:
        return orjson.dumps(_other_inside(inner, number, ahead)).decode()
    mark = f"{MARK}{number}"
    return f"{mark}{value}" if ahead else f"{value}{mark}"


def _other_inside(inner: Any, number: int, ahead: bool) -> Any:
    """Change the first plain value inside a JSON value, or add one."""
    for _, _, place, leaf in _walk(inner, (), "", ()):
        if place and not isinstance(leaf, dict | list) and leaf is not None:
            value_at(inner, place[:-1])[place[-1]] = changed_value(leaf, number, ahead=ahead)
            return inner
    return inner | {MARK: number} if isinstance(inner, dict) else [*inner, f"{MARK}{number}"]


def value_at(record: Any, place: Place) -> Any:
    for step in place:
        record = record[step]
    return record


def _moment(value: str) -> datetime | None:
    if not _MOMENT.match(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _decoded_text(value: str) -> Any:
    return _decoded(value.encode("utf-8", "replace")) if value[:1] in {"{", "["} else None

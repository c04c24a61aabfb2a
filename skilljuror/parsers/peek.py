"""What the first bytes of a file say: complete records, or the members of one large document."""

import json
from functools import lru_cache
from typing import Any

import orjson
from msgspec import Struct

HEAD_BYTES = 64 * 1024
_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n\x00\ufeff"
_DEPTH = 6
_RECORDS = 64


class Peek(Struct, frozen=True):
    """The shape of a file's head."""

    records: tuple[dict[str, Any], ...] = ()
    """Whole JSON objects that stand on lines of their own, in order."""
    document: Any = None
    """The first JSON value as far as the head goes: unfinished members and items are left out,
    unfinished objects hold what is there; None when the file is no JSON."""

    @property
    def first(self) -> dict[str, Any]:
        """The first object: of the lines, else the document itself; {} for neither."""
        if self.records:
            return self.records[0]
        return self.document if isinstance(self.document, dict) else {}


@lru_cache(maxsize=4)
def peek(head: bytes) -> Peek:
    """Look at the first bytes of a file."""
    start = head.lstrip(b" \t\r\n\x00\xef\xbb\xbf")[:1]
    records = _whole_lines(head)
    if start not in {b"{", b"["}:
        return Peek(records=records)
    return Peek(records=records, document=unfinished(head.decode("utf-8", "replace")))


def _whole_lines(head: bytes) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    for line in head.split(b"\n"):
        if not line.startswith(b"{"):
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        found.append(value)
        if len(found) == _RECORDS:
            break
    return tuple(found)


def unfinished(plain: str) -> Any:
    """A JSON value as far as the text goes; None where nothing is whole."""
    value, _ = _value(plain, _blank(plain, 0), 0)
    return value


def _blank(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in _BLANK:
        at += 1
    return at


def _value(plain: str, at: int, depth: int) -> tuple[Any, int | None]:
    """The value at a position and where it ends; None as end means the head ended first."""
    try:
        return _DECODER.raw_decode(plain, at)
    except (ValueError, RecursionError):
        pass
    if depth >= _DEPTH:
        return None, None
    if plain.startswith("{", at):
        return _members(plain, at + 1, depth), None
    if plain.startswith("[", at):
        return _items(plain, at + 1, depth), None
    return None, None


def _members(plain: str, at: int, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while True:
        key, end = _value(plain, _blank(plain, at), _DEPTH)
        if end is None or not isinstance(key, str):
            return found
        at = _blank(plain, end)
        if not plain.startswith(":", at):
            return found
        value, end = _value(plain, _blank(plain, at + 1), depth + 1)
        if end is not None or isinstance(value, dict | list):
            found[key] = value
        if end is None:
            return found
        at = _blank(plain, end)
        if not plain.startswith(",", at):
            return found
        at += 1


def _items(plain: str, at: int, depth: int) -> list[Any]:
    found: list[Any] = []
    while True:
        value, end = _value(plain, _blank(plain, at), depth + 1)
        if end is not None or isinstance(value, dict | list):
            found.append(value)
        if end is None:
            return found
        at = _blank(plain, end)
        if not plain.startswith(",", at):
            return found
        at += 1

"""Decode the first bytes of a file: complete records, or part of one large document."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from jiter import from_json

from skilljuror.logs.raw_logs.decoded import read_start

HEAD_BYTES = 64 * 1024
LONG_HEAD_BYTES = 4 * 1024 * 1024
"""Head size for a second look at JSON files: a screenshot can come first."""
_BLANK = " \t\r\n\x00\ufeff"
_RECORDS = 64
_HALF_CHARACTERS = re.compile(
    rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)", re.DOTALL
)
"""Escapes of lone surrogates in group 1; matches and skips other backslashes that could be mistaken
for one."""


class FileHead:
    """A file's head, decoded lazily."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """Complete JSON objects on their own lines, in order."""
        return list(islice(_objects(self._head), _RECORDS))

    @cached_property
    def document(self) -> Any:
        """The first JSON value as far as the head goes: incomplete members and items are dropped,
        incomplete objects are kept; None if the file is not JSON."""
        if self._start not in {b"{", b"["}:
            return None
        return parse_partial(self._head.decode("utf-8", "replace"))

    @property
    def is_list(self) -> bool:
        return self._start == b"["

    @property
    def items(self) -> list[Any]:
        """The document's items if it is a list, else []."""
        value = self.document if self.is_list else None
        return value if isinstance(value, list) else []

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first object: of the lines, else the document, else {}."""
        for entry in _objects(self._head):
            return entry
        return self.document if isinstance(self.document, dict) else {}

    def objects(self, *needles: bytes) -> Iterator[dict[str, Any]]:
        """The document and records, if the head contains all needles."""
        if all(needle in self._head for needle in needles):
            yield self.first
            yield from self.records

    @cached_property
    def _start(self) -> bytes:
        return self._head.lstrip(b" \t\r\n\x00\xef\xbb\xbf")[:1]


def _objects(head: bytes) -> Iterator[dict[str, Any]]:
    for line in head.split(b"\n"):
        with suppress(orjson.JSONDecodeError):
            if line.startswith(b"{"):
                yield orjson.loads(line)


@lru_cache(maxsize=1)
def parse_head(head: bytes) -> FileHead:
    """Cached, because all formats look at the same head in turn."""
    return FileHead(head)


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first decoded bytes of a log."""
    return read_start(path, size)


def first_broken_line(head: bytes, *, whole: bool) -> int | None:
    """1-based number of the first line that is not JSON, or None. `whole` means that the file ends
    with the head, so that its last line is complete."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines if whole else lines[:-1], start=1):
        try:
            json.loads(line.strip() or b"0")
        except ValueError:
            return number
        except RecursionError:  # too deep for any real log, but still JSON
            return None
    return None


def parse_partial(text: str) -> Any:
    """Decode the valid beginning of a JSON text: incomplete strings and numbers are dropped,
    incomplete objects and lists are kept. None without any value."""
    data = text.lstrip(_BLANK).encode()
    if _begins_json(data):
        return from_json(data, partial_mode=True)
    data = _HALF_CHARACTERS.sub(lambda match: b"?" if match[1] else match[0], data)
    wrong_from = bisect_left(
        range(1, len(data) + 1), True, key=lambda end: not _begins_json(data[:end])
    )
    return from_json(data[:wrong_from], partial_mode=True) if wrong_from else None


def _begins_json(data: bytes) -> bool:
    try:
        from_json(data, partial_mode=True)
    except ValueError:
        return False
    return True

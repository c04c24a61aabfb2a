"""Raw logs as JSON values with their places: lines, documents, first bytes, tolerant access.

Real logs hold two objects on one line, no final newline, invalid UTF-8, NUL padding and a truncated
last record; no record may be lost. gzip and zstd are decoded while they are read, whatever the file
is named. A field of a wrong type counts as missing, never as an error.
"""

import gzip
import hashlib
import io
import json
import math
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from errno import EIO
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from jiter import from_json

from skilljuror.base.errors import TrajectoryError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_COUNT = 2**53
"""Larger numbers are not valid counts."""
HEAD_BYTES = 64 * 1024
LONG_HEAD_BYTES = 4 * 1024 * 1024
"""Head size for a second look at JSON files: a screenshot can come first."""
IMAGE = "[image]"
"""Placeholder of an image in a result's text."""

_BUFFER_BYTES = 1 << 18
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_HEAD_RECORDS = 64
_IMAGES = ("image", "input_image", "image_url")
_PADDING = " \t\r\n\x00\ufeff"
"""Characters allowed around a value: byte order mark, padding."""
_DECODER = json.JSONDecoder(strict=False)
_HALF_CHARACTERS = re.compile(
    rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)", re.DOTALL
)
"""Escapes of lone surrogates in group 1; matches and skips other backslashes that could be mistaken
for one."""


# Values


def nested(value: Any, *keys: str) -> Any:
    """Follow keys through nested objects; None if one is missing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def as_dict(value: Any, *keys: str) -> dict[str, Any]:
    """The object below the keys, else {}."""
    value = nested(value, *keys) if keys else value
    return value if isinstance(value, dict) else {}


def as_list(value: Any, *keys: str) -> list[Any]:
    """The list below the keys, else []."""
    value = nested(value, *keys) if keys else value
    return value if isinstance(value, list) else []


def as_dicts(value: Any, *keys: str) -> list[dict[str, Any]]:
    """The items of a list as objects."""
    return [as_dict(item) for item in as_list(value, *keys)]


def as_str(value: Any, *keys: str) -> str | None:
    """A non-empty string, else None."""
    value = nested(value, *keys) if keys else value
    return value if isinstance(value, str) and value else None


def as_float(value: Any, *keys: str) -> float | None:
    """A finite number, else None."""
    value = nested(value, *keys) if keys else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def as_count(value: Any, *keys: str) -> int | None:
    """A non-negative whole number, else None."""
    value = nested(value, *keys) if keys else value
    number = as_float(value)
    whole = number is not None and number.is_integer() and 0 <= value < MAX_COUNT
    return int(value) if whole else None


def as_int(value: Any, *keys: str) -> int | None:
    """A whole number (exit statuses may be negative), else None."""
    value = nested(value, *keys) if keys else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_epoch(value: Any, *keys: str) -> float | None:
    """Seconds since the epoch from ISO 8601 (default zone UTC) or from (milli)seconds."""
    value = nested(value, *keys) if keys else value
    if not isinstance(value, str):
        number = as_float(value)
        return number / 1000 if number is not None and number > 1e11 else number
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def seconds_of(millis: Any) -> float | None:
    """Seconds from milliseconds."""
    number = as_float(millis)
    return None if number is None else number / 1000


def json_of(text: Any) -> Any:
    """Decode JSON text; None if it is invalid."""
    try:
        return orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def remainder(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts; None if the total is unknown. Negative if the total does not
    include its parts, so that it says nothing."""
    return None if total is None else total - sum(part or 0 for part in parts)


def text_of(value: Any, *keys: str) -> str:
    """Text that a record shows a model: a string, an object with text, or a (nested) list of such."""
    value = nested(value, *keys) if keys else value
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        text = value.get("text")
        if isinstance(text, str):
            return text
        if value.get("type") in _IMAGES:
            return IMAGE
        text = value.get("content")
        return text if isinstance(text, str) else ""
    if isinstance(value, list):
        parts = [text_of(part) for part in value]
        return parts[0] if len(parts) == 1 else "\n".join(filter(None, parts))
    return ""


def text_between_tags(text: str, tag: str) -> str | None:
    """Text between `<tag>` and the next `</tag>` without surrounding line breaks, or None."""
    at = text.find(f"<{tag}>") + len(tag) + 2
    end = text.find(f"</{tag}>", at)
    if at < len(tag) + 2 or end < 0:
        return None
    return text[at:end].removeprefix("\n").removesuffix("\n")


def without_surrogates(value: Any) -> Any:
    """Replace lone surrogates, so that every string can be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def decode_glued(line: bytes) -> tuple[list[Any], bool]:
    """Return all JSON values at the start of a line, and whether they fill the line."""
    text = line.decode("utf-8", "replace")
    values: list[Any] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _PADDING:
            at += 1
        if at >= len(text):
            return values, True
        try:
            value, at = _DECODER.raw_decode(text, at)
            values.append(without_surrogates(value))
        except (ValueError, RecursionError):
            return values, False


def parse_partial(text: str) -> Any:
    """Decode JSON text that may be cut off: incomplete strings and numbers are dropped, incomplete
    objects and lists are kept. None if it is not JSON."""
    data = text.lstrip(_PADDING).encode()
    data = _HALF_CHARACTERS.sub(lambda match: b"?" if match[1] else match[0], data)
    try:
        return from_json(data, partial_mode=True) if data else None
    except ValueError:
        return None


# Files


def unreadable(path: Path, problem: str) -> TrajectoryError:
    """Return an error that names the file and the problem."""
    return TrajectoryError(f"{str(path)!r} {problem}", file=str(path))


def open_log(path: Path) -> Any:
    """Open a log for reading decoded bytes. Raises TrajectoryError."""
    try:
        return _open_decoded(path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}; check that it exists and is readable"
        raise unreadable(path, problem) from error


def file_key(path: Path) -> str:
    """Key of a run without a session id: a digest of the decoded bytes."""
    with open_log(path) as log:
        return f"file-{hashlib.file_digest(log, 'sha256').hexdigest()[:16]}"


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first `size` decoded bytes of a log. Raises OSError."""
    with path.open("rb", buffering=0) as raw:
        data = raw.read(size)
    if not data.startswith((_GZIP, _ZSTD)):
        return data
    with _open_decoded(path) as log:
        head: bytes = log.read(size)
    return head


def name_of_log(path: Path) -> str:
    """A log's file name without its suffix and that of its compression."""
    return Path(path.stem).stem if path.suffix in {".gz", ".zst"} else path.stem


def _open_decoded(path: Path) -> Any:
    raw: Any = path.open("rb", buffering=_BUFFER_BYTES)
    start = raw.peek(len(_ZSTD))
    if start.startswith(_GZIP):
        return io.BufferedReader(_Decoded(raw, gzip.GzipFile(fileobj=raw)), _BUFFER_BYTES)
    if start.startswith(_ZSTD):
        return io.BufferedReader(_Decoded(raw, zstd.ZstdFile(raw)), _BUFFER_BYTES)
    return raw


class _Decoded(io.RawIOBase):
    """Decoded bytes of a file. Where the file is cut off, they end."""

    def __init__(self, raw: Any, decoded: Any) -> None:
        self._raw, self._decoded = raw, decoded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._decoded.read(len(buffer))
        except EOFError:
            data = b""
        except (OSError, zlib.error, zstd.ZstdError) as error:
            raise OSError(EIO, f"damaged: {error}") from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._raw.close()
        super().close()


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
                    values = [orjson.loads(line)]
                except orjson.JSONDecodeError:
                    values = self._repair(number, line)
                yield from ((number, value) for value in values if isinstance(value, dict))

    def _repair(self, number: int, line: bytes) -> list[Any]:
        values, whole = decode_glued(line)
        if not whole and line.endswith(b"\n"):
            self.warnings.append(f"line {number} is not valid JSON; skipped")
        self.complete = self.complete and (whole or line.endswith(b"\n"))
        return values


class JsonDocument:
    """A file that is one JSON document; `complete` is False if it was cut off."""

    def __init__(self, path: Path) -> None:
        with open_log(path) as log:
            raw = log.read()
        self.path = path
        self.complete = True
        self._taken = 0
        try:
            self.value: Any = orjson.loads(raw)
        except orjson.JSONDecodeError:
            text = raw.decode("utf-8", "replace")
            try:
                self.value = json.loads(text.strip(_PADDING), strict=False)
            except (ValueError, RecursionError):
                self.value = parse_partial(text)
                self.complete = False
            self.value = without_surrogates(self.value)
            if not isinstance(self.value, dict | list):
                raise unreadable(path, "is not valid JSON") from None

    def elements(self, items: Any) -> Iterator[tuple[int, Any]]:
        """Yield the items of a list with 1-based numbers that count on from earlier lists of the
        document; nothing if it is not a list."""
        if isinstance(items, list):
            first = self._taken + 1
            self._taken += len(items)
            yield from enumerate(items, first)


# First bytes


class FileHead:
    """The first bytes of a file, decoded lazily: complete records, or part of one document."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """Complete JSON objects on their own lines, in order."""
        return list(islice(self._objects(), _HEAD_RECORDS))

    @cached_property
    def document(self) -> Any:
        """The first JSON value as far as the head goes: incomplete members and items are dropped,
        incomplete objects are kept; None if the file is not JSON."""
        start = self._head.lstrip(b" \t\r\n\x00\xef\xbb\xbf")[:1]
        return (
            parse_partial(self._head.decode("utf-8", "replace")) if start in {b"{", b"["} else None
        )

    @property
    def items(self) -> list[Any]:
        """The document's items if it is a list, else []."""
        return as_list(self.document) if self._head.lstrip()[:1] != b"{" else []

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first object: of the lines, else the document, else {}."""
        return next(self._objects(), None) or as_dict(self.document)

    def objects(self, *needles: bytes) -> Iterator[dict[str, Any]]:
        """The document and records, if the head contains all needles."""
        if all(needle in self._head for needle in needles):
            yield self.first
            yield from self.records

    def _objects(self) -> Iterator[dict[str, Any]]:
        for line in self._head.split(b"\n"):
            with suppress(orjson.JSONDecodeError):
                if line.startswith(b"{"):
                    yield orjson.loads(line)


@lru_cache(maxsize=1)
def parse_head(head: bytes) -> FileHead:
    """Cached, because all formats look at the same head in turn."""
    return FileHead(head)


def first_broken_line(head: bytes, *, whole: bool) -> int | None:
    """1-based number of the first line that is not JSON, or None. `whole` means that the file ends
    with the head, so that its last line is complete."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines if whole else lines[:-1], start=1):
        try:
            json.loads(line.strip() or b"0")
        except ValueError:
            return number
    return None

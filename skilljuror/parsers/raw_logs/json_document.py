"""One JSON document in one file, with the raw line of every element of its main list."""

import json
from bisect import bisect_right
from pathlib import Path
from typing import Any

import orjson

from skilljuror.errors import TrajectoryError
from skilljuror.parsers.raw_logs.file_head import parse_partial
from skilljuror.parsers.raw_logs.jsonl import open_log, without_surrogates

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n\ufeff"
_AROUND = _BLANK + "\x00"
"""What may stand around a document: a byte order mark before it, padding after it."""


class JsonDocument:
    """A parsed document; a cut-off one holds what was whole and says so in `complete`."""

    def __init__(self, path: Path) -> None:
        with open_log(path) as log:
            raw = log.read()
        self.path = path
        self.complete = True
        self.value: Any = None
        self._plain = ""
        self._breaks: list[int] = []
        try:
            self.value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            self._mend(raw)
        if raw.count(b"\n") > 1:
            self._plain = self._plain or raw.decode("utf-8", "replace")
            self._breaks = _line_breaks(self._plain)

    def _mend(self, raw: bytes) -> None:
        self._plain = raw.decode("utf-8", "replace")
        try:
            self.value = without_surrogates(json.loads(self._plain.strip(_AROUND), strict=False))
        except (ValueError, RecursionError):
            self.value = without_surrogates(parse_partial(self._plain))
            self.complete = False
        if not isinstance(self.value, dict | list):
            raise TrajectoryError(f"{str(self.path)!r} holds no JSON document", file=str(self.path))

    def elements(self, *keys: str) -> list["JsonElement"]:
        """The elements of the list at `keys` (none: the document itself), each with its line."""
        return self.below(self.value, keys, 0, 1)

    def below(self, value: Any, keys: tuple[str, ...], at: int, line: int) -> list["JsonElement"]:
        """The elements of the list at `keys` of a value that stands at `at`, each with its line;
        with `line` where the text does not lead there."""
        found = value
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, list):
            return []
        spans = _spans(self._plain, keys, at)[: len(found)] if self._breaks else []
        if len(spans) != len(found):
            return [JsonElement(one, line, self, None) for one in found]
        return [
            JsonElement(one, self.line_at(span[0]), self, span)
            for one, span in zip(found, spans, strict=True)
        ]

    def line_at(self, offset: int) -> int:
        """1-based line of a position."""
        return bisect_right(self._breaks, offset) + 1

    def find(self, needle: str, span: tuple[int, int]) -> int | None:
        """Line of a string inside a stretch of the text."""
        at = self._plain.find(needle, *span)
        return None if at < 0 else self.line_at(at)


class JsonElement:
    """One element of the main list and where it stands."""

    __slots__ = ("_document", "_span", "line", "value")

    def __init__(
        self, value: Any, line: int, document: JsonDocument, span: tuple[int, int] | None
    ) -> None:
        self.value = value
        self.line = line
        self._document = document
        self._span = span

    def elements(self, key: str) -> list["JsonElement"]:
        """The elements of a list inside this one; with its line where the text does not tell."""
        if self._span is None:
            return [
                JsonElement(one, self.line, self._document, None)
                for one in _listed(self.value, key)
            ]
        return self._document.below(self.value, (key,), self._span[0], self.line)

    def line_of(self, text: str | None) -> int:
        """Line of a string inside the element; the element's own when it is not found."""
        if self._span is None or not text:
            return self.line
        return self._document.find(json.dumps(text), self._span) or self.line


def _listed(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _line_breaks(plain: str) -> list[int]:
    breaks = []
    at = plain.find("\n")
    while at >= 0:
        breaks.append(at)
        at = plain.find("\n", at + 1)
    return breaks


def _skip(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in _BLANK:
        at += 1
    return at


def _spans(plain: str, keys: tuple[str, ...], start: int) -> list[tuple[int, int]]:
    """Start and end of every element of a list; [] where the text does not lead there."""
    at: int | None = _skip(plain, start)
    for key in keys:
        at = _member(plain, at, key)
        if at is None:
            return []
    return _items(plain, at) if at is not None else []


def _member(plain: str, at: int | None, key: str) -> int | None:
    """Where the value of a member starts; the last one of that name wins, as in any decoder."""
    if at is None or not plain.startswith("{", at):
        return None
    found = None
    at = _skip(plain, at + 1)
    while plain.startswith('"', at):
        try:
            name, at = _DECODER.raw_decode(plain, at)
            value = _skip(plain, _skip(plain, at) + 1)
            if name == key:
                found = value
            _, at = _DECODER.raw_decode(plain, value)
        except (ValueError, RecursionError):
            return found
        at = _skip(plain, at)
        if not plain.startswith(",", at):
            return found
        at = _skip(plain, at + 1)
    return found


def _items(plain: str, at: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    if not plain.startswith("[", at):
        return spans
    at = _skip(plain, at + 1)
    while at < len(plain) and plain[at] != "]":
        try:
            _, end = _DECODER.raw_decode(plain, at)
        except (ValueError, RecursionError):
            spans.append((at, len(plain)))
            return spans
        spans.append((at, end))
        at = _skip(plain, end)
        if not plain.startswith(",", at):
            return spans
        at = _skip(plain, at + 1)
    return spans

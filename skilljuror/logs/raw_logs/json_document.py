"""One JSON document in one file."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from skilljuror.logs.raw_logs.file_head import parse_partial
from skilljuror.logs.raw_logs.jsonl import open_log, unreadable, without_surrogates

_AROUND = " \t\r\n\ufeff\x00"
"""Characters allowed around a document: byte order mark, padding."""


class JsonElement(NamedTuple):
    """One element of a list in the document."""

    number: int
    """1-based number among all elements taken from the document."""
    value: Any


class JsonDocument:
    """A parsed document; `complete` is False if it was cut off.

    White space and the order of keys do not matter.
    """

    def __init__(self, path: Path) -> None:
        with open_log(path) as log:
            raw = log.read()
        self.path = path
        self.complete = True
        self.value: Any = None
        self._taken = 0
        try:
            self.value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            self._repair(raw.decode("utf-8", "replace"))
        sort_keys(self.value)

    def _repair(self, plain: str) -> None:
        try:
            self.value = without_surrogates(json.loads(plain.strip(_AROUND), strict=False))
        except (ValueError, RecursionError):
            self.value = without_surrogates(parse_partial(plain))
            self.complete = False
        if not isinstance(self.value, dict | list):
            raise unreadable(self.path, "is not valid JSON")

    def elements(self, found: Any) -> list[JsonElement]:
        """Elements of a list, numbered on from earlier calls; [] if it is not a list."""
        if not isinstance(found, list):
            return []
        first = self._taken + 1
        self._taken += len(found)
        return [JsonElement(number, one) for number, one in enumerate(found, first)]


def sort_keys(value: Any) -> None:
    """Sort the keys of every object, without recursion because logs may be deeply nested."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            for key in sorted(one):
                one[key] = one.pop(key)
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)

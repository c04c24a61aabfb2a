"""Split untrusted text into marked, hidden and plain passages."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
"""Control, formatting and tag characters, which are invisible or reorder text."""


class Passage(NamedTuple):
    """A piece of a text."""

    text: str
    """Characters; a hidden one is spelled out, such as `\\u202e`."""
    marked: bool
    hidden: bool
    """Stands for an invisible character."""


def visible(text: str) -> str:
    """Spell out hidden characters."""
    return _HIDDEN.sub(_spelled, text)


def passages(text: str, marks: Iterable[tuple[int, int]]) -> list[Passage]:
    """Split a text; marks may overlap, touch, or exceed it."""
    pieces, end = [], 0
    for first, last in _merged(marks, len(text)):
        pieces += [(text[end:first], False), (text[first:last], True)]
        end = last
    pieces.append((text[end:], False))
    return [passage for piece, marked in pieces for passage in _cut(piece, marked)]


def _merged(marks: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted((max(begin, 0), min(end, length)) for begin, end in marks):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif begin < end:
            merged.append((begin, end))
    return merged


def _cut(text: str, marked: bool) -> Iterator[Passage]:
    end = 0
    for found in _HIDDEN.finditer(text):
        if plain := text[end : found.start()]:
            yield Passage(plain, marked, hidden=False)
        yield Passage(_spelled(found), marked, hidden=True)
        end = found.end()
    if plain := text[end:]:
        yield Passage(plain, marked, hidden=False)


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()

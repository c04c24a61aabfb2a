"""A foreign text cut into what is marked, what cannot be seen, and the rest."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
"""Control, formatting and tag characters: they show nothing, or turn the order of letters about."""


class Passage(NamedTuple):
    """A piece of a text, in order."""

    text: str
    """Its characters; those of a hidden one spelled out, such as `\\u202e`."""
    marked: bool
    """Whether it matters to the question."""
    hidden: bool
    """Whether it stands for a character that a reader would not see."""


def visible(text: str) -> str:
    """The text with every hidden character spelled out."""
    return _HIDDEN.sub(_spelled, text)


def passages(text: str, marks: Iterable[tuple[int, int]]) -> list[Passage]:
    """A text in pieces; marks may overlap, touch, or reach beyond it."""
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

"""Levels, anchors and slugs of headings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_HASHES = re.compile(r"^( {0,3})(#{1,6})")
_NOT_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A top-level heading; lines are 0-based and half-open."""

    start: int
    end: int
    level: int
    title: str
    """Its inline Markdown, marks included."""
    setext: bool
    """Whether it is underlined, so that its level stands in the line below it."""


def can_shift(headings: Iterable[Heading], levels: int) -> bool:
    """Whether every heading can move by so many levels; an underlined one cannot."""
    if levels == 0:
        return True
    return all(not heading.setext and 1 <= heading.level + levels <= 6 for heading in headings)


def shift_line(line: str, levels: int) -> str:
    """A heading's line with `levels` hashes more (or fewer); any other line as it stands."""
    match = _HASHES.match(line)
    if match is None:
        return line
    return f"{match[1]}{'#' * (len(match[2]) + levels)}{line[match.end() :]}"


def anchors(titles: Sequence[str]) -> list[str]:
    """The anchor of each heading of one file, as forges make them; repeats get -1, -2, …"""
    seen: dict[str, int] = {}
    names = []
    for title in titles:
        name = _NOT_ANCHOR.sub("", title.replace("`", "").lower()).strip().replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.append(f"{name}-{count}" if count else name)
    return names


def slug(text: str, limit: int = 48, empty: str = "notes") -> str:
    """Lower-case ASCII letters, digits and single hyphens, `limit` at most: a valid name of a file
    or a skill. `empty` where none is left."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:limit].rstrip("-") or empty

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
    """Whether it is underlined, so that the next line determines its level."""


def can_shift(headings: Iterable[Heading], levels: int) -> bool:
    """Whether every heading can move by so many levels; an underlined one cannot."""
    if levels == 0:
        return True
    return all(not heading.setext and 1 <= heading.level + levels <= 6 for heading in headings)


def shift_line(line: str, levels: int) -> str:
    """Return a heading's line with `levels` more (or fewer) hashes; any other line unchanged."""
    match = _HASHES.match(line)
    if match is None:
        return line
    return f"{match[1]}{'#' * (len(match[2]) + levels)}{line[match.end() :]}"


def anchors(titles: Sequence[str]) -> list[str]:
    """Return the anchors of a file's headings as forges make them; repeats get -1, -2, …"""
    seen: dict[str, int] = {}
    names = []
    for title in titles:
        name = _NOT_ANCHOR.sub("", title.replace("`", "").lower()).strip().replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.append(f"{name}-{count}" if count else name)
    return names


def slug(text: str, limit: int = 48, empty: str = "notes") -> str:
    """Return a valid file or skill name of at most `limit` lower-case ASCII letters, digits and single hyphens;
    `empty` if nothing is left.
    """
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:limit].rstrip("-") or empty

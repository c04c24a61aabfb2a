"""Drift of nesting and of labels: every word remains, under another item, level or address."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from skilljuror.audit.gates.mutations.sites import (
    Files,
    MutationSite,
    MutationTarget,
    block_around,
    item_depths,
)
from skilljuror.audit.plans.render import can_shift, shift_line
from skilljuror.base.skill import is_markdown
from skilljuror.skill.generated import marker_path, template_of_heading
from skilljuror.skill.markdown import markdown_index

_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)")
_LINK = re.compile(r"(?<!!)\[([^][\n`]+)\]\(([^()\s]+)\)")
_LEVELS = 2


def demote_heading(target: MutationTarget) -> Iterator[MutationSite]:
    """Write a heading two levels down, but for the first of a page or of a file on it, its title."""
    for path in filter(is_markdown, target.texts):
        lines = target.texts[path].lines
        headings = markdown_index(lines).headings
        made = [bool(marker_path(one.title) or template_of_heading(one.title)) for one in headings]
        for place, heading in enumerate(headings[1:], 1):
            if not any(made[place - 1 : place + 1]) and can_shift([heading], _LEVELS):
                number = heading.start + 1
                yield target.edit(path, number, shift_line(lines[heading.start], _LEVELS))


def nest_item(target: MutationTarget) -> Iterator[MutationSite]:
    """Indent an item of one line below the item before it."""
    for path, number, before, match in _items(target):
        above = _ITEM.match(before)
        if above and len(above[1]) == len(match[1]):
            marker = "1." if match[2][0].isdigit() else match[2]
            indent = " " * len(above[0])
            line = target.line(path, number)
            after = f"{indent}{marker}{match[3]}{line[match.end() :]}"
            yield from _if_deeper(target, path, number, after, 1)


def lift_item(target: MutationTarget) -> Iterator[MutationSite]:
    """Write a nested item of one line at the level of the item above it."""
    for path, number, _, match in _items(target):
        line = target.line(path, number)
        outer = (
            above
            for above in map(_ITEM.match, reversed(target.texts[path].lines[: number - 1]))
            if above and len(above[1]) < len(match[1])
        )
        above = next(outer, None)
        if match[1] and above:
            after = f"{above[1]}{above[2]}{above[3]}{line[match.end() :]}"
            yield from _if_deeper(target, path, number, after, -1)


def _items(target: MutationTarget) -> Iterator[tuple[str, int, str, re.Match[str]]]:
    """(file, line, the line before, its marker) of the items that stand alone on one line."""
    prose = set(target.prose)
    for path, number in target.prose:
        lines = target.texts[path].lines
        match = _ITEM.match(lines[number - 1])
        below = lines[number] if number < len(lines) else ""
        own = _ITEM.match(below)
        alone = not below.strip() or (own and match and len(own[1]) <= len(match[1]))
        if match and alone and (path, number - 1) in prose:
            yield path, number, lines[number - 2], match


def _if_deeper(
    target: MutationTarget, path: str, number: int, after: str, levels: int
) -> Iterator[MutationSite]:
    """The site, if the page then has that line, and no other, so many lists deeper."""
    start, lines = block_around(target.texts[path].lines, number)
    place = number - 1 - start
    was = item_depths(lines)
    now = item_depths((*lines[:place], after, *lines[place + 1 :]))
    wanted = tuple(depth + levels * (n == place) for n, depth in enumerate(was))
    if now == wanted:
        yield target.edit(path, number, after)


def exchange_labels(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the labels of two links of one line, or of two neighbouring lines."""
    for path, number in target.prose:
        line = target.line(path, number)
        links = list(_LINK.finditer(line))
        for first, second in pairwise(links):
            if first[1] != second[1] and first[2] != second[2]:
                after = _relabelled(_relabelled(line, second, first[1]), first, second[1])
                yield target.edit(path, number, after)
                break
    yield from _of_neighbours(target)


def _of_neighbours(target: MutationTarget) -> Iterator[MutationSite]:
    prose = set(target.prose)
    for path, number in target.prose:
        lines = target.texts[path].lines[number - 1 : number + 1]
        first, *others = (_LINK.search(line) for line in lines)
        second = others[0] if others and (path, number + 1) in prose else None
        if first and second and first[1] != second[1] and first[2] != second[2]:
            after = [
                _relabelled(lines[0], first, second[1]),
                _relabelled(lines[1], second, first[1]),
            ]
            yield _two_lines(target, path, number, after)


def _relabelled(line: str, link: re.Match[str], label: str) -> str:
    return line[: link.start(1)] + label + line[link.end(1) :]


def _two_lines(
    target: MutationTarget, path: str, number: int, after: Sequence[str]
) -> MutationSite:
    make: partial[Files] = partial(target.replaced, path, number, after, 2)
    return MutationSite(path, number, target.line(path, number), after[0], make)

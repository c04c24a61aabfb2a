"""Drift of place and order: every word remains, with another meaning."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from skilljuror.audit.gates.mutations.sites import Files, MutationSite, MutationTarget
from skilljuror.base.skill import is_markdown
from skilljuror.skill.generated import marker_path, template_of_heading
from skilljuror.skill.markdown import Heading, markdown_index

_NUMBERED = re.compile(r"\W*(?:step|phase|stage|part)?\s*\d+\b", re.IGNORECASE)
_PROCESS = re.compile(r"\b(?:workflow|process|procedure|steps|phases|cycle|pipeline)\b", re.I)
_LEAD = re.compile(r"^(?!\s*[|#>])(?=.*\w).*:(?:\*\*|__)?\s*$")
_LISTED = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+\S")


class _Section(NamedTuple):
    """A heading with all text below it; lines are 0-based and half-open."""

    level: int
    start: int
    title: str
    text_start: int
    end: int
    parent: str  # title of the section above without the titles of its sections; "" for none


def swap_sections(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two neighbouring sections of a process: numbered ones, or those below a title that names
    a process, except in words of its sections' titles ("Options, Merge workflow")."""
    for path, first, second in _neighbours(target):
        numbered = _NUMBERED.match(first.title) and _NUMBERED.match(second.title)
        if numbered or _PROCESS.search(first.parent):
            ranges = (first.start, first.end), (second.start, second.end)
            yield _exchange(target, path, ranges)


def swap_contents(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the text below the titles of two neighbouring sections."""
    prose = set(target.prose)
    for path, first, second in _neighbours(target):
        ranges = (first.text_start, first.end), (second.text_start, second.end)
        if all(any((path, n + 1) in prose for n in range(*lines)) for lines in ranges):
            yield _exchange(target, path, ranges)


def swap_conditions(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two lines that each lead to a list of the same section."""
    prose = set(target.prose)
    homes = {(unit.file, unit.start): unit.headings for unit in target.units}
    for path, text in target.texts.items():
        leads = [
            number
            for number in range(1, len(text.lines))
            if (path, number) in prose and _leads_to_list(text.lines, number)
        ]
        for first, second in pairwise(leads):
            before, after = target.line(path, first), target.line(path, second)
            lists = [_list_below(text.lines, number) for number in (first, second)]
            together = homes.get((path, first)) == homes.get((path, second))
            if together and before.strip() != after.strip() and lists[0] != lists[1]:
                yield _exchange(target, path, ((first - 1, first), (second - 1, second)))


def _leads_to_list(lines: Sequence[str], number: int) -> bool:
    """Whether a 1-based line ends in a colon, alone in its paragraph, and a list follows."""
    alone = number < 2 or not lines[number - 2].strip()
    plain = not _LISTED.match(lines[number - 1])
    return alone and plain and bool(_LEAD.match(lines[number - 1]) and _list_below(lines, number))


def _list_below(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """The lines of the list that begins below a 1-based line, after one blank line at most."""
    start = number + 1 if number < len(lines) and not lines[number].strip() else number
    if start >= len(lines) or not _LISTED.match(lines[start]):
        return ()
    end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))
    return tuple(lines[start:end])


def _neighbours(target: MutationTarget) -> Iterator[tuple[str, _Section, _Section]]:
    """(file, section, next section) of the same level, where an author wrote both titles."""
    for path in filter(is_markdown, target.texts):
        for first, second in pairwise(sorted(_sections(target.texts[path].lines))):
            made = any(
                marker_path(one.title) or template_of_heading(one.title) for one in (first, second)
            )
            if first.level == second.level and first.end == second.start and not made:
                yield path, first, second


def _sections(lines: Sequence[str]) -> list[_Section]:
    headings = markdown_index(tuple(lines)).headings
    parents = [_above(headings, place) for place in range(len(headings))]
    words = _own_words([heading.title for heading in headings], parents)
    sections = []
    for place, heading in enumerate(headings):
        later = (other.start for other in headings[place + 1 :] if other.level <= heading.level)
        parent = parents[place]
        sections.append(
            _Section(
                heading.level, heading.start, heading.title, heading.end,
                next(later, len(lines)), "" if parent is None else words[parent],
            )
        )  # fmt: skip
    return sections


def _above(headings: Sequence[Heading], place: int) -> int | None:
    before = range(place - 1, -1, -1)
    return next((n for n in before if headings[n].level < headings[place].level), None)


def _own_words(titles: Sequence[str], parents: Sequence[int | None]) -> list[str]:
    """Each title without those right below it."""
    words = list(titles)
    for number in sorted(range(len(titles)), key=lambda n: -len(titles[n])):
        parent = parents[number]
        if parent is not None and titles[number]:
            title = rf"(?<!\w){re.escape(titles[number])}(?!\w)"
            words[parent] = re.sub(title, " ", words[parent])
    return words


_Range = tuple[int, int]


def _exchange(target: MutationTarget, path: str, ranges: tuple[_Range, _Range]) -> MutationSite:
    before, after = (target.line(path, start + 1) for start, _ in ranges)
    make = partial(_exchanged, target, path, ranges)
    return MutationSite(path, ranges[0][0] + 1, before, after, make)


def _exchanged(target: MutationTarget, path: str, ranges: tuple[_Range, _Range]) -> Files:
    (a, b), (c, d) = ranges
    lines = target.texts[path].lines
    parts = lines[:a], lines[c:d], lines[b:c], lines[a:b], lines[d:]
    return {path: target.rewritten(path, [line for part in parts for line in part])}

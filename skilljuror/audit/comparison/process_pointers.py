"""Find processes that continue in another file without a pointer."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap, takewhile
from typing import NamedTuple

from skilljuror.audit.comparison.file_rows import rows_of, without_names
from skilljuror.audit.comparison.sequences import in_order
from skilljuror.base.skill import Bundle, is_markdown
from skilljuror.skill.generated import is_structural_heading
from skilljuror.skill.markdown import Heading, markdown_index, read_text, visible_text

_WORD = re.compile(r"[^\W_]+")
_CELLS = " | "  # separator of table cells in a row
_STEP = re.compile(r"\W*(?:(?:step|phase|stage|part|round)\s+)?\d{1,2}\b", re.IGNORECASE)


class Section(NamedTuple):
    """A heading of a page."""

    page: str
    line: int  # 1-based
    level: int
    title: str
    words: str  # the words of its title in lower case, each between blanks
    marker: int = 0  # line of the marker of its carried file; 0 for the page's own


class Parted(NamedTuple):
    """Neighbours in a process of the parent that are in two files of the variant."""

    last: Section  # the section before the break, in the variant
    following: Section


def parted_without_pointer(parent: Bundle, variant: Bundle) -> Iterator[Parted]:
    """Yield the places where a process of a parent's page leaves a root without a line that leads on.

    A table row behind the process does not lead on, nor does a line above the break that leads to a numbered
    step. Files opened on demand need no such line, because an agent returns to the root.
    """
    roots = {skill.path for skill in variant.skills}
    pages = {path: _sections(variant, path) for path in variant.files if is_markdown(path)}
    if pages.keys() <= roots:
        return
    found: dict[Parted, None] = {}
    places: dict[str, list[Section]] = defaultdict(list)
    for section in (one for sections in pages.values() for one in sections):
        places[section.words].append(section)
    for process in _processes(parent):
        titles = {section.words for section in process}
        located = [places[one.words][0] for one in process if len(places[one.words]) == 1]
        for parted in starmap(Parted, pairwise(located)):
            last = parted.last
            leaves = last.page in roots and parted.following.page not in roots
            if leaves and not _leads_on(variant, parted, _reach(pages[last.page], last, titles)):
                found[parted] = None
    yield from found


def _processes(bundle: Bundle) -> Iterator[list[Section]]:
    """The headings of each process of a page, with those below its steps.

    The title of a page or skill names its subject: sections below it are steps only if numbered. Carried
    files are separate texts.
    """
    for path, sections in _texts(bundle):
        titles = set(_titles(sections))
        for place, above in [(-1, Section(path, 0, 0, "", "")), *enumerate(sections)]:
            below = _below(sections, place, above.level)
            children = _children(below)
            steps = [one for one in children if _STEP.match(one.title)]
            if _in_order("", steps):
                after = (one.line for one in children if one.line > steps[-1].line)
                end = next(after, 1 << 30)
                yield [one for one in below if steps[0].line <= one.line < end]
            elif place >= 0 and above not in titles and _in_order(above.title, children):
                yield [above, *below]


def _texts(bundle: Bundle) -> Iterator[tuple[str, list[Section]]]:
    for path in filter(is_markdown, bundle.files):
        texts: dict[int, list[Section]] = defaultdict(list)
        for section in _sections(bundle, path):
            texts[section.marker].append(section)
        yield from ((path, sections) for sections in texts.values())


def _titles(sections: Sequence[Section]) -> Iterator[Section]:
    """The headings of the first level, and single headings below them."""
    for place, section in enumerate(sections):
        if section.level == 1:
            yield section
            while len(children := _children(_below(sections, place, sections[place].level))) == 1:
                yield children[0]
                place = sections.index(children[0])


def _children(below: Sequence[Section]) -> list[Section]:
    level = min((one.level for one in below), default=0)
    return [one for one in below if one.level == level]


def _in_order(above: str, sections: Sequence[Section]) -> bool:
    return len(sections) > 1 and any(in_order(above, [one.title for one in sections]))


def _below(sections: Sequence[Section], place: int, level: int) -> list[Section]:
    after = (sections[number] for number in range(place + 1, len(sections)))
    return list(takewhile(lambda section: section.level > level, after))


def _reach(sections: Sequence[Section], last: Section, titles: set[str]) -> range:
    """The lines of a process on the page of one of its sections, up to a foreign heading."""
    first = next(one.line for one in sections if one.words in titles)
    later = (one.line for one in sections if one.line > last.line and one.words not in titles)
    return range(first, next(later, 1 << 30) + 1)


def _leads_on(variant: Bundle, break_: Parted, reach: range) -> bool:
    """Whether a line behind the break leads to the file, or one above it names the next section.

    If no numbered step follows, a table inside the process may lead there case by case.
    """
    last, following = break_
    tables = reach if not _STEP.match(following.title) else range(0)
    return any(
        row.start >= last.line
        or (row.start in tables and _CELLS in row.text)
        or following.words in _words(without_names(row.text))
        for row in rows_of(variant, last.page)
        if following.page in row.files and row.start < reach.stop
    )


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _sections(bundle: Bundle, path: str) -> list[Section]:
    text = read_text(bundle.files[path])
    found: list[Section] = []
    marker: Heading | None = None
    for one in markdown_index(text.lines).headings if text else ():
        if is_structural_heading(one.title):
            marker = one
            continue
        if marker and one.level <= marker.level:
            marker = None
        title, line = visible_text(one.title), marker.start + 1 if marker else 0
        found.append(Section(path, one.start + 1, one.level, title, _words(title), line))
    return found

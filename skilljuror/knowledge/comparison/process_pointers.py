"""Where a process goes on in another file, and whether the text says so there."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap, takewhile
from typing import NamedTuple

from skilljuror.knowledge.comparison.file_rows import FileRow, rows_of, without_names
from skilljuror.knowledge.generated.embedded_files import is_structural_heading
from skilljuror.knowledge.generated.templates import template_of_line
from skilljuror.knowledge.markdown.block_index import markdown_index, visible_text
from skilljuror.knowledge.markdown.text_file import read_text
from skilljuror.knowledge.units.sequences import in_order
from skilljuror.models.bundle import Bundle
from skilljuror.models.resource_class import is_markdown

_WORD = re.compile(r"[^\W_]+")
_STEP = re.compile(r"\W*(?:(?:step|phase|stage|part|round)\s+)?\d{1,2}\b", re.IGNORECASE)


class Section(NamedTuple):
    """A heading of a page."""

    page: str
    line: int
    """1-based."""
    level: int
    title: str
    words: str
    """The words of its title in lower case, each between blanks."""


class Parted(NamedTuple):
    """Neighbours in a process of the parent that stand in two files of the variant."""

    last: Section
    """Where an agent comes to the break, in the variant."""
    following: Section
    """What must follow."""


def parted_without_pointer(parent: Bundle, variant: Bundle) -> Iterator[Parted]:
    """Where a process of one page of the parent leaves a root, and no line there leads on.

    A row of a table elsewhere on the page is no such line. In a file opened on demand nothing need
    lead on: an agent comes back to the root by itself.
    """
    roots = {skill.path for skill in variant.skills}
    pages = {path: _sections(variant, path) for path in variant.files if is_markdown(path)}
    if pages.keys() <= roots:
        return
    found: dict[Parted, None] = {}
    places: dict[str, list[Section]] = defaultdict(list)
    for section in (one for sections in pages.values() for one in sections):
        places[section.words].append(section)
    for process in (*_processes(parent), *_handed_on(parent)):
        titles = {section.words for section in process}
        told = [places[one.words][0] for one in process if len(places[one.words]) == 1]
        for parted in starmap(Parted, pairwise(told)):
            last = parted.last
            leaves = last.page in roots and parted.following.page not in roots
            if leaves and not _leads_on(variant, parted, _end(pages[last.page], last, titles)):
                found[parted] = None
    yield from found


def _processes(bundle: Bundle) -> Iterator[list[Section]]:
    """The headings of each process of a page, those below its steps included.

    The title of a page, or of a skill on a page of several, says what it is about: sections below it
    are steps where they are numbered.
    """
    for path in filter(is_markdown, bundle.files):
        sections = _sections(bundle, path)
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


def _titles(sections: Sequence[Section]) -> Iterator[Section]:
    """The headings of the first level, and what stands alone below one of them."""
    for place, section in enumerate(sections):
        if section.level == 1:
            yield section
            while len(children := _children(_below(sections, place, sections[place].level))) == 1:
                yield children[0]
                place = sections.index(children[0])


def _children(below: Sequence[Section]) -> list[Section]:
    """The highest of the headings below another."""
    level = min((one.level for one in below), default=0)
    return [one for one in below if one.level == level]


def _handed_on(bundle: Bundle) -> Iterator[list[Section]]:
    """What a build has parted already: the last heading before each pointer, and those of the file
    that it leads to. Such lines are generated, and no text of an author that could be missing."""
    for page in (skill.path for skill in bundle.skills):
        sections = _sections(bundle, page)
        for row in _pointers(bundle, page):
            above = [one for one in sections if one.line < row.start]
            yield [*above[-1:], *_sections(bundle, row.files[0])]


def _pointers(bundle: Bundle, page: str) -> list[FileRow]:
    """The rows of a page that say "continue here"."""
    text = read_text(bundle.files[page])
    lines = text.lines if text else ()
    rows = rows_of(bundle, page)
    return [row for row in rows if template_of_line(lines[row.start - 1]) == "row-next"]


def _in_order(above: str, sections: Sequence[Section]) -> bool:
    return len(sections) > 1 and any(in_order(above, [one.title for one in sections]))


def _below(sections: Sequence[Section], place: int, level: int) -> list[Section]:
    after = (sections[number] for number in range(place + 1, len(sections)))
    return list(takewhile(lambda section: section.level > level, after))


def _end(sections: Sequence[Section], last: Section, titles: set[str]) -> int:
    """The line at which a process ends on the page of one of its sections: that of a heading that is
    none of its own."""
    later = (one.line for one in sections if one.line > last.line and one.words not in titles)
    return next(later, 1 << 30)


def _leads_on(variant: Bundle, break_: Parted, end: int) -> bool:
    """Whether a line at the break leads to the file, or one above it that names what follows there;
    above it "continue here" would leave out the rest of what stands before the break."""
    last, following = break_
    pointers = _pointers(variant, last.page)
    return any(
        row.start >= last.line
        or (row not in pointers and following.words in _words(without_names(row.text)))
        for row in rows_of(variant, last.page)
        if following.page in row.files and row.start <= end
    )


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _sections(bundle: Bundle, path: str) -> list[Section]:
    text = read_text(bundle.files[path])
    headings = markdown_index(text.lines).headings if text else ()
    own = (one for one in headings if not is_structural_heading(one.title))
    shown = ((one, visible_text(one.title)) for one in own)
    return [Section(path, one.start + 1, one.level, text, _words(text)) for one, text in shown]

"""without:TITLE: the baseline with one section replaced by irrelevant text of the same outline and length.

The length is kept, so that a difference in outcomes is due to what the section says. The heading goes too.
"""

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from skilljuror.base.errors import TransformError
from skilljuror.base.files import sha256
from skilljuror.base.skill import Bundle, Copy, Generated, Omitted, Plan, PlannedFile, is_markdown
from skilljuror.layouts.disclosure import flat_skill
from skilljuror.layouts.layouts.placebo_irrelevant import like
from skilljuror.layouts.sections import FlatSkill, LineRange, SectionNode, ranges_of
from skilljuror.skill.generated import EmbeddedFile
from skilljuror.skill.markdown import visible_text

PREFIX = "without:"
BELOW = " > "
"""Between the titles of a section and of the one above it, where two sections have one title."""
LEAST_TOKENS = 100
"""Estimated tokens below which `init --sections` makes no arm for a section."""
MOST_SHARE = 0.25
"""Share of the page's text above which a section is divided into those below it."""
LONGEST_NAME = 60
"""Characters of a heading in the name of its variant."""
_NOT_WORD = re.compile(r"[^a-z0-9]+")
_PLAIN = re.compile(r"[\w\s./>-]*", re.ASCII)


class WithoutSection:
    """A control that omits one section of the baseline. `title` is its heading, or `ABOVE > HEADING`."""

    parent: ClassVar[str] = "baseline"
    stands_for: ClassVar[str] = "baseline"
    expected: ClassVar[tuple[str, ...]] = (
        "knowledge.*",
        "hygiene.*",
        "size.shrunk",
        "routing.pointer",
    )

    def __init__(self, title: str) -> None:
        self.title = title
        self.variant = f"without-{_slug(title)}"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan. Raises TransformError unless exactly one section has the title."""
        flat = flat_skill(parent, f"{PREFIX}{self.title}")
        start, end = self._range(flat)
        gone = list(flat.lines[start:end])
        headings = {one.start - start for one in flat.markdown.headings if start <= one.start < end}
        text = flat.texts.text(flat.path)
        pieces: list[Copy | Generated] = [Copy(flat.path, 1, start)]
        pieces += [Generated("filler", {"line": line}) for line in like(gone, headings)]
        if end < len(flat.lines):
            pieces.append(Copy(flat.path, end + 1, len(flat.lines)))
        others = [path for path in parent.files if path != flat.path]
        return Plan(
            self.variant,
            self.parent,
            (
                PlannedFile(
                    flat.path, tuple(pieces), False, text.final_newline, text.bom, text.crlf
                ),
            ),
            sidecars={path: path for path in others},
            flags={flat.path: text.flags} if text.flags else {},
            omitted=tuple(
                Omitted(flat.path, number, line) for number, line in enumerate(gone, start + 1)
            ),
            notes=(f"a control: it omits the section {self.title!r}",),
        )

    def _range(self, flat: FlatSkill) -> LineRange:
        wanted = tuple(part.strip().casefold() for part in self.title.split(BELOW))
        found = [
            lines
            for titles, lines in _sections(flat)
            if tuple(map(str.casefold, titles))[-len(wanted) :] == wanted
        ]
        if len(found) == 1:
            return found[0]
        count = f"{len(found)} sections" if found else "no section"
        raise TransformError(
            f"{PREFIX}{self.title}: {count} of the flat page with this heading; name one as ABOVE >"
            f" HEADING, a page by its path: {', '.join(map(repr, titles_of(flat)))}"
        )


def _slug(title: str) -> str:
    """A name for folders and tables; one that drops signs of the heading ends with a digest of it, so that
    "C++" and "C#" have two."""
    name = _NOT_WORD.sub("-", title.casefold()).strip("-")[:LONGEST_NAME].strip("-")
    if name and _PLAIN.fullmatch(title) and len(title) <= LONGEST_NAME:
        return name
    return f"{name or 'section'}-{sha256(title.casefold().encode())[:6]}"


def _sections(flat: FlatSkill) -> Iterator[tuple[tuple[str, ...], LineRange]]:
    """Titles from the outermost, and lines, of every section; of an embedded page, its path."""
    for titles, node in _named(flat.tree(), ()):
        yield titles, _lines(node)
    for page in _pages(flat):
        yield (page.path,), (page.heading.start, page.section_end)


def _named(
    node: SectionNode, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], SectionNode]]:
    for child in node.children:
        titles = (*above, visible_text(child.title).strip())
        yield titles, child
        yield from _named(child, titles)


def _lines(node: SectionNode) -> LineRange:
    ranges = list(ranges_of(node))
    return ranges[0][0], ranges[-1][1]


def _pages(flat: FlatSkill) -> Iterator[EmbeddedFile]:
    return (file for file in flat.embedded_files if is_markdown(file.path))


def titles_of(flat: FlatSkill) -> list[str]:
    """Return what names each section: its heading, with the one above where two have the same; of a page
    that the source has as a file, its path.

    A section with more than `MOST_SHARE` of the page's text is divided into those below it; one below
    `LEAST_TOKENS` is left out.
    """
    named = {node.start: titles for titles, node in _named(flat.tree(), ())}
    every = [titles[-1].casefold() for titles in named.values()]
    whole = flat.tokens(list(ranges_of(flat.tree())))
    waiting, found = list(flat.tree().children), list[str]()
    while waiting:
        node = waiting.pop(0)
        tokens = flat.tokens(list(ranges_of(node)))
        titles = named[node.start]
        if tokens > MOST_SHARE * whole and node.children:
            waiting = [*node.children, *waiting]
        elif tokens >= LEAST_TOKENS:
            alone = every.count(titles[-1].casefold()) == 1
            found.append(titles[-1] if alone else BELOW.join(titles[-2:]))
    ranges = {page.path: [(page.heading.start, page.section_end)] for page in _pages(flat)}
    return found + [path for path, lines in ranges.items() if flat.tokens(lines) >= LEAST_TOKENS]

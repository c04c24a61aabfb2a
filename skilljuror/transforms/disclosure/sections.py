"""The sections of a flat SKILL.md, and the groups of them that can move together."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from skilljuror.models.resource_class import is_markdown
from skilljuror.knowledge.generated.templates import template_of_heading
from skilljuror.knowledge.markdown.headings import anchors
from skilljuror.knowledge.markdown.block_index import MarkdownIndex, Heading
from skilljuror.knowledge.generated.embedded_files import EmbeddedFile, embedded_files
from skilljuror.tokens import estimate

GROUP_TOKENS = 1_200
"""Estimated tokens up to which a section and all below it move as one; less in a short skill."""
LEAST_GROUP = 250
GROUP_SHARE = 6
"""Parts of a short skill's text that a section may at most take to move as one."""
_UNIT = re.compile(
    r"^(?:Configuration for|Run the commands of this section from the) `([^`]+)`"
    r"(?::| directory\.)$"
)
_COUNTED = re.compile(r"\s*(\d{1,9})[.)]")
_STEP = re.compile(r"^\W{0,4}(?:step|phase|stage|part)?\s{0,2}\d{1,2}\b", re.IGNORECASE)

Range = tuple[int, int]
"""Lines, 0-based and half-open."""


@dataclass(slots=True)
class Section:
    """A heading and what belongs to it; lines are 0-based and half-open."""

    level: int
    title: str
    start: int
    text_start: int
    """Line where the heading's own text starts."""
    text_end: int
    """Line where its own text ends: the next heading of any level."""
    children: list["Section"] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """Text that stays or moves as one."""

    ranges: list[Range]
    title: str
    path: tuple[str, ...]
    """Titles of the sections above, outermost first."""
    tokens: int
    """Estimated."""
    lead: bool = False
    """Whether it is a heading and its own text, without the sections below it."""
    bare: bool = False
    """Whether it is a heading without any text of its own."""
    headless: bool = False
    """Whether it is the rest of a text that was cut, so that it must open its file."""
    unit: str = ""
    """Folder of the source skill it comes from, where the page holds several."""

    @property
    def start(self) -> int:
        """First line."""
        return self.ranges[0][0]

    @property
    def is_step(self) -> bool:
        """Whether its title is numbered, as the steps of a workflow are."""
        return _STEP.match(self.title) is not None

    @property
    def lines(self) -> int:
        """Number of lines."""
        return sum(end - start for start, end in self.ranges)


class FlatSkill:
    """A flat SKILL.md, taken apart."""

    def __init__(self, path: str, markdown: MarkdownIndex) -> None:
        self.path = path
        self.markdown = markdown
        self.lines = markdown.lines
        self.embedded: tuple[EmbeddedFile, ...] = embedded_files(markdown)
        self.taken = [(file.heading.start, file.section_end) for file in self.embedded]
        self.headings: tuple[Heading, ...] = tuple(
            one
            for one in markdown.headings
            if not self.is_taken(one.start) and not self.lines[one.start].startswith(" ")
        )
        starts = {one.start for one in self.headings} | {start for start, _ in self.taken}
        self._edges = sorted(starts | {len(self.lines)})
        names = anchors([one.title for one in markdown.headings])
        self.anchors = {one.start: name for one, name in zip(markdown.headings, names, strict=True)}
        """Line of each heading -> its anchor."""
        self._code = [
            (file.heading.start, file.section_end)
            for file in self.embedded
            if file.fenced and not is_markdown(file.path)
        ]
        self._movable = GROUP_TOKENS
        self.units: list[tuple[int, str]] = list(self._units())
        """(first line, folder) of each source skill, where the page holds several."""

    def is_taken(self, line: int) -> bool:
        """Whether the line belongs to an embedded file."""
        return any(start <= line < stop for start, stop in self.taken)

    def carried_at(self, line: int) -> Range:
        """The section of the carried file that the line belongs to; (-1, -1) outside of any."""
        return next((one for one in self.taken if one[0] <= line < one[1]), (-1, -1))

    @cached_property
    def _readable(self) -> tuple[str, list[int]]:
        """The text in lower case without carried code, and where each line starts in it."""
        code = {line for start, stop in self._code for line in range(start, stop)}
        lines = ["" if line in code else text.lower() for line, text in enumerate(self.lines)]
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        return "\n".join(lines), starts

    def naming(self, names: Sequence[str]) -> list[int]:
        """The 0-based lines that hold one of the names, in any case; carried code does not count,
        only what a reader is told."""
        text, starts = self._readable
        found: set[int] = set()
        wanted = {name.lower() for name in names}
        for name in wanted:
            if any(other in name for other in wanted - {name}):
                continue
            place = text.find(name)
            while place >= 0:
                line = bisect_right(starts, place) - 1
                found.add(line)
                place = text.find(name, starts[line + 1])
        return sorted(found)

    def text(self, ranges: Sequence[Range]) -> str:
        """The lines of the ranges as one string."""
        return "\n".join("\n".join(self.lines[start:end]) for start, end in ranges)

    def tokens(self, ranges: Sequence[Range]) -> int:
        """Estimated tokens of the ranges."""
        return estimate(self.text(ranges))

    def says(self, ranges: Sequence[Range]) -> bool:
        """Whether the ranges hold a line that is not blank."""
        return any(self.lines[line].strip() for start, end in ranges for line in range(start, end))

    def unit_at(self, line: int) -> str:
        """The folder of the source skill that the line comes from; "" for a page of one."""
        return next((unit for start, unit in reversed(self.units) if start <= line), "")

    def home(self, line: int) -> str:
        """The same, but "" for what was outside of any skill."""
        return "" if line >= self._shared else self.unit_at(line)

    @cached_property
    def _shared(self) -> int:
        """First line of what was outside of any skill; it stands last."""
        last = max((start for start, _ in self.units), default=-1)
        found = [
            one.start
            for one in self.headings
            if one.start > last and one.level == 1 and template_of_heading(one.title) == "shared"
        ]
        return found[-1] if found else len(self.lines)

    @cached_property
    def fixed(self) -> dict[int, int]:
        """First line of each source skill's section -> end of what must stay with its title: its
        configuration and its directory."""
        found = {start: start + 1 for start, _ in self.units}
        for block in self.markdown.blocks:
            start = max((one for one in found if one <= block.start), default=None)
            if start is None or self.says([(found[start], block.start)]):
                continue
            told = block.kind == "paragraph_open" and _UNIT.match(self.lines[block.start])
            if told or (block.kind == "fence" and block.info == "yaml"):
                found[start] = block.end
        return found

    def _units(self) -> Iterator[tuple[int, str]]:
        found: dict[str, int] = {}
        for line in sorted(self.markdown.prose_lines):
            match = _UNIT.match(self.lines[line])
            above = [one.start for one in self.headings if one.level == 1 and one.start < line]
            if match and above and above[-1] not in found.values():
                found.setdefault(match[1], above[-1])
        yield from ((start, unit) for unit, start in found.items())

    def tree(self) -> Section:
        """The sections under a root section that holds the text before the first heading."""
        skip = self.markdown.frontmatter_lines
        root = Section(0, "", skip, skip, self._next_edge(skip - 1))
        stack = [root]
        for one in self.headings:
            while stack[-1].level >= one.level:
                stack.pop()
            section = Section(one.level, one.title, one.start, one.end, self._next_edge(one.start))
            stack[-1].children.append(section)
            stack.append(section)
        return root

    def _next_edge(self, line: int) -> int:
        return next((edge for edge in self._edges if edge > line), len(self.lines))

    def groups(self) -> list[Group]:
        """Everything but the frontmatter and the embedded files, in document order."""
        tree = self.tree()
        share = self.tokens(list(_ranges(tree))) // GROUP_SHARE
        self._movable = min(GROUP_TOKENS, max(LEAST_GROUP, share))
        return [group for group in self._open(tree, ()) if self.says(group.ranges)]

    def _open(self, section: Section, path: tuple[str, ...]) -> Iterator[Group]:
        """One group when the section is small, else its own text and its children's groups."""
        ranges = list(_ranges(section))
        tokens, unit = self.tokens(ranges), self.unit_at(section.start)
        if section.level > 1 and (tokens <= self._movable or not section.children):
            yield Group(ranges, section.title, path, tokens, unit=unit)
            return
        own = [(section.start, section.text_end)]
        bare = not self.says([(section.text_start, section.text_end)])
        yield Group(own, section.title, path, self.tokens(own), lead=True, bare=bare, unit=unit)
        below = (*path, section.title) if section.level else path
        for child in section.children:
            yield from self._open(child, below)

    def split(self, group: Group, lines: int, tokens: int) -> tuple[Group, Group] | None:
        """A group cut after the blocks that fit; None when it is a single block or fits none."""
        if len(group.ranges) != 1:
            return None
        start, end = group.ranges[0]
        opening = next((one.end for one in self.headings if one.start == start), start)
        first = self.fixed.get(start, opening)
        cuts = [block.start for block in self.markdown.blocks if first <= block.start < end]
        if start not in self.fixed:
            cuts = [cut for cut in cuts if self.says([(first, cut)])]
        whole = [cut for cut in cuts if not self._parts_steps(start, cut, end)] or cuts
        fitting = [
            cut for cut in whole if cut - start <= lines and self.tokens([(start, cut)]) <= tokens
        ]
        if not fitting and len(whole) < len(cuts):
            fitting = whole[:1]
        if not fitting and start in self.fixed:
            fitting = cuts[:1]
        if not fitting:
            return None
        place = fitting[-1]
        head, tail = [(start, place)], [(place, end)]
        path = group.path
        return (
            Group(head, group.title, path, self.tokens(head), lead=True, unit=group.unit),
            Group(tail, group.title, path, self.tokens(tail), headless=True, unit=group.unit),
        )

    def _parts_steps(self, start: int, cut: int, end: int) -> bool:
        """Whether a cut would leave the first steps of a procedure on one side and the next ones, a
        list that goes on counting, on the other."""
        lists = [
            block.start
            for block in self.markdown.blocks
            if block.kind == "ordered_list_open" and start <= block.start < end
        ]
        after = next((line for line in lists if line >= cut), None)
        if after is None or after == lists[0]:
            return False
        number = _COUNTED.match(self.lines[after])
        return number is not None and int(number[1]) != 1


def _ranges(section: Section) -> Iterator[Range]:
    yield section.start, section.text_end
    for child in section.children:
        yield from _ranges(child)


def joined(ranges: Sequence[Range]) -> list[Range]:
    """Ranges in order, neighbours made one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        elif end > start:
            found.append((start, end))
    return found

"""The sections of a flat SKILL.md, and the groups of them that can move together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skilljuror.knowledge.markdown import Document, Heading
from skilljuror.knowledge.markers import Embedded, embedded_files
from skilljuror.tokens import estimate

GROUP_TOKENS = 2_500
"""Estimated tokens up to which a section and all below it move as one."""


@dataclass(slots=True)
class Section:
    """A heading and what belongs to it; lines are 0-based and half-open."""

    level: int
    title: str
    start: int
    own: int
    """Line where the heading's own text starts."""
    stop: int
    """Line where its own text ends: the next heading of any level."""
    children: list["Section"] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """Text that stays or moves as one."""

    ranges: list[tuple[int, int]]
    title: str
    path: tuple[str, ...]
    """Titles of the sections above, outermost first."""
    tokens: int
    lead: bool = False
    """Whether it is a heading and its own text, without the sections below it."""
    bare: bool = False
    """Whether it is a heading without any text."""

    @property
    def start(self) -> int:
        """First line."""
        return self.ranges[0][0]

    @property
    def lines(self) -> int:
        """Number of lines."""
        return sum(end - start for start, end in self.ranges)


class FlatSkill:
    """A flat SKILL.md, taken apart."""

    def __init__(self, path: str, document: Document) -> None:
        self.path = path
        self.document = document
        self.lines = document.lines
        self.embedded: tuple[Embedded, ...] = embedded_files(document)
        taken = [(file.heading.start, file.stop) for file in self.embedded]
        self.headings: tuple[Heading, ...] = tuple(
            one
            for one in document.headings
            if not any(start <= one.start < stop for start, stop in taken)
        )
        self._edges = sorted(
            {one.start for one in self.headings} | {start for start, _ in taken} | {len(self.lines)}
        )

    def text(self, ranges: Sequence[tuple[int, int]]) -> str:
        """The lines of the ranges as one string."""
        return "\n".join("\n".join(self.lines[start:end]) for start, end in ranges)

    def tokens(self, ranges: Sequence[tuple[int, int]]) -> int:
        """Estimated tokens of the ranges."""
        return estimate(self.text(ranges))

    def tree(self) -> Section:
        """The sections under a root section that holds the text before the first heading."""
        skip = self.document.skip
        root = Section(0, "", skip, skip, self._next_edge(skip - 1))
        stack = [root]
        for one in self.headings:
            while stack[-1].level >= one.level:
                stack.pop()
            stop = self._next_edge(one.start)
            section = Section(one.level, one.title, one.start, one.end, stop)
            stack[-1].children.append(section)
            stack.append(section)
        return root

    def _next_edge(self, line: int) -> int:
        return next((edge for edge in self._edges if edge > line), len(self.lines))

    def groups(self) -> list[Group]:
        """Everything but the frontmatter and the embedded files, in document order."""
        return [group for group in self._open(self.tree(), ()) if self._says(group)]

    def _says(self, group: Group) -> bool:
        return any(self.lines[number].strip() for a, b in group.ranges for number in range(a, b))

    def _open(self, section: Section, path: tuple[str, ...]) -> Iterator[Group]:
        """One group when the section is small, else its own text and its children's groups."""
        ranges = list(_ranges(section))
        tokens = self.tokens(ranges)
        if section.level > 1 and (tokens <= GROUP_TOKENS or not section.children):
            yield Group(ranges, section.title, path, tokens)
            return
        own = [(section.start, section.stop)]
        bare = not self._says(Group([(section.own, section.stop)], "", (), 0))
        yield Group(own, section.title, path, self.tokens(own), lead=True, bare=bare)
        below = (*path, section.title) if section.level else path
        for child in section.children:
            yield from self._open(child, below)


def _ranges(section: Section) -> Iterator[tuple[int, int]]:
    yield section.start, section.stop
    for child in section.children:
        yield from _ranges(child)

"""The sections of a flat SKILL.md, and the groups of them that move together."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import PurePosixPath

from skilljuror.audit.comparison.loader_text import loaded_lines
from skilljuror.audit.comparison.normalised_text import JoinedTexts
from skilljuror.audit.plans.render import BundleTexts
from skilljuror.base.skill import Bundle, is_markdown
from skilljuror.base.texts import scaled, weight
from skilljuror.layouts.editing.links import linked_paths
from skilljuror.skill.generated import EmbeddedFile, embedded_files, template_of_heading
from skilljuror.skill.markdown import Block, Heading

_OPENING = re.compile(
    r"^(?:Configuration for|Run the commands of this section from the) `([^`]+)`"
    r"(?::| directory\.)$"
)
_NUMBERED = re.compile(r"\s*(\d{1,9})[.)]")

LineRange = tuple[int, int]  # lines, 0-based and half-open


@dataclass(slots=True)
class SectionNode:
    """A heading and its content; lines are 0-based and half-open."""

    level: int
    title: str
    start: int
    text_start: int
    text_end: int  # start of the next heading of any level
    children: list["SectionNode"] = field(default_factory=list)


@dataclass(slots=True)
class SectionGroup:
    """Text that stays or moves as one."""

    ranges: list[LineRange]
    title: str
    path: tuple[str, ...]  # titles of the sections above, outermost first
    tokens: int  # estimated
    heading_only: bool = False  # whether it is a heading without text
    continued: bool = False
    """Whether it is the rest of a text that was cut, so that it must open its file."""
    skill: str = ""  # folder of its source skill, if the page holds several
    above: tuple[int, ...] = ()  # first lines of the headings above, outermost first
    reason: str = ""  # why it moves

    @property
    def start(self) -> int:
        return self.ranges[0][0]

    @property
    def lines(self) -> int:
        return sum(end - start for start, end in self.ranges)


class FlatSkill:
    """The structure of a flat SKILL.md; all lines are 0-based."""

    def __init__(self, bundle: Bundle) -> None:
        """`bundle` must have exactly one skill."""
        self.bundle = bundle
        self.texts = BundleTexts(bundle.files)
        self.path = bundle.skills[0].path
        self.markdown = markdown = self.texts.markdown(self.path)
        self.lines = markdown.lines
        self.embedded_files: tuple[EmbeddedFile, ...] = embedded_files(markdown)
        self.embedded_ranges = [
            (file.heading.start, file.section_end) for file in self.embedded_files
        ]
        self.headings: tuple[Heading, ...] = tuple(
            heading
            for heading in markdown.headings
            if not self.in_embedded_file(heading.start)
            and not self.lines[heading.start].startswith(" ")
        )
        """Headings outside of embedded files."""
        starts = {heading.start for heading in self.headings}
        starts |= {start for start, _ in self.embedded_ranges}
        self._edges = sorted(starts | {len(self.lines)})
        self.skills: list[tuple[int, str]] = list(self._find_skills())
        """(first line, folder) of each source skill, if the page holds several."""

    @cached_property
    def loaded_lines(self) -> frozenset[int]:
        """Lines with text that a loader replaces or runs in the root alone."""
        return frozenset(one.number - 1 for one in loaded_lines(self.bundle, self.path, own=True))

    def is_loaded(self, start: int, end: int) -> bool:
        """Whether lines `start` to `end` have such text."""
        return any(start <= line < end for line in self.loaded_lines)

    @cached_property
    def linked_paths(self) -> frozenset[str]:
        """Paths named by links, resolved from the page and from the source skill."""
        folder = PurePosixPath(self.path).parent
        return frozenset(
            path
            for line in self.markdown.link_lines
            for skill in {"", self.skill_at(line)}
            for path in linked_paths(self.lines[line], str(folder / skill / "SKILL.md"))
        )

    def in_embedded_file(self, line: int) -> bool:
        """Whether the line is in the section of an embedded file."""
        return any(start <= line < end for start, end in self.embedded_ranges)

    def embedded_range_at(self, line: int) -> LineRange:
        """Return the section of the embedded file at the line; (-1, -1) outside of any."""
        inside = (one for one in self.embedded_ranges if one[0] <= line < one[1])
        return next(inside, (-1, -1))

    def inner_path(self, file: EmbeddedFile) -> str:
        """Return the path of an embedded file inside its source skill."""
        skill = self.skill_at(file.heading.start)
        return file.path.removeprefix(f"{skill}/") if skill else file.path

    @cached_property
    def _readable_lines(self) -> JoinedTexts:
        """The lines in lower case, with those of embedded code blank."""
        code = {
            line
            for file in self.embedded_files
            if file.fenced and not is_markdown(file.path)
            for line in range(file.heading.start, file.section_end)
        }
        return JoinedTexts(
            "" if number in code else line.lower() for number, line in enumerate(self.lines)
        )

    def lines_naming(self, names: Sequence[str]) -> list[int]:
        """Return the lines with one of the names, ignoring case and embedded code."""
        wanted = {name.lower() for name in names}
        shortest = [name for name in wanted if not any(other in name for other in wanted - {name})]
        return sorted({line for name in shortest for line in self._readable_lines.holding(name)})

    def text(self, ranges: Sequence[LineRange]) -> str:
        return "\n".join("\n".join(self.lines[start:end]) for start, end in ranges)

    @cached_property
    def _weights(self) -> list[float]:
        """The weight of all lines before each line, and of all."""
        return [0.0, *accumulate(map(weight, self.lines))]

    def tokens(self, ranges: Sequence[LineRange]) -> int:
        """Return the estimated tokens of some lines, as `estimate` of their text would."""
        last = len(self.lines)
        sums = self._weights
        return scaled(
            sum(sums[min(end, last)] - sums[start] for start, end in ranges if start < end)
        )

    def has_text(self, ranges: Sequence[LineRange]) -> bool:
        return any(self.lines[line].strip() for start, end in ranges for line in range(start, end))

    def skill_at(self, line: int) -> str:
        """Return the folder of the line's source skill; "" for a page of one."""
        return next((skill for start, skill in reversed(self.skills) if start <= line), "")

    def owner_at(self, line: int) -> str:
        """Return the same, but "" for shared files."""
        return "" if line >= self._shared_start else self.skill_at(line)

    @cached_property
    def _shared_start(self) -> int:
        """First line of the files outside of any skill; they come last."""
        last = max((start for start, _ in self.skills), default=-1)
        starts = [
            heading.start
            for heading in self.headings
            if heading.start > last
            and heading.level == 1
            and template_of_heading(heading.title) == "shared"
        ]
        return starts[-1] if starts else len(self.lines)

    @cached_property
    def skill_openings(self) -> dict[int, int]:
        """First line of each source skill -> end of its configuration and directory, which stay with its title."""
        openings = {start: start + 1 for start, _ in self.skills}
        for block in self.markdown.blocks:
            start = max((line for line in openings if line <= block.start), default=None)
            if start is None or self.has_text([(openings[start], block.start)]):
                continue
            text = block.kind == "paragraph_open" and _OPENING.match(self.lines[block.start])
            if text or (block.kind == "fence" and block.info == "yaml"):
                openings[start] = block.end
        return openings

    def _find_skills(self) -> Iterator[tuple[int, str]]:
        starts: dict[str, int] = {}
        titles = [heading.start for heading in self.headings if heading.level == 1]
        for line in sorted(self.markdown.prose_lines):
            match = _OPENING.match(self.lines[line])
            above = [title for title in titles if title < line]
            if match and above and above[-1] not in starts.values():
                starts.setdefault(match[1], above[-1])
        yield from ((start, skill) for skill, start in starts.items())

    def tree(self) -> SectionNode:
        """Return the sections below a root section, which holds the text before the first heading."""
        first = self.markdown.frontmatter_lines
        root = SectionNode(0, "", first, first, self._next_edge(first - 1))
        stack = [root]
        for heading in self.headings:
            while stack[-1].level >= heading.level:
                stack.pop()
            text_end = self._next_edge(heading.start)
            section = SectionNode(
                heading.level, heading.title, heading.start, heading.end, text_end
            )
            stack[-1].children.append(section)
            stack.append(section)
        return root

    def _next_edge(self, line: int) -> int:
        at = bisect_right(self._edges, line)
        return self._edges[at] if at < len(self._edges) else len(self.lines)

    def nodes(self) -> Iterator[SectionNode]:
        """Yield every section in document order; the first is the text before any heading."""
        open_nodes = [self.tree()]
        while open_nodes:
            node = open_nodes.pop()
            yield node
            open_nodes += reversed(node.children)

    def split(
        self, group: SectionGroup, lines: int, tokens: int
    ) -> tuple[SectionGroup, SectionGroup] | None:
        """Split a group after the blocks that fit; None if it is a single block or no block fits."""
        if len(group.ranges) != 1:
            return None
        start, end = group.ranges[0]
        titled = next((one.end for one in self.headings if one.start == start), start)
        first = self.skill_openings.get(start, titled)
        cuts = [block.start for block in self.markdown.blocks if first <= block.start < end]
        cuts = [cut for cut in cuts if not self.is_loaded(cut, end)]
        if start not in self.skill_openings:
            cuts = [cut for cut in cuts if self.has_text([(first, cut)])]
        between = [cut for cut in cuts if not self._parts_steps(start, cut, end)] or cuts
        fitting = [
            cut for cut in between if cut - start <= lines and self.tokens([(start, cut)]) <= tokens
        ]
        if not fitting and len(between) < len(cuts):
            fitting = between[:1]
        if not fitting and start in self.skill_openings:
            fitting = cuts[:1]
        if not fitting:
            return None
        head, tail = [(start, fitting[-1])], [(fitting[-1], end)]
        return (
            replace(group, ranges=head, tokens=self.tokens(head)),
            replace(group, ranges=tail, tokens=self.tokens(tail), continued=True),
        )

    @cached_property
    def _list_starts(self) -> list[int]:
        return [b.start for b in self.markdown.blocks if b.kind == "ordered_list_open"]

    def blocks_in(self, start: int, end: int) -> Sequence[Block]:
        """Return the top-level blocks that start on lines `start` to `end`."""
        blocks = self.markdown.blocks
        first = bisect_left(blocks, start, key=lambda block: block.start)
        return blocks[first : bisect_left(blocks, end, key=lambda block: block.start)]

    def _parts_steps(self, start: int, cut: int, end: int) -> bool:
        """Whether a cut separates the first steps of a procedure from a list that continues the count."""
        starts = self._list_starts
        lists = starts[bisect_left(starts, start) : bisect_left(starts, end)]
        after = next((line for line in lists if line >= cut), None)
        if after is None or after == lists[0]:
            return False
        number = _NUMBERED.match(self.lines[after])
        return number is not None and int(number[1]) != 1


def ranges_of(section: SectionNode) -> Iterator[LineRange]:
    """Yield the lines of a section's own text, then of each subsection."""
    yield section.start, section.text_end
    for child in section.children:
        yield from ranges_of(child)


def merged_ranges(ranges: Sequence[LineRange]) -> list[LineRange]:
    """Return the ranges in order, with adjacent ones joined."""
    merged: list[LineRange] = []
    for start, end in sorted(ranges):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        elif end > start:
            merged.append((start, end))
    return merged

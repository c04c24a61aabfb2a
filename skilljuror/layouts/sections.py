"""The sections of a flat SKILL.md."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any

from skilljuror.audit.gates.loader import loaded_lines
from skilljuror.audit.plans.render import BundleTexts
from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Bundle, Copy, Generated, Omitted, Plan, PlannedFile
from skilljuror.base.texts import scaled, weight
from skilljuror.layouts.editing import linked_paths
from skilljuror.skill.generated import EmbeddedFile, embedded_files, template_of_heading
from skilljuror.skill.markdown import Block, Heading

_OPENING = re.compile(
    r"^(?:Configuration for|Run the commands of this section from the) `([^`]+)`"
    r"(?::| directory\.)$"
)

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

    def inner_path(self, file: EmbeddedFile) -> str:
        """Return the path of an embedded file inside its source skill."""
        skill = self.skill_at(file.heading.start)
        return file.path.removeprefix(f"{skill}/") if skill else file.path

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

    def blocks_in(self, start: int, end: int) -> Sequence[Block]:
        """Return the top-level blocks that start on lines `start` to `end`."""
        blocks = self.markdown.blocks
        first = bisect_left(blocks, start, key=lambda block: block.start)
        return blocks[first : bisect_left(blocks, end, key=lambda block: block.start)]


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


def flat_skill(parent: Bundle, variant: str) -> FlatSkill:
    """Return the one skill of a flat bundle. Raises TransformError for any other bundle."""
    if len(parent.skills) != 1:
        raise TransformError(
            f"{variant!r} needs a bundle with exactly one skill, but {parent.name!r} has "
            f"{len(parent.skills)}; build the baseline first"
        )
    return FlatSkill(parent)


def omitted_lines(flat: FlatSkill, files: Iterable[PlannedFile]) -> tuple[Omitted, ...]:
    """Return the lines of a flat page that no file has a copy of."""
    copies = (piece for file in files for piece in file.pieces if isinstance(piece, Copy))
    covered = {line for piece in copies for line in range(piece.start, piece.end + 1)}
    return tuple(
        Omitted(flat.path, number, line)
        for number, line in enumerate(flat.lines, start=1)
        if number not in covered
    )


def page_plan(
    flat: FlatSkill, names: tuple[str, str], pieces: Iterable[Copy | Generated], **more: Any
) -> Plan:
    """Return a plan that changes the page of a flat bundle and, unless `more` says so, no file beside it; `names` are
    those of the variant and its parent."""
    text = flat.texts.text(flat.path)
    page = PlannedFile(flat.path, tuple(pieces), False, text.final_newline, text.bom, text.crlf)
    others = {path: path for path in flat.bundle.files if path != flat.path}
    return Plan(
        *names,
        (page,),
        flags={flat.path: text.flags} if text.flags else {},
        omitted=omitted_lines(flat, (page,)),
        **{"sidecars": others, **more},
    )

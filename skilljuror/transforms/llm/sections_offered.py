"""The sections of a flat skill that a model can place, each with an id."""

from collections.abc import Mapping
from dataclasses import dataclass

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup

SECTION_TOKENS = 300
"""Estimated tokens up to which a section and its subsections are offered as one."""
MOST_SECTIONS = 120
"""Maximum number of sections; above it, they are divided less deeply."""
OPENING_LINES = 60
OPENING_TOKENS = 900
"""Size above which the text before the first section is cut, so that its tail can move."""


@dataclass(frozen=True, slots=True)
class OfferedSection:
    """Text that moves or stays as one."""

    id: str
    """s1, s2, … in document order."""
    group: SectionGroup
    place: int
    """Its place among all groups, headings without text included."""

    @property
    def opens(self) -> bool:
        """Whether the skill starts with it, so that it must stay in the root."""
        return self.id == "s1"


class OfferedSections:
    """The sections and documents of a flat skill that a model can place."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        readable = (file for file in flat.embedded_files if not file.is_helper)
        self.documents: dict[str, EmbeddedFile] = {
            f"d{number}": file for number, file in enumerate(readable, start=1)
        }
        """Embedded files that are read, not run: they stay whole and need a trigger."""
        self.groups = _groups(flat)
        """All text in document order, headings without text included."""
        _cut_opening(flat, self.groups, must_move=not self.documents)
        places = [place for place, group in enumerate(self.groups) if not group.heading_only]
        self.sections = [
            OfferedSection(f"s{number}", self.groups[place], place)
            for number, place in enumerate(places, start=1)
        ]
        self.by_id = {section.id: section for section in self.sections}

    def below(self, section: OfferedSection) -> list[OfferedSection]:
        """Return the subsections of the heading whose text is this section."""
        return self._inside(section.place) if section.group.is_head else []

    def _inside(self, place: int) -> list[OfferedSection]:
        depth = len(self.groups[place].path)
        later = range(place + 1, len(self.groups))
        end = next((at for at in later if len(self.groups[at].path) <= depth), len(self.groups))
        return [section for section in self.sections if place < section.place < end]

    def divide(
        self, file_of: Mapping[str, str]
    ) -> tuple[list[SectionGroup], dict[str, list[SectionGroup]]]:
        """Return (kept in the root, file -> its groups), each in document order.

        `file_of` maps the id of a section to its file; others stay. A heading without text stays with any
        section below it, else it goes with the first of them.
        """
        kept: list[SectionGroup] = []
        moved: dict[str, list[SectionGroup]] = {}
        headings: list[SectionGroup] = []
        by_place = {section.place: section for section in self.sections}
        for place, group in enumerate(self.groups):
            section = by_place.get(place)
            if section is None:
                below = [file_of.get(inner.id) for inner in self._inside(place)]
                (headings if below and None not in below else kept).append(group)
            elif section.id in file_of:
                moved.setdefault(file_of[section.id], []).append(group.below(headings))
                headings = []
            else:
                kept.append(group)
        return kept, moved


def _groups(flat: FlatSkill) -> list[SectionGroup]:
    """The sections, divided as deeply as their number allows."""
    limit = SECTION_TOKENS
    while True:
        groups = flat.groups(limit)
        if len(groups) <= MOST_SECTIONS or limit > flat.tokens([(0, len(flat.lines))]):
            return groups
        limit *= 2


def _cut_opening(flat: FlatSkill, groups: list[SectionGroup], *, must_move: bool) -> None:
    """Cut the first text if it is long, or is all there is, so that its tail can move."""
    with_text = [group for group in groups if not group.heading_only]
    if not with_text:
        return
    first = with_text[0]
    lines, tokens = OPENING_LINES, OPENING_TOKENS
    if must_move and len(with_text) == 1:
        lines, tokens = first.lines, min(tokens, first.tokens // 2)
    elif first.lines <= lines and first.tokens <= tokens:
        return
    halves = flat.split(first, lines, tokens)
    if halves is not None:
        head, tail = halves
        # the tail counts as below its heading, which stays above it
        below = SectionGroup(
            tail.ranges, tail.title, (*tail.path, tail.title), tail.tokens, skill=tail.skill
        )
        place = groups.index(first)
        groups[place : place + 1] = [head, below]

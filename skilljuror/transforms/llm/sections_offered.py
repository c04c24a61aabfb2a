"""The parts of a flat skill that a chooser may place, each with an id to name it by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.transforms.disclosure.sections import FlatSkill, Group, Range, Section

PART_TOKENS = 300
"""Estimated tokens up to which a section and all below it are one part."""
MOST_PARTS = 120
"""Parts from which the sections are opened less deeply."""
OPENING_LINES = 60
OPENING_TOKENS = 900
"""Size from which the text before the first section is cut, so that its tail can move."""


@dataclass(frozen=True, slots=True)
class Part:
    """One movable piece of text."""

    id: str
    """s1, s2, … in document order."""
    group: Group
    place: int
    """Its place among all groups, bare headings included."""

    @property
    def opens(self) -> bool:
        """Whether the skill starts with it, so that it stays in the root."""
        return self.id == "s1"


class Movable:
    """What a flat skill offers to a chooser."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        self.documents: dict[str, EmbeddedFile] = {
            f"d{number}": file for number, file in enumerate(_documents(flat), start=1)
        }
        """Carried files that are read, not run: they keep their text whole and want a trigger."""
        self.groups = _groups(flat)
        """All text in document order, bare headings included."""
        _cut_opening(flat, self.groups, must_move=not self.documents)
        told = [place for place, group in enumerate(self.groups) if not group.bare]
        self.parts = [
            Part(f"s{number}", self.groups[place], place)
            for number, place in enumerate(told, start=1)
        ]
        self.by_id = {part.id: part for part in self.parts}

    def below(self, part: Part) -> list[Part]:
        """The parts that stand below the heading that this one is the text of."""
        return self._inside(part.place) if part.group.lead else []

    def _inside(self, place: int) -> list[Part]:
        depth = len(self.groups[place].path)
        stop = next(
            (at for at in range(place + 1, len(self.groups)) if len(self.groups[at].path) <= depth),
            len(self.groups),
        )
        return [part for part in self.parts if place < part.place < stop]

    def parted(self, homes: Mapping[str, str]) -> tuple[list[Group], dict[str, list[Group]]]:
        """(what stays in the root, file -> what goes there), each in document order.

        `homes` says which file a part goes to; a part without one stays. A heading without text
        stays with any part below it, else it goes with the first of them.
        """
        kept: list[Group] = []
        moved: dict[str, list[Group]] = {}
        heads: list[Group] = []
        by_place = {part.place: part for part in self.parts}
        for place, group in enumerate(self.groups):
            part = by_place.get(place)
            if part is None:
                below = [homes.get(one.id) for one in self._inside(place)]
                (heads if below and None not in below else kept).append(group)
            elif part.id in homes:
                moved.setdefault(homes[part.id], []).append(_headed(heads, group))
                heads = []
            else:
                kept.append(group)
        return kept, moved


def _headed(heads: Sequence[Group], group: Group) -> Group:
    if not heads:
        return group
    ranges = [*(one for head in heads for one in head.ranges), *group.ranges]
    return Group(ranges, heads[0].title, heads[0].path, group.tokens, unit=group.unit)


def _documents(flat: FlatSkill) -> Iterator[EmbeddedFile]:
    return (file for file in flat.embedded if not file.is_helper)


def _groups(flat: FlatSkill) -> list[Group]:
    """The sections, opened as deep as the number of parts allows."""
    limit = PART_TOKENS
    while True:
        found = [one for one in _open(flat, flat.tree(), (), limit) if flat.says(one.ranges)]
        if len(found) <= MOST_PARTS or limit > flat.tokens([(0, len(flat.lines))]):
            return found
        limit *= 2


def _open(flat: FlatSkill, section: Section, path: tuple[str, ...], limit: int) -> Iterator[Group]:
    ranges = list(_ranges(section))
    tokens, unit = flat.tokens(ranges), flat.unit_at(section.start)
    if section.level > 1 and (tokens <= limit or not section.children):
        yield Group(ranges, section.title, path, tokens, unit=unit)
        return
    own = [(section.start, section.text_end)]
    bare = not flat.says([(section.text_start, section.text_end)])
    yield Group(own, section.title, path, flat.tokens(own), lead=True, bare=bare, unit=unit)
    below = (*path, section.title) if section.level else path
    for child in section.children:
        yield from _open(flat, child, below, limit)


def _ranges(section: Section) -> Iterator[Range]:
    yield section.start, section.text_end
    for child in section.children:
        yield from _ranges(child)


def _cut_opening(flat: FlatSkill, groups: list[Group], *, must_move: bool) -> None:
    """Cut the first text where it is long, or where it is all there is, so that its tail moves."""
    told = [group for group in groups if not group.bare]
    if not told:
        return
    first = told[0]
    lines, tokens = OPENING_LINES, OPENING_TOKENS
    if must_move and len(told) == 1:
        lines, tokens = first.lines, min(tokens, first.tokens // 2)
    elif first.lines <= lines and first.tokens <= tokens:
        return
    halves = flat.split(first, lines, tokens)
    if halves is not None:
        place = groups.index(first)
        groups[place : place + 1] = [halves[0], _tail_of(halves[1])]


def _tail_of(group: Group) -> Group:
    """The rest of a text, one level below its heading: that heading stays above it."""
    return Group(
        group.ranges, group.title, (*group.path, group.title), group.tokens, unit=group.unit
    )

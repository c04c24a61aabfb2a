"""Group sections that leave the root into files; each file holds whole subtrees of the outline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skilljuror.transforms.disclosure.sections import LineRange, SectionGroup

MERGED = 4
"""Maximum number of sections that share a file."""
SMALL = 3
"""A section may take at most 1/`SMALL` of a shared file's limit."""
SEQUENCE_TOKENS = 5_000
"""Estimated tokens up to which ordered text stays in one file."""


@dataclass(frozen=True, slots=True)
class FileUnit:
    """The content of one file."""

    groups: tuple[SectionGroup, ...]
    tops: tuple[SectionGroup, ...]
    """The complete sections, which name the file; a heading above the first does not count."""

    @property
    def ranges(self) -> list[LineRange]:
        return [lines for group in self.groups for lines in group.ranges]

    @property
    def tokens(self) -> int:
        return sum(group.tokens for group in self.groups)

    def goes_on(self, before: "FileUnit") -> bool:
        """Whether it continues the text of the file before."""
        first = self.groups[0]
        return first.continued and first.sequence == before.groups[-1].sequence

    def joined(self, other: "FileUnit") -> "FileUnit":
        return FileUnit(self.groups + other.groups, self.tops + other.tops)


def file_units(
    moved: Sequence[SectionGroup], merge_tokens: int, processes: frozenset[int] = frozenset()
) -> list[FileUnit]:
    """Return the files for sections in document order.

    A section and its subsections form one file; above `merge_tokens`, it is cut between its children.
    Small neighbours below one heading share a file. Ordered text, such as one of the `processes`, is cut
    only if it is too long for one file.
    """
    units: list[FileUnit] = []
    for section in _sections(moved, processes):
        ordered = section[0].continued or section[0].sequence in processes
        cut = _in_order(section) if ordered else _by_outline(section, merge_tokens)
        for unit in cut:
            if units and not ordered and _share(units[-1], unit, merge_tokens):
                units[-1] = units[-1].joined(unit)
            else:
                units.append(unit)
    return units


def _sections(
    moved: Sequence[SectionGroup], processes: frozenset[int] = frozenset()
) -> Iterator[list[SectionGroup]]:
    """Group sections by subtree; a process, or the rest of a sequence, is one subtree."""
    section: list[SectionGroup] = []
    for group in moved:
        first = section[0] if section else None
        inside = first is not None and (
            first.start in group.above
            or (
                first.sequence == group.sequence
                and (first.continued or first.sequence in processes)
                and not group.continued
            )
        )
        if section and not inside:
            yield section
            section = []
        section.append(group)
    if section:
        yield section


def _by_outline(section: Sequence[SectionGroup], limit: int) -> list[FileUnit]:
    head = section[0]
    whole = FileUnit(tuple(section), (head,))
    if len(section) == 1 or whole.tokens <= limit:
        return [whole]
    units: list[FileUnit] = []
    for child in _sections(section[1:]):
        for unit in _by_outline(child, limit):
            if units and _share(units[-1], unit, limit):
                units[-1] = units[-1].joined(unit)
            else:
                units.append(unit)
    tops = units[0].tops if head.heading_only else (head, *units[0].tops)
    units[0] = FileUnit((head, *units[0].groups), tops)
    return units


def _in_order(section: Sequence[SectionGroup]) -> list[FileUnit]:
    """One file, or several that are each filled up before the next."""
    units: list[FileUnit] = []
    parts = list(_sections([replace(group, continued=False) for group in section]))
    if len(parts) == 1 and sum(group.tokens for group in section) > SEQUENCE_TOKENS:
        parts = [parts[0][:1], *_sections(parts[0][1:])]
    for part in parts:
        unit = FileUnit(tuple(part), (part[0],))
        if units and units[-1].tokens + unit.tokens <= SEQUENCE_TOKENS:
            units[-1] = units[-1].joined(unit)
        else:
            units.append(unit)
    return [_begun(unit, section[0].continued or number > 0) for number, unit in enumerate(units)]


def _begun(unit: FileUnit, continued: bool) -> FileUnit:
    return replace(unit, groups=(replace(unit.groups[0], continued=continued), *unit.groups[1:]))


def _share(left: FileUnit, right: FileUnit, limit: int) -> bool:
    """Whether small neighbours below one heading may share a file."""
    last, first = left.tops[-1], right.tops[0]
    siblings = (last.above, last.skill) == (first.above, first.skill)
    small = all(unit.tokens <= limit // SMALL * len(unit.tops) for unit in (left, right))
    adjoining = left.ranges[-1][1] == right.ranges[0][0]
    whole = not (left.groups[-1].continued or right.groups[0].continued)
    fits = left.tokens + right.tokens <= limit and len(left.tops) + len(right.tops) <= MERGED
    return siblings and small and adjoining and whole and fits

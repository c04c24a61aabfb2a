"""Which sections that left the root go together into one file: whole subtrees of the outline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skilljuror.transforms.disclosure.sections import LineRange, SectionGroup

MERGED = 4
"""Most sections that share one file."""
SMALL = 3
"""Parts of what a shared file may hold that a section in it may at most take."""
SEQUENCE_TOKENS = 5_000
"""Estimated tokens up to which what is read one after another stays in one file."""


@dataclass(frozen=True, slots=True)
class FileUnit:
    """What goes into one file."""

    groups: tuple[SectionGroup, ...]
    tops: tuple[SectionGroup, ...]
    """The sections that it holds whole, which name it; a heading above the first is none of them."""

    @property
    def ranges(self) -> list[LineRange]:
        """Its lines."""
        return [lines for group in self.groups for lines in group.ranges]

    @property
    def tokens(self) -> int:
        """Estimated."""
        return sum(group.tokens for group in self.groups)

    def goes_on(self, before: "FileUnit") -> bool:
        """Whether it is the rest of what was begun in the file before."""
        first = self.groups[0]
        return first.continued and first.sequence == before.groups[-1].sequence

    def joined(self, other: "FileUnit") -> "FileUnit":
        """Both in one file."""
        return FileUnit(self.groups + other.groups, self.tops + other.tops)


def file_units(
    moved: Sequence[SectionGroup], merge_tokens: int, processes: frozenset[int] = frozenset()
) -> list[FileUnit]:
    """The files for sections in document order.

    A section with all below it is one file; where it alone is over `merge_tokens`, it is cut between
    its own children. Small neighbours below one heading share a file. What is read in order, the
    rest of a sequence or one of the `processes`, is cut only where it is too long for one file.
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
    """The groups by subtree; a process, and the rest of any sequence, is one."""
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
    """One file, or several that are each begun where the one before is full."""
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

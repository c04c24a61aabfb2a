"""Detect items and headings below another item or heading of their page, or at another distance from it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.unit_matching import MatchedBundles
from skilljuror.base.skill import Unit, UnitPair
from skilljuror.skill.generated import template_of_heading


class _Relation(NamedTuple):
    """A unit, the one that it is below or beside, and how many levels are between them."""

    text: str
    anchor: str | None
    levels: int


class _Outline:
    """What is above each item and heading of one side, by the ids of units."""

    def __init__(self, units: Sequence[Unit], normaliser: TextNormaliser) -> None:
        self._normaliser = normaliser
        self.over: dict[str, Unit] = {}
        """Item -> the item that holds it; heading -> the heading above it."""
        self.previous: dict[str, Unit] = {}
        """Heading -> the heading before it below the same one."""
        self._items: dict[str, list[Unit]] = {}
        self._sections: dict[tuple[str, tuple[str, ...]], Unit] = {}
        self._last: dict[tuple[str, str | None], Unit] = {}
        """(file, id of the heading above) -> the last heading below it."""
        self.relations = Counter[_Relation]()
        for unit in units:
            if unit.kind == "item" and unit.depth:
                self._add_item(unit)
            elif unit.kind == "heading":
                self._add_heading(unit)

    def _add_item(self, unit: Unit) -> None:
        path = self._items.setdefault(unit.file, [])
        while path and path[-1].depth >= unit.depth:
            path.pop()
        if path:
            self.over[unit.unit] = path[-1]
        path.append(unit)
        self.relations[self.relation(unit, self.over.get(unit.unit))] += 1

    def _add_heading(self, unit: Unit) -> None:
        if template_of_heading(unit.text) == "contents":  # it has no place in the outline
            return
        titles = [one for one in unit.headings if template_of_heading(one) != "contents"]
        over = self._sections.get((unit.file, tuple(titles)))
        place = unit.file, over.unit if over else None
        if unit.generated:  # a marker: the file below it has headings of its own
            self._last.pop((unit.file, None), None)
            return
        previous = self._last.get(place)
        if over:
            self.over[unit.unit] = over
        if previous:
            self.previous[unit.unit] = previous
        self._last[place] = unit
        self._sections[unit.file, (*titles, unit.text)] = unit
        self.relations.update({self.relation(unit, one) for one in (over, previous) if one})

    def relation(self, unit: Unit, anchor: Unit | None) -> _Relation:
        levels = unit.depth - anchor.depth if anchor and unit.kind == "heading" else 0
        text = self._normaliser.text
        return _Relation(text(unit), text(anchor) if anchor else None, levels)


class _Nesting:
    """The outlines of both sides, and the counterparts of items and headings."""

    def __init__(self, both: MatchedBundles) -> None:
        self.old = _Outline(both.old, both.normaliser)
        self.new = _Outline(both.new, both.normaliser)
        alike = ((pair.before, pair.after) for pair in both.matching.alike)
        self.pairs = [
            (before, after)
            for before, after in (*both.matching.same, *alike)
            if before.kind == after.kind and before.depth and after.depth
        ]
        self.now = {before.unit: after for before, after in self.pairs}
        self.was = {after.unit: before for before, after in self.pairs}

    def changed(self) -> Iterator[UnitPair]:
        for before, after in self.pairs:
            differs = self._held_by_another if before.kind == "item" else self._at_another_level
            if differs(before, after):
                yield UnitPair(before, after, change="nesting")

    def _held_by_another(self, before: Unit, after: Unit) -> bool:
        over, over_now = self.old.over.get(before.unit), self.new.over.get(after.unit)
        wanted = self.now.get(over.unit) if over else None
        source = self.was.get(over_now.unit) if over_now else None
        away = over is not None and not _are_on_page(wanted, after)
        unknown = over_now is not None and not _are_on_page(source, before)
        if away or unknown or (wanted and wanted.unit) == (over_now and over_now.unit):
            return False
        return not self._is_kept(self.old.relation(before, over))

    def _at_another_level(self, before: Unit, after: Unit) -> bool:
        for old, new in ((self.old.over, self.new.over), (self.old.previous, self.new.previous)):
            anchor = old.get(before.unit)
            anchor_now = self.now.get(anchor.unit) if anchor else None
            if anchor and anchor_now and _are_on_page(anchor_now, after):
                beside = new.get(after.unit)
                below = old is self.old.previous or (beside and beside.unit) == anchor_now.unit
                moved = after.depth - anchor_now.depth != before.depth - anchor.depth
                return (moved or not below) and not self._is_kept(self.old.relation(before, anchor))
        return False

    def _is_kept(self, relation: _Relation) -> bool:
        """Whether the relation is as frequent as in the parent: equal texts are interchangeable."""
        return self.new.relations[relation] >= self.old.relations[relation]


def _are_on_page(unit: Unit | None, other: Unit) -> bool:
    return unit is not None and unit.file == other.file


def nested_otherwise(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield items that another item holds now, or none, and headings at another distance from the one above or
    before them.

    A page is flattened, or divided into files, at other levels, so only the place among units counts that both sides
    have on one page.
    """
    return _Nesting(both).changed()

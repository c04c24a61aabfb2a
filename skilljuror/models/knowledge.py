"""Knowledge units: the smallest things a bundle says, each with its place and its numbers."""

from typing import Literal

from msgspec import Struct

UnitKind = Literal[
    "statement",
    "heading",
    "item",
    "row",
    "code",
    "command",
    "step",
    "field",
    "file",
    "schema",
    "link",
]


class Unit(Struct, frozen=True):
    """One unit of a bundle."""

    unit: str
    """Stable id inside one bundle: kind, digest of the normalised text, ordinal."""
    kind: UnitKind
    """What it is."""
    file: str
    """Path inside the bundle."""
    start: int
    """First line, 1-based."""
    end: int
    """Last line, inclusive."""
    headings: tuple[str, ...]
    """Heading path, outermost first."""
    text: str
    """Normalised text: white space folded, list marker and emphasis marks removed, case kept."""
    criticals: tuple[str, ...] = ()
    """Ordered critical tokens: numbers with units, comparators, modals, code spans, paths, flags."""


class Place(Struct, frozen=True):
    """Where a unit stands in one variant."""

    file: str
    """Path inside the variant."""
    start: int
    """First line, 1-based."""
    end: int
    """Last line, inclusive."""


class MappedUnit(Struct, frozen=True):
    """A row of knowledge.jsonl: one unit of the source and its place in each variant."""

    unit: Unit
    """The unit as it stands in the source."""
    places: dict[str, Place | None]
    """variant -> place; None where the unit does not stand (a gate reports it)."""

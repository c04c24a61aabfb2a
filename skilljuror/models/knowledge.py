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

CONTENT_KINDS: frozenset[str] = frozenset({"statement", "heading", "item", "row", "code", "field"})
"""Kinds that partition the text: every line that says something stands in one of these.
The others (command, step, file, schema, link) are read off the same lines a second time."""

ChangeKind = Literal[
    "polarity",
    "comparator-flip",
    "comparator",
    "number",
    "unit",
    "modal",
    "path",
    "reference",
    "order",
    "opposite",
    "code",
    "row",
    "field",
    "content",
    "renamed",
    "executable",
    "steps",
    "lines",
]
"""What was altered in a pair of units, worst first where several apply: a negation gained or
lost, a comparator turned round, another comparator, a number, its unit, the strength of a modal,
a path in code that leads elsewhere, a code span, path or flag, the same words in another order, a word turned into its opposite; any change of a code line, a table
row or a frontmatter field; a file's bytes, its name or its execute bit; the order of two steps;
the order of two lines of code."""


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
    """Heading path, outermost first; headings made by us are left out."""
    text: str
    """Normalised text: white space folded, list marker and emphasis marks removed, case kept."""
    criticals: tuple[str, ...] = ()
    """Ordered critical tokens: numbers with units, comparators, modals, code spans, paths, flags."""
    generated: str | None = None
    """Name of the template whose grammar the line follows; None for text of an author."""
    lead: str = ""
    """The sentence that introduces the list, table or code it stands in; "" for none."""


class UnitLocation(Struct, frozen=True):
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
    places: dict[str, UnitLocation | None]
    """variant -> place; None where the unit does not stand (a gate reports it)."""


class UnitPair(Struct, frozen=True):
    """A unit of the parent and the unit of the variant that took its place."""

    before: Unit
    """As the parent says it."""
    after: Unit
    """As the variant says it."""
    ratio: float = 1.0
    """Similarity of their words, 0 to 1."""
    change: ChangeKind | None = None
    """What was altered; None for a pair that says the same."""


class UnitDiff(Struct, frozen=True):
    """What became of the knowledge of a parent in a variant; layout plays no part."""

    compared: dict[str, int]
    """kind -> units of the parent that were compared."""
    reworded: tuple[UnitPair, ...] = ()
    """Other words, same critical tokens in the same order."""
    altered: tuple[UnitPair, ...] = ()
    """Other critical tokens, or the same words in another order."""
    missing: tuple[Unit, ...] = ()
    """Units of the parent that stand nowhere in the variant."""
    added: tuple[Unit, ...] = ()
    """Units of the variant that stand nowhere in the parent."""
    moved: tuple[UnitPair, ...] = ()
    """Same text below another heading, though its own heading still exists."""
    generated: tuple[Unit, ...] = ()
    """Added units that follow the grammar of a template."""
    routing: tuple[Unit, ...] = ()
    """Added lines, written by somebody, of a root that lead to a supporting file and demand nothing
    that it does not say."""

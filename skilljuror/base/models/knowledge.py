"""Knowledge units: the smallest statements of a bundle, each with its place and critical tokens."""

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
"""Kinds that partition the text: every line with content belongs to one of these, but for
the definition of a link, which is in the text of the links that use it.
The others (command, step, file, schema, link) are derived from the same lines."""

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
    "conjunction",
    "quantifier",
    "agent",
    "condition",
    "code",
    "row",
    "field",
    "content",
    "renamed",
    "executable",
    "steps",
    "lines",
    "nesting",
]
"""What was altered in a pair of units, worst first where several apply: a negation gained or
lost, a comparator turned round, another comparator, a number, its unit, the strength of a modal,
a path in code that leads elsewhere, a code span, path or flag, the same words in another order, a word turned into its opposite,
"and" into "or", all into some, the user into the agent, a condition or clause lost or gained; any change of a code line, a table
row or a frontmatter field; a file's bytes, its name or its execute bit; the order of two steps;
the order of two lines of code; the item or heading above an item or heading, or its distance from it."""


class Unit(Struct, frozen=True):
    """The smallest piece of knowledge followed through layouts: a statement, item, row, code line or setting."""

    unit: str
    """Stable id inside one bundle: kind, digest of the normalised text, ordinal."""
    kind: UnitKind
    """Kind of unit."""
    file: str
    """Path inside the bundle."""
    start: int
    """First line, 1-based."""
    end: int
    """Last line, inclusive."""
    headings: tuple[str, ...]
    """Heading path, outermost first, without generated headings."""
    text: str
    """Normalised text: white space folded, list marker and emphasis marks removed, case kept."""
    criticals: tuple[str, ...] = ()
    """Ordered critical tokens: numbers with units, comparators, modals, code spans, paths, flags."""
    generated: str | None = None
    """Template that generated the line; None for an author's text."""
    lead: str = ""
    """Sentence that introduces its list, table or code; "" if none."""
    depth: int = 0
    """Level of a heading, or number of lists around an item; 0 for other kinds."""


class UnitLocation(Struct, frozen=True):
    """Location of a unit in one variant."""

    file: str
    """Path inside the variant."""
    start: int
    """First line, 1-based."""
    end: int
    """Last line, inclusive."""


class MappedUnit(Struct, frozen=True):
    """A row of knowledge.jsonl: one unit of the source and its location in each variant."""

    unit: Unit
    """The unit in the source."""
    places: dict[str, UnitLocation | None]
    """variant -> location; None if the unit is missing (a gate reports it)."""


class UnitPair(Struct, frozen=True):
    """A unit of the parent and its counterpart in the variant."""

    before: Unit
    """Unit of the parent."""
    after: Unit
    """Unit of the variant."""
    ratio: float = 1.0
    """Similarity of their words, 0 to 1."""
    change: ChangeKind | None = None
    """What changed; None if both say the same."""
    lines: tuple[str, ...] = ()
    """Unified diff of a changed file."""


class UnitDiff(Struct, frozen=True):
    """Differences in knowledge between a parent and a variant, regardless of layout."""

    compared: dict[str, int]
    """kind -> number of compared units of the parent."""
    reworded: tuple[UnitPair, ...] = ()
    """Different words, same critical tokens in the same order."""
    altered: tuple[UnitPair, ...] = ()
    """Different critical tokens, or the same words in a different order."""
    missing: tuple[Unit, ...] = ()
    """Units of the parent that the variant lacks."""
    added: tuple[Unit, ...] = ()
    """Units of the variant that the parent lacks."""
    moved: tuple[UnitPair, ...] = ()
    """Same text under another heading although its own heading still exists."""
    generated: tuple[Unit, ...] = ()
    """Added units that follow the grammar of a template."""
    routing: tuple[Unit, ...] = ()
    """Added lines, written by an author, that lead to a supporting file or introduce moved text, and
    demand nothing beyond it."""
    kept: tuple[Unit, ...] = ()
    """Units of the parent without a counterpart whose words are in the variant all the same, as part of
    another unit."""
    copies: tuple[Unit, ...] = ()
    """Units of the parent without a counterpart whose words are in the variant, but less often."""
    repeated: tuple[Unit, ...] = ()
    """Units of the variant without a counterpart whose words are in the parent all the same."""

"""A unit before it has its id: what the readers of text hand to `units`."""

from typing import NamedTuple

from skilljuror.models.knowledge import UnitKind


class RawUnit(NamedTuple):
    """A unit of one text, with lines 1-based in its file."""

    kind: UnitKind
    """What it is."""
    start: int
    """First line."""
    end: int
    """Last line, inclusive."""
    headings: tuple[str, ...]
    """Heading path, outermost first."""
    text: str
    """Normalised text."""
    generated: str | None = None
    """Template whose grammar the line follows."""

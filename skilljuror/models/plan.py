"""A Plan says, line by line, where every piece of a variant comes from.

A transform only emits a Plan; `knowledge.plans.render` makes the files and `knowledge.plans.verify`
proves from the files on disk that nothing was lost or made up.
"""

from typing import Literal

from msgspec import Struct

SubstitutionKind = Literal["link", "mention", "stale-path", "control"]


class Substitution(Struct, frozen=True):
    """One recorded change inside a copied line, so that the copy can be inverted."""

    line: int
    """1-based line of the source file."""
    before: str
    """The source's whole line."""
    after: str
    """The line as written into the variant, before any heading shift."""
    kind: SubstitutionKind
    """Why it was changed: a link or a mention of a moved file, or a control that takes the names of
    files out; "stale-path", an absolute path made relative, stands in older plans alone."""


class Copy(Struct, frozen=True, tag="copy", tag_field="piece"):
    """Lines `start..end` of a parent file, copied as they stand."""

    source: str
    """Path inside the parent bundle."""
    start: int
    """First line, 1-based; lines are split on newline only."""
    end: int
    """Last line, inclusive; end < start means an empty file."""
    shift: int = 0
    """Heading levels added to every ATX heading of the range (negative promotes)."""
    substitutions: tuple[Substitution, ...] = ()
    """Lines that were changed on the way, each with its original."""

    @property
    def size(self) -> int:
        """Number of lines."""
        return max(0, self.end - self.start + 1)


class Generated(Struct, frozen=True, tag="generated", tag_field="piece"):
    """Lines made by us from a closed set of templates."""

    template: str
    """Name of the template in `knowledge.generated.templates`."""
    params: dict[str, str]
    """What fills it; every value is a word, path or heading copied from the source."""

    @property
    def size(self) -> int:
        """Number of lines."""
        return 1


class Omitted(Struct, frozen=True):
    """A parent line that the variant does not carry: a blank line, a marker or a fence around a
    file that became a file again, or a frontmatter delimiter."""

    source: str
    """Path inside the parent bundle."""
    line: int
    """1-based line."""
    text: str
    """The line, kept so that the parent can be rebuilt."""


class PlannedFile(Struct, frozen=True):
    """One file of the variant."""

    path: str
    """Posix path inside the variant."""
    pieces: tuple[Copy | Generated, ...]
    """Its pieces in order."""
    executable: bool = False
    """Execute bit of the written file."""
    final_newline: bool = True
    """Whether the written file ends with a newline."""
    bom: bool = False
    """Whether the written file starts with a UTF-8 byte order mark."""
    crlf: bool = False
    """Whether the written file uses CRLF line ends."""


class Plan(Struct, frozen=True):
    """How one variant is made from its parent."""

    variant: str
    """Name of the variant: origin, origin-flat, baseline, pd, …"""
    parent: str
    """Name of the variant (or "source") whose files the pieces name."""
    files: tuple[PlannedFile, ...]
    """Files made of pieces."""
    sidecars: dict[str, str] = {}
    """Files copied byte for byte: path in the variant -> path in the parent."""
    dropped: dict[str, str] = {}
    """Parent files that no variant carries: path -> reason (such as "empty")."""
    flags: dict[str, tuple[str, ...]] = {}
    """Parent files copied as text whose bytes are not plain: path -> what their bytes have on top
    of the lines: "bom", "crlf", "no-final-newline"."""
    omitted: tuple[Omitted, ...] = ()
    """Parent lines that were left out, each with its text."""
    notes: tuple[str, ...] = ()
    """Facts a reader should know, such as a stale absolute path inside a script."""

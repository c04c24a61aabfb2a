"""A Plan states, line by line, the origin of every piece of a variant.

A transform only emits a Plan; `knowledge.plans.render` writes the files and `knowledge.plans.verify`
proves from the files on disk that nothing was lost or invented.
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
    """Lines `start..end` of a parent file, copied unchanged."""

    source: str
    """Path inside the parent bundle."""
    start: int
    """First line, 1-based; lines are split on newline only."""
    end: int
    """Last line, inclusive; end < start means an empty file."""
    shift: int = 0
    """Heading levels added to every ATX heading of the range (negative promotes)."""
    substitutions: tuple[Substitution, ...] = ()
    """Changed lines with their originals."""

    @property
    def size(self) -> int:
        """Number of lines."""
        return max(0, self.end - self.start + 1)


class Generated(Struct, frozen=True, tag="generated", tag_field="piece"):
    """Lines generated from a closed set of templates."""

    template: str
    """Name of the template in `knowledge.generated.templates`."""
    params: dict[str, str]
    """Values; each is a word, path or heading copied from the source."""

    @property
    def size(self) -> int:
        """Number of lines."""
        return 1


class Omitted(Struct, frozen=True):
    """A parent line that the variant lacks: a blank line, a marker or fence around a restored file, or
    a frontmatter delimiter."""

    source: str
    """Path inside the parent bundle."""
    line: int
    """1-based line."""
    text: str
    """The line, stored so that the parent can be rebuilt."""


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
    """Derivation of one variant from its parent."""

    variant: str
    """Name of the variant: origin, origin-flat, baseline, pd, …"""
    parent: str
    """Variant (or "source") that the pieces refer to."""
    files: tuple[PlannedFile, ...]
    """Files composed of pieces."""
    sidecars: dict[str, str] = {}
    """Files copied byte for byte: path in the variant -> path in the parent."""
    dropped: dict[str, str] = {}
    """Parent files left out: path -> reason (such as "empty")."""
    flags: dict[str, tuple[str, ...]] = {}
    """Byte-level properties of parent files copied as text: path -> "bom", "crlf",
    "no-final-newline"."""
    omitted: tuple[Omitted, ...] = ()
    """Omitted parent lines with their text."""
    notes: tuple[str, ...] = ()
    """Notes for the reader, such as a stale absolute path in a script."""

"""What a parser is."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Protocol

from msgspec import Struct

from skilljuror.models.trajectory import Trajectory


class Source(Struct, frozen=True):
    """One thing to parse: a file or a trial folder, with its first bytes already read."""

    path: Path
    """File or folder."""
    head: bytes = b""
    """The first bytes of a file (64 KiB) while it is decided what it is; b"" for a folder, and
    afterwards: the heads of a corpus are never held at one time."""
    siblings: tuple[Path, ...] = ()
    """Files that belong to it (sub-agent logs beside a session)."""


class SessionLink(Struct, frozen=True):
    """Where a file stands in its family."""

    session: str
    """Key that the members share."""
    member: str | None = None
    """Own key of a child, which is read with the head; None for a head."""
    goes_on: Path | None = None
    """The file that this one says it goes on in, in its own folder or below; it need not exist."""


class FoundSource(Struct, frozen=True):
    """One source that was looked at."""

    source: Source
    """File or trial folder, with the files that are read with it."""
    format: str | None
    """The one format that claims it; None when there is none, or two."""
    named: bool
    """True when the caller named it, so that not reading it is an error."""
    problem: str | None = None
    """Why it is not read; None when it is."""
    kin: SessionLink | None = None
    """Its family; None for formats whose runs are single files."""
    session: str | None = None
    """The session that its first bytes name, which several captures of a run share."""
    size: int | None = None
    """Bytes of the file; None for a folder, and for what cannot be looked at."""


class Parser(Protocol):
    """Reads one log format."""

    format: ClassVar[str]
    """Name of the format, as in the list of formats."""
    native: ClassVar[int]
    """Precedence among captures of one run: 0 native session, 1 native stream, 2 interchange."""

    def sniff(self, source: Source) -> bool:
        """Whether this format claims the source; decided by content, never by name alone."""
        ...

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """The runs in it. Raises TrajectoryError where the format claims it and cannot read it."""
        ...

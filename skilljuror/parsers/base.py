"""What a log format is to the rest of the package: a `Parser`, and what it says of files."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import ClassVar, NamedTuple

from msgspec import Struct

from skilljuror.models.ingest import UnloggedTrial
from skilljuror.models.trajectory import AgentTraits, Trajectory


class LogKind(IntEnum):
    """How near a log is to what its agent did: of several logs of one run the nearest is read."""

    SESSION = 0
    """The agent's own record of its session."""
    STREAM = 1
    """What the agent printed while it ran."""
    INTERCHANGE = 2
    """What another program made of one of these."""


class Source(Struct, frozen=True):
    """One thing to parse: a file, or a folder that is read as a whole."""

    path: Path
    """File or folder."""
    head: bytes = b""
    """The first bytes of a file (64 KiB) while it is decided what it is; b"" for a folder, and
    afterwards: the heads of a corpus are never held at one time."""
    siblings: tuple[Path, ...] = ()
    """Files that are read with it (logs of sub-agents beside a session)."""
    formats: tuple[str, ...] = ()
    """Formats of files that are looked for inside a folder; () for all that are registered."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The file and those that are read with it."""
        return (self.path, *self.siblings)


class SessionLink(Struct, frozen=True):
    """Where a file stands among the files of its session."""

    session: str
    """Key that the files share: the session's id, or a path."""
    child: str | None = None
    """Own key of a file that is read with its head (a sub-agent's log); None for a head."""
    continuation: Path | None = None
    """File that this one says it goes on in, in its own folder or below; it need not exist."""
    parts_below: Path | None = None
    """Folder below which all heads of the session are parts of one conversation; None where a
    second head is a copy of the first."""
    by_path: bool = False
    """Whether the key is a path, so that the session's own id, if any, stands elsewhere."""


class FoundSource(Struct, frozen=True):
    """One source that was looked at."""

    source: Source
    """File or folder, with the files that are read with it."""
    format: str | None
    """The one format that claims it; None when there is none, or two."""
    named: bool
    """True when the caller named it, so that not reading it is an error."""
    problem: str | None = None
    """Why it is not read; None when it is."""
    link: SessionLink | None = None
    """Its place in its session; None for formats whose runs are single files."""
    session: str | None = None
    """The session that its first bytes name, which several captures of a run share."""
    size: int | None = None
    """Bytes of the file; None for a folder, and for what cannot be looked at."""
    broken: bool = False
    """Whether not reading it is an error although nobody named it: what may be a log is damaged, or
    nobody may look at it."""


class UsualFolder(NamedTuple):
    """Where an agent keeps its logs."""

    variable: str
    """Environment variable that moves the agent's folder."""
    folder: str
    """The agent's folder in the user's home, where the variable is not set."""
    logs: str
    """Folder of the logs in it."""


class Parser(ABC):
    """Reads one log format. `sniff` and `parse` must be written; everything else has a default."""

    agent: ClassVar[str | None] = None
    """Program that writes the logs; None where the logs name it themselves."""
    traits: ClassVar[AgentTraits] = AgentTraits()
    """How that program behaves."""
    kind: ClassVar[LogKind] = LogKind.SESSION
    """What the logs are to their agent."""
    folder_marker: ClassVar[str | None] = None
    """Name of a file whose folder may be one source of the format; None for formats of files."""
    usual_folder: ClassVar[UsualFolder | None] = None
    """Where the agent keeps its logs on a person's machine."""

    def __init__(self, format: str) -> None:
        self.format = format
        """Name that the parser is registered under, or its `module:attribute`."""

    @abstractmethod
    def sniff(self, source: Source) -> bool:
        """Whether this format claims the source; decided by content, never by name alone."""

    @abstractmethod
    def parse(self, source: Source) -> Iterator[Trajectory]:
        """The runs in it. Raises TrajectoryError where the format claims it and cannot read it."""

    def session_link(self, source: Source) -> SessionLink | None:
        """Where the file stands in its session; None where a run never takes a second file."""
        return None

    def neighbours(self, path: Path) -> Iterable[Path]:
        """Files that may belong to the session of a file that was named alone; they need not."""
        return ()

    def unlogged_trial(self, source: Source) -> tuple[UnloggedTrial, str] | None:
        """What a source that left no run tells of its trial, and why it left none; None where the
        format knows of no trials. Raises TrajectoryError."""
        return None

"""The `Parser` interface of a log format, and the types that describe its files."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import ClassVar, NamedTuple

from msgspec import Struct

from skilljuror.base.results import UnloggedTrial
from skilljuror.base.trajectory import AgentTraits, Trajectory


class LogKind(IntEnum):
    """How close a log is to the agent; of several logs of one run the closest is read."""

    SESSION = 0
    """The agent's own session record."""
    STREAM = 1
    """The agent's printed output."""
    INTERCHANGE = 2
    """A conversion by another program."""


class Source(Struct, frozen=True):
    """One thing to parse: a file, or a folder read as a whole."""

    path: Path
    head: bytes = b""
    """First bytes (64 KiB) of a file while its format is detected; b"" for folders and afterwards,
    to save memory."""
    siblings: tuple[Path, ...] = ()
    """Files read together with it (logs of sub-agents)."""
    formats: tuple[str, ...] = ()
    """Formats to look for inside a folder; () for all registered ones."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The file and its siblings."""
        return (self.path, *self.siblings)


class SessionLink(Struct, frozen=True):
    """A file's role among the files of its session."""

    session: str
    """Shared key: the session's id, or a path."""
    child: str | None = None
    """Key of a file that is read with its head (a sub-agent's log); None for a head."""
    by_path: bool = False
    """Whether the key is a path rather than the session's own id."""
    origin: str | None = None
    """Identity of its first record, which a copy in another session shares."""


class FoundSource(Struct, frozen=True):
    """A source and its detected format."""

    source: Source
    """File or folder with its siblings."""
    format: str | None
    """The only matching format; None if none or several match."""
    named: bool
    """Whether the user named it, so that not reading it is an error."""
    problem: str | None = None
    """Why it is not read; None if it is."""
    link: SessionLink | None = None
    """Its role in its session; None for single-file formats."""
    session: str | None = None
    """Session in its first bytes; several captures of a run share it."""
    size: int | None = None
    """Bytes of the file; None for folders and unreadable files."""
    broken: bool = False
    """Whether not reading it is an error even if not named: a damaged log or no permission."""
    damaged: bool = False
    """Whether it is readable but damaged."""
    shorter: tuple[Path, ...] = ()
    """Shorter captures of its siblings; not read."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All its files, read or not."""
        return (*self.source.files, *self.shorter)


class UsualFolder(NamedTuple):
    """Default log folder of an agent."""

    variable: str
    """Environment variable that overrides the agent's folder."""
    folder: str
    """Default folder, relative to the user's home."""
    logs: str
    """Log folder inside it."""


class Parser(ABC):
    """Reads one log format. `sniff` and `parse` are required; everything else has a default."""

    agent: ClassVar[str | None] = None
    """Program that writes the logs; None if the logs name it."""
    traits: ClassVar[AgentTraits] = AgentTraits()
    """Behaviour of that program."""
    kind: ClassVar[LogKind] = LogKind.SESSION
    folder_marker: ClassVar[str | None] = None
    """File name that marks a folder as one source; None for file formats."""
    usual_folder: ClassVar[UsualFolder | None] = None
    """Default log folder on a user's machine."""

    def __init__(self, format: str) -> None:
        self.format = format
        """Registered name, or `module:attribute`."""

    @abstractmethod
    def sniff(self, source: Source) -> bool:
        """Whether this format matches; decide by content, never by name alone."""

    @abstractmethod
    def parse(self, source: Source) -> Iterator[Trajectory]:
        """Yield the runs. Raises TrajectoryError if a matching source cannot be read."""

    def session_link(self, source: Source) -> SessionLink | None:
        """The file's role in its session; None if runs never span files."""
        return None

    def neighbours(self, path: Path) -> Iterable[Path]:
        """Candidate files of the same session for a file named alone; they need not exist."""
        return ()

    def unlogged_trial(self, source: Source) -> tuple[UnloggedTrial, str] | None:
        """Return a trial without a run and the reason for that; None if the format has no trials.
        Raises TrajectoryError."""
        return None

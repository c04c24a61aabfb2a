"""An access: what a call asks for, before anybody knows which resource that is."""

from msgspec import Struct

from skilljuror.attribution.accesses.line_selection import WHOLE_FILE, LineSelection
from skilljuror.models.events import EventKind, Via

OTHER_OUTPUT = "prints"
"""Note of a pathless access: some other command prints here, so the output is not one file's alone."""

UNCERTAIN = "maybe"
"""Note of an access that may not have happened: a text echoed where something else failed, a module
that is one of several."""

FILTERED = "sifted"
"""Note of a search in what an earlier program of the pipeline printed of a file."""


class Access(Struct, frozen=True, gc=False):
    """One access to one path."""

    path: str
    """As the command resolves it; may be a glob."""
    kind: EventKind
    """What happens to it."""
    via: Via = "shell"
    """How."""
    selection: LineSelection = WHOLE_FILE
    """Lines asked for (read)."""
    shown: bool = True
    """Whether what it prints reaches the model."""
    glob: bool = False
    """The path is a glob."""
    bundle_files_only: bool = False
    """Counts only if the path is a file of a bundle (an operand of an unknown program)."""
    needs_evidence: bool = False
    """Part of the path, or which of several files, is not known: counts only where the output shows it."""
    text: str = ""
    """The piece of the command that says so."""
    note: str = ""
    """What is peculiar about it."""
    pipeline: int = 0
    """Which pipeline of the command it belongs to."""
    printed: str = ""
    """Text that an `echo` prints: it separates the outputs around it."""
    written: str | None = None
    """Text written (write), where it is known."""
    source: str | None = None
    """Where a copy comes from (write)."""

"""An access: a call's request for a path, before it is resolved to a resource."""

from msgspec import Struct

from skilljuror.base.trajectory import EventKind, Via
from skilljuror.events.accesses.line_selection import WHOLE_FILE, LineSelection

OTHER_OUTPUT = "prints"
"""Note of a pathless access: another command prints here too, so the output is not one file's alone."""

UNCERTAIN = "maybe"
"""Note of an access that may not have happened: a text echoed after a failure, one of several
candidate modules."""

FILTERED = "sifted"
"""Note of a search in a file's text printed earlier in the pipeline."""


class Access(Struct, frozen=True, gc=False):
    path: str
    """As the command resolves it; may be a glob."""
    kind: EventKind
    via: Via = "shell"
    selection: LineSelection = WHOLE_FILE
    """Lines requested (read)."""
    shown: bool = True
    """Whether its output reaches the model."""
    glob: bool = False
    """The path is a glob."""
    bundle_files_only: bool = False
    """Only valid if the path is a file of a bundle (an operand of an unknown program)."""
    needs_evidence: bool = False
    """Path or choice among files is partly unknown: only valid if the output confirms it."""
    guarded: bool = False
    """It may not have happened: its command depends on a test, or on the failure of another one."""
    text: str = ""
    """Source text of the access."""
    note: str = ""
    pipeline: int = 0
    """Index of its pipeline in the command."""
    printed: str = ""
    """Text printed by `echo`; it separates the outputs around it."""
    written: str | None = None
    """Text written (write), if known."""
    source: str | None = None
    """Source of a copy (write)."""

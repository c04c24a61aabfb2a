"""What a call asks for, before anybody knows which resource that is."""

from msgspec import Struct

from skilljuror.attribution.accesses.line_selection import WHOLE, View
from skilljuror.models.events import EventKind, Via

PRINTS = "prints"
"""Note of an access that stands for any other command with an output of its own."""

MAYBE = "maybe"
"""Note of an access that may not have happened: a text echoed where something else failed, a module
that is one of several."""


SIFTED = "sifted"
"""Note of a search in what another program printed of a file."""


class Access(Struct, frozen=True, gc=False):
    """One access to one path."""

    path: str
    """As the command resolves it; may be a glob."""
    kind: EventKind
    """What happens to it."""
    via: Via = "shell"
    """How."""
    view: View = WHOLE
    """Lines asked for (read)."""
    shown: bool = True
    """Whether what it prints reaches the model."""
    glob: bool = False
    """The path is a glob."""
    strict: bool = False
    """Counts only if the path is a file of a bundle (an operand of an unknown program)."""
    proof: bool = False
    """Part of the path is not known: counts only where the output shows the file."""
    text: str = ""
    """The piece of the command that says so."""
    note: str = ""
    """What is peculiar about it."""
    pipeline: int = 0
    """Which pipeline of the command it belongs to."""
    before: str = ""
    """Text that an `echo` prints: a mark between the outputs around it."""
    written: str | None = None
    """Text written (write), where it is known."""
    source: str | None = None
    """Where a copy comes from (write)."""

"""A finding: an event before it has its number, its file and its class."""

from msgspec import Struct

from skilljuror.attribution.evidence.read_evidence import ReadEvidence
from skilljuror.attribution.resolution.skill_catalog import ResourceLocation
from skilljuror.models.events import EventKind, Via


class CandidateEvent(Struct, frozen=True, gc=False):
    """One event as found."""

    location: ResourceLocation
    kind: EventKind
    via: Via
    shown: ReadEvidence
    agent: str
    step: int
    line: int
    file: int = 0
    order: int = 0
    """Position among the events of one line."""
    call_id: str | None = None
    missing: bool = False
    """The log says that there is no such file."""
    quote: str = ""

"""An event as it is found: before it has its number, its file and its class."""

from typing import Any

from msgspec import Struct

from skilljuror.attribution.evidence.read_evidence import ReadEvidence
from skilljuror.attribution.resolution.skill_catalog import ResourceLocation
from skilljuror.attribution.run_context import AnalysedCall
from skilljuror.models.events import EventKind, Via
from skilljuror.models.trajectory import Message


class CandidateEvent(Struct, frozen=True, gc=False):
    """One event as found."""

    location: ResourceLocation
    kind: EventKind
    via: Via
    evidence: ReadEvidence
    agent: str
    step: int
    line: int
    """1-based raw line of the call or message, in file number `file` of the trajectory."""
    file: int = 0
    order: int = 0
    """Position among the events of one line."""
    call_id: str | None = None
    missing: bool = False
    """The log says that there is no such file."""
    quote: str = ""
    """What speaks for the event where the evidence quotes nothing."""

    @staticmethod
    def of_call(
        analysed: AnalysedCall, location: ResourceLocation, kind: EventKind, via: Via,
        evidence: ReadEvidence, **more: Any,
    ) -> "CandidateEvent":  # fmt: skip
        """An event of a call; `more` are order, missing and quote."""
        step, call = analysed.step, analysed.call
        return CandidateEvent(
            location, kind, via, evidence, step.agent, step.index, call.line, step.file,
            call_id=call.call_id, **more,
        )  # fmt: skip

    @staticmethod
    def of_message(
        message: Message, location: ResourceLocation, kind: EventKind, via: Via,
        evidence: ReadEvidence,
    ) -> "CandidateEvent":  # fmt: skip
        """An event of a message that no call asked for."""
        return CandidateEvent(
            location, kind, via, evidence, message.agent, message.step, message.line, message.file
        )

"""An event before it has its number, file and class."""

from typing import Any

from msgspec import Struct

from skilljuror.base.trajectory import EventKind, Message, Via
from skilljuror.events.evidence.read_evidence import ReadEvidence
from skilljuror.events.resolution.skill_catalog import ResourceLocation
from skilljuror.events.run_context import AnalysedCall


class CandidateEvent(Struct, frozen=True, gc=False):
    location: ResourceLocation
    kind: EventKind
    via: Via
    evidence: ReadEvidence
    agent: str
    step: int
    line: int
    """Line of the call or message in file number `file` of the trajectory."""
    file: int = 0
    call: int = -1
    """0-based number of the call in the run; -1 for a message."""
    order: int = 0
    """Position among the events of one call."""
    call_id: str | None = None
    missing: bool = False
    """The log reports the file as missing."""
    quote: str = ""
    """Quote for the event if the evidence has none."""

    @staticmethod
    def of_call(
        analysed: AnalysedCall, location: ResourceLocation, kind: EventKind, via: Via,
        evidence: ReadEvidence, **more: Any,
    ) -> "CandidateEvent":  # fmt: skip
        """Return an event of a call; `more` are order, missing and quote."""
        step, call = analysed.step, analysed.call
        return CandidateEvent(
            location, kind, via, evidence, step.agent, step.index, call.line, step.file,
            call=analysed.number, call_id=call.call_id, **more,
        )  # fmt: skip

    @staticmethod
    def of_message(
        message: Message, location: ResourceLocation, kind: EventKind, via: Via,
        evidence: ReadEvidence,
    ) -> "CandidateEvent":  # fmt: skip
        """Return an event of a message without a call."""
        return CandidateEvent(
            location, kind, via, evidence, message.agent, message.step, message.line, message.file
        )

"""Questions for people and their possible answers."""

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

ReviewKind = Literal["finding", "rubric", "uptake", "scope", "item", "pattern", "failure"]
Adjudication = Literal["source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject"]
"""Adjudication of a flagged construction (the paper's classes): already in the source, caused by
packaging, a repair that keeps the knowledge, or the variant is rejected."""


class ReviewText(Struct, frozen=True):
    """One of several texts to compare: source, variant, shown content, later action."""

    heading: str
    """Heading, such as `source · SKILL.md`."""
    text: str
    """Untrusted text."""
    marks: tuple[tuple[int, int], ...] = ()
    """(begin, end) characters to highlight: the knowledge units or a quote."""


class ReviewItem(Struct, frozen=True):
    """One question for a person."""

    id: str
    """Stable id: `finding:BUILD/VARIANT/ID`, `rubric:BUILD/VARIANT/ITEM`, `uptake:EVENT`, `scope:SECTION`,
    `item:TRIAL/RUBRIC/ID`, `pattern:TRIAL`, `failure:TRIAL`."""
    kind: ReviewKind
    """Kind of question."""
    title: str
    """Title in one line."""
    question: str
    """Question."""
    answers: tuple[str, ...]
    """Possible answers: yes, no, unknown; the adjudication classes; main and branch; or codes."""
    suspicion: float
    """Priority, 0 to 1; highest first."""
    texts: tuple[ReviewText, ...] = ()
    """Texts shown side by side."""
    machine: str | None = None
    """Verdict of gate or judge; withheld from a blind reviewer."""
    repeats: tuple[str, ...] = ()
    """Ids of equivalent items; one decision answers all of them."""
    decided: str | None = None
    """This reviewer's current answer; None if unanswered."""


def blind_id(item: str) -> str:
    """Opaque id of an item for a blind reviewer; the real id may reveal a rule or a condition."""
    return hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class ReviewDesk(Protocol):
    """Source of questions and store of answers; an answer is on disk when `decide` returns."""

    def queue(self, reviewer: str, blind: bool) -> Sequence[ReviewItem]:
        """Return all items by priority, including decided ones; for a blind reviewer in neutral order and
        without machine verdicts."""
        ...

    def decide(self, reviewer: str, item: str, answer: str, reason: str, blind: bool) -> None:
        """Record an answer; `item` is an id or its `blind_id`. Raise UsageError for an unknown item
        or answer, and for an adjudication without a reason."""
        ...

    def undo(self, reviewer: str) -> str | None:
        """Undo this reviewer's last decision and return the id of its item."""
        ...

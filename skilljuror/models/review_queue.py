"""What waits for a person, and what a person may answer."""

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

ReviewKind = Literal["finding", "rubric", "uptake"]
Adjudication = Literal["source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject"]
"""How a person settles a flagged construction (the paper's classes): it stood in the source already, comes
from packaging, is a repair that keeps the knowledge, or the variant is rejected."""


class ReviewText(Struct, frozen=True):
    """One text beside others: source, variant, what was shown, what the agent then did."""

    heading: str
    """What it is, such as `source · SKILL.md`."""
    text: str
    """The text itself: foreign, never trusted."""
    marks: tuple[tuple[int, int], ...] = ()
    """(begin, end) characters of it that matter: the knowledge units, or a quote."""


class ReviewItem(Struct, frozen=True):
    """One question for a person."""

    id: str
    """Stable id: `finding:BUILD/VARIANT/ID`, `rubric:BUILD/VARIANT/ITEM`, `uptake:EVENT`."""
    kind: ReviewKind
    """What it is about."""
    title: str
    """One line that names it."""
    question: str
    """What is asked."""
    answers: tuple[str, ...]
    """What may be answered: yes, no, unknown, or the classes of adjudication."""
    suspicion: float
    """How much it needs a look, 0 to 1; the highest come first."""
    texts: tuple[ReviewText, ...] = ()
    """What is laid side by side."""
    machine: str | None = None
    """What gate or judge said; withheld from a blind reviewer."""
    repeats: tuple[str, ...] = ()
    """Ids of items that say the same; one decision settles them all."""
    decided: str | None = None
    """This reviewer's standing answer; None where there is none."""


def blind_id(item: str) -> str:
    """What a blind reviewer is told for the id of an item, which may hold a rule or a condition."""
    return hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class ReviewDesk(Protocol):
    """Where a reviewer's questions come from and answers go; every answer is on disk when it returns."""

    def queue(self, reviewer: str, blind: bool) -> Sequence[ReviewItem]:
        """All items, suspicious first, decided ones included (progress is counted from them); for a
        blind reviewer without anything that a machine said, in an order that tells nothing."""
        ...

    def decide(self, reviewer: str, item: str, answer: str, reason: str, blind: bool) -> None:
        """Record an answer; `item` is an id or its `blind_id`. Raises UsageError for an item or an
        answer that there is not, and for a class of adjudication without a reason."""
        ...

    def undo(self, reviewer: str) -> str | None:
        """Take this reviewer's last standing decision back; the id of its item."""
        ...

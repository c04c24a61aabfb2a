"""One reviewer's queue: its items, progress and next question."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, get_args

from skilljuror.base.review import Adjudication, ReviewDesk, ReviewItem, ReviewKind, blind_id
from skilljuror.measures.stats.agreement import Agreement

KINDS: tuple[str, ...] = get_args(ReviewKind)
STATES = ("open", "decided")
NEED_REASON = frozenset(get_args(Adjudication))
"""Answers that require a reason."""
LABELS = {
    "source_idiosyncrasy": "Source-inherited idiosyncrasy",
    "packaging_artifact": "Packaging artifact",
    "controlled_repair": "Controlled repair",
}
"""Labels that differ from the answer's name."""
Pair = tuple[str, str, str, Agreement]
"""(kind of question, first reviewer, second reviewer, agreement)."""
LETTERS = {"yes": "y", "no": "n", "unknown": "u"}


@dataclass(frozen=True)
class Reviewing:
    """Settings of a review session."""

    desk: ReviewDesk
    reviewer: str
    """Name or pseudonym."""
    blind: bool
    """Hide the verdicts of gates and judges."""
    agreements: Callable[[], Sequence[Pair]] = tuple
    """Returns the agreement of every two reviewers."""
    notice: str = ""
    """Notice for every page, such as that the study is simulated."""
    form_token: str = field(default_factory=partial(secrets.token_urlsafe, 32))
    """CSRF token of every form."""


class Choice(NamedTuple):
    """An answer button."""

    answer: str
    label: str
    key: str
    """Keyboard key; "" if none is left."""
    needs_reason: bool


def label_of(answer: str) -> str:
    """Return the label of an answer."""
    return LABELS.get(answer, answer.replace("_", " ").capitalize())


def choices(item: ReviewItem) -> list[Choice]:
    """List an item's answers with keys: y, n, u, and digits for the rest."""
    digits = iter("123456789")
    return [
        Choice(
            answer, label_of(answer), LETTERS.get(answer) or next(digits, ""), answer in NEED_REASON
        )
        for answer in item.answers
    ]


class Queue(NamedTuple):
    """The items of one kind, or of all, in order."""

    items: list[ReviewItem]
    kind: str
    """"" for all kinds."""

    @property
    def decided(self) -> int:
        """Number of answered items."""
        return sum(item.decided is not None for item in self.items)

    def place(self, item_id: str) -> int | None:
        """Return the 0-based place of an item, a repeat or a blind id, or None."""
        names = {item_id, blind_id(item_id)}
        same = (n for n, item in enumerate(self.items) if names & {item.id, *item.repeats})
        return next(same, None)

    def next_open(self, after: int) -> ReviewItem | None:
        """Return the first unanswered item after a place, wrapping around."""
        around = self.items[after + 1 :] + self.items[: after + 1]
        return next((item for item in around if item.decided is None), None)


def queue_of(items: Sequence[ReviewItem], kind: str) -> Queue:
    """Return the queue for `kind`, or all items if `kind` is unknown."""
    kind = kind if kind in KINDS else ""
    return Queue([item for item in items if kind in {"", item.kind}], kind)

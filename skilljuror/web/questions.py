"""The queue of one reviewer as the pages show it: what is listed, how far it is, what comes next."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, get_args

from skilljuror.models.review_queue import (
    Adjudication,
    ReviewDesk,
    ReviewItem,
    ReviewKind,
    blind_id,
)
from skilljuror.stats.agreement import Agreement

KINDS: tuple[str, ...] = get_args(ReviewKind)
STATES = ("open", "decided")
NEED_REASON = frozenset(get_args(Adjudication))
"""Answers that stand in the record of a construction, and say why."""
LABELS = {
    "source_idiosyncrasy": "Source-inherited idiosyncrasy",
    "packaging_artifact": "Packaging artifact",
    "controlled_repair": "Controlled repair",
}
"""Answers that their own word does not spell."""
Pair = tuple[str, str, str, Agreement]
"""(kind of question, one reviewer, the other one, how far they agree)."""
LETTERS = {"yes": "y", "no": "n", "unknown": "u"}


@dataclass(frozen=True)
class Reviewing:
    """Who reviews what, and how."""

    desk: ReviewDesk
    """Where questions come from, and answers go."""
    reviewer: str
    """Name or pseudonym of the person."""
    blind: bool
    """Whether gate and judge are kept from the person."""
    agreements: Callable[[], Sequence[Pair]] = tuple
    """How far every two reviewers agree on what both answered."""
    notice: str = ""
    """What every page must say of the study, such as that it is simulated."""
    form_token: str = field(default_factory=partial(secrets.token_urlsafe, 32))
    """What every form of these pages carries, and no other page knows."""


class Choice(NamedTuple):
    """An answer as a button."""

    answer: str
    """What is recorded."""
    label: str
    """What is read."""
    key: str
    """What is pressed; empty where no key is left."""
    needs_reason: bool
    """Whether it is taken with a reason alone."""


def label_of(answer: str) -> str:
    """An answer in words."""
    return LABELS.get(answer, answer.replace("_", " ").capitalize())


def choices(item: ReviewItem) -> list[Choice]:
    """The answers of an item: letters for yes, no and unknown, digits in order for the rest."""
    digits = iter("123456789")
    return [
        Choice(
            answer, label_of(answer), LETTERS.get(answer) or next(digits, ""), answer in NEED_REASON
        )
        for answer in item.answers
    ]


class Queue(NamedTuple):
    """The items of one kind, or of all, in their order."""

    items: list[ReviewItem]
    """What is walked through."""
    kind: str
    """What they are about; empty for all."""

    @property
    def decided(self) -> int:
        """How many have an answer."""
        return sum(item.decided is not None for item in self.items)

    def place(self, item_id: str) -> int | None:
        """Where an item, or one that says the same, stands, from 0, also by the id that blind reviewers
        are not told; None where it does not."""
        names = {item_id, blind_id(item_id)}
        same = (n for n, item in enumerate(self.items) if names & {item.id, *item.repeats})
        return next(same, None)

    def next_open(self, after: int) -> ReviewItem | None:
        """The first item without an answer after a place, the beginning following the end: what was
        put off comes again when the others are done."""
        around = self.items[after + 1 :] + self.items[: after + 1]
        return next((item for item in around if item.decided is None), None)


def queue_of(items: Sequence[ReviewItem], kind: str) -> Queue:
    """The queue of a kind; of all for a word that is none."""
    kind = kind if kind in KINDS else ""
    return Queue([item for item in items if kind in {"", item.kind}], kind)

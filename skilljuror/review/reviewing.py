"""One reviewer's queue: its items, progress and next question; and untrusted text in passages."""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, get_args

from msgspec import Struct, field

from skilljuror.base.review import (
    Adjudication,
    ReviewDesk,
    ReviewItem,
    ReviewKind,
    blind_id,
)
from skilljuror.measures.agreement import Agreement

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


class Reviewing(Struct, frozen=True):
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


_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
"""Control, formatting and tag characters, which are invisible or reorder text."""


class Passage(NamedTuple):
    """A piece of a text."""

    text: str
    """Characters; a hidden one is spelled out, such as `\\u202e`."""
    marked: bool
    hidden: bool
    """Stands for an invisible character."""


def visible(text: str) -> str:
    """Spell out hidden characters."""
    return _HIDDEN.sub(_spelled, text)


def passages(text: str, marks: Iterable[tuple[int, int]]) -> list[Passage]:
    """Split a text; marks may overlap, touch, or exceed it."""
    pieces, end = [], 0
    for first, last in _merged(marks, len(text)):
        pieces += [(text[end:first], False), (text[first:last], True)]
        end = last
    pieces.append((text[end:], False))
    return [passage for piece, marked in pieces for passage in _cut(piece, marked)]


def _merged(marks: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted((max(begin, 0), min(end, length)) for begin, end in marks):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif begin < end:
            merged.append((begin, end))
    return merged


def _cut(text: str, marked: bool) -> Iterator[Passage]:
    end = 0
    for found in _HIDDEN.finditer(text):
        if plain := text[end : found.start()]:
            yield Passage(plain, marked, hidden=False)
        yield Passage(_spelled(found), marked, hidden=True)
        end = found.end()
    if plain := text[end:]:
        yield Passage(plain, marked, hidden=False)


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()

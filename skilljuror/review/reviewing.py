"""One reviewer's queue: its items, progress and next question; and untrusted text in passages."""

import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, get_args

from msgspec import Struct, field

from skilljuror.base.review import ADJUDICATIONS, ReviewItem, ReviewKind, blind_id

if TYPE_CHECKING:
    from skilljuror.review.desk import StudyDesk
    from skilljuror.review.labels import PairAgreement

KINDS: tuple[str, ...] = get_args(ReviewKind)
STATES = ("open", "decided")
LABELS = {
    "source_idiosyncrasy": "Source-inherited idiosyncrasy",
    "packaging_artifact": "Packaging artifact",
    "controlled_repair": "Controlled repair",
}
"""Labels that differ from the answer's name."""
LETTERS = {"yes": "y", "no": "n", "unknown": "u"}


class Reviewing(Struct, frozen=True):
    """Settings of a review session."""

    desk: "StudyDesk"
    reviewer: str
    """Name or pseudonym."""
    blind: bool
    """Hide the verdicts of gates and judges."""
    agreements: "Callable[[], Sequence[PairAgreement]]" = tuple
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
    keys = [LETTERS.get(answer) or next(digits, "") for answer in item.answers]
    return [
        Choice(answer, label_of(answer), key, answer in ADJUDICATIONS)
        for answer, key in zip(item.answers, keys, strict=True)
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
    """Characters; hidden ones are spelled out, such as `\\u202e`."""
    marked: bool
    hidden: bool
    """Stands for invisible characters."""


def visible(text: str) -> str:
    """Spell out hidden characters."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def passages(text: str, marks: Iterable[tuple[int, int]]) -> list[Passage]:
    """Split a text; marks may overlap, touch, or exceed it."""
    marked = {n for begin, end in marks for n in range(max(begin, 0), min(end, len(text)))}
    hidden = {found.start() for found in _HIDDEN.finditer(text)}
    kinds = groupby(range(len(text)), key=lambda n: (n in marked, n in hidden))
    pieces = [(kind, "".join(text[n] for n in places)) for kind, places in kinds]
    return [
        Passage(visible(piece) if is_hidden else piece, is_marked, is_hidden)
        for (is_marked, is_hidden), piece in pieces
    ]

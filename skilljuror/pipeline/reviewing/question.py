"""One question of the desk, with what its answer has to fit."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.models.review_queue import ReviewItem, ReviewText, blind_id

NOUNS = {"finding": "finding", "rubric": "rubric item", "uptake": "event"}


class Question(Struct, frozen=True):
    """A question for a person, as anybody would be asked it."""

    item: ReviewItem
    """What is asked, with all that the machine says."""
    seen: str
    """Digest of what it is about: an answer to another one is stale."""
    stores: dict[str, Path]
    """Id of the item and of each of its repeats -> the store that its answers go to."""


def blinded(item: ReviewItem) -> ReviewItem:
    """An item as a blind reviewer is asked it: without what the machine said, how much it suspects, and
    the names of build, variant and trial."""
    name = blind_id(item.id)
    return replace(
        item,
        id=name,
        title=f"{NOUNS[item.kind]} {name}",
        suspicion=0.0,
        texts=tuple(_unnamed(text) for text in item.texts),
        machine=None,
        repeats=tuple(map(blind_id, item.repeats)),
    )


def _unnamed(text: ReviewText) -> ReviewText:
    side, _, file = text.heading.partition(" · ")
    return replace(text, heading=f"{side if side == 'source' else 'variant'} · {file}")

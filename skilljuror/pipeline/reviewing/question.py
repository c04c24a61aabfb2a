"""One question of the desk, with what its answer has to fit."""

from pathlib import Path

from msgspec import Struct

from skilljuror.models.review_queue import ReviewItem


class Question(Struct, frozen=True):
    """A question for a person, as anybody would be asked it."""

    item: ReviewItem
    """What is asked, with all that the machine says."""
    seen: str
    """Digest of what it is about: an answer to another one is stale."""
    stores: dict[str, Path]
    """Id of the item and of each of its repeats -> the store that its answers go to."""

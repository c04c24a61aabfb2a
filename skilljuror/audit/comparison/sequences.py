"""Detect the order of titles, items and sentences that must be followed one after another."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

_COUNTED = re.compile(r"\W*(?:([^\W\d]+)\s+)?(\d{1,3}(?:\.\d{1,3}){0,3})(?![\w.]*[^\W\d])")
_PROCESS = re.compile(
    r"\b(?:workflow|process|procedure|protocol|pipeline|cycle|sequence|steps|step[- ]by[- ]step|phases"
    r"|stages|(?:in|following) (?:this |the (?:following )?)?order)\b",
    re.IGNORECASE,
)
_THEN = re.compile(
    r"\W*(?:then|next(?!\s+steps?\b)|finally|lastly|afterwards?|after (?:that|this|which))\b"
    r"(?![.-]\w)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_NAMED = 3  # minimum names in a title that determine the order below it: RED-GREEN-REFACTOR


def in_order(above: str, texts: Sequence[str]) -> list[bool]:
    """Return for each pair of neighbours whether the first must come first.

    `above` is the title or sentence above them. There is an order if `above` names a process or lists them,
    if both continue a count ("Step 2", "Step 3"; "1.", "2."), or if the second opens with "then", "finally"
    or the like.
    """
    process = bool(_PROCESS.search(above)) or _names_in_order(above, texts)
    return [
        process or _counts_on(before, after) or bool(_THEN.match(after))
        for before, after in pairwise(texts)
    ]


def _counts_on(before: str, after: str) -> bool:
    first, second = _count(before), _count(after)
    return first is not None and second is not None and first[0] == second[0] and first < second


@lru_cache(maxsize=1 << 12)
def _count(text: str) -> tuple[str, tuple[int, ...]] | None:
    match = _COUNTED.match(text)
    return match and ((match[1] or "").lower(), tuple(map(int, match[2].split("."))))


def _names_in_order(above: str, texts: Sequence[str]) -> bool:
    names = list(dict.fromkeys(word.lower() for word in _WORD.findall(above)))
    if not _NAMED <= len(names) <= len(texts):
        return False
    words = [{word.lower() for word in _WORD.findall(text)} for text in texts]
    places = [next((n for n, held in enumerate(words) if name in held), -1) for name in names]
    return places[0] >= 0 and all(a < b for a, b in pairwise(places))

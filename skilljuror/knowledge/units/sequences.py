"""Which things that a Skill tells one after another are to be done one after another."""

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
    r"\W*(?:then|next(?!\s+steps?\b)|finally|lastly|afterwards?|after (?:that|this|which))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_NAMED = 3
"""Names in a row from which a title tells the order of what stands below it: RED-GREEN-REFACTOR."""


def in_order(above: str, texts: Sequence[str]) -> list[bool]:
    """For each of some neighbours, titles or items, and the next one: whether it must come first.

    `above` is the title or the sentence that they stand below. It must where `above` speaks of a
    process or names them in a row, where both count on ("Step 2", "Step 3"; "1.", "2."), and where
    the next one opens with "then", "finally" and the like.
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
    """The word and the number that a title opens with."""
    match = _COUNTED.match(text)
    return match and ((match[1] or "").lower(), tuple(map(int, match[2].split("."))))


def _names_in_order(above: str, texts: Sequence[str]) -> bool:
    """Whether every word of a title stands in the texts below it, in the order of the title."""
    names = list(dict.fromkeys(word.lower() for word in _WORD.findall(above)))
    if not _NAMED <= len(names) <= len(texts):
        return False
    words = [{word.lower() for word in _WORD.findall(text)} for text in texts]
    places = [next((n for n, held in enumerate(words) if name in held), -1) for name in names]
    return places[0] >= 0 and all(a < b for a, b in pairwise(places))

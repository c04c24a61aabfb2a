"""Words of a text, and which of them are content words."""

import re
from collections.abc import Iterable

_SPACELESS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+")

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after again all also an and any are as at be because been before being both but by can
        could did do does doing done down each else every few first for from get had has have he here
        how i if in into is it its just last let like line lines make may me might more most must my
        need new next no not now of off on once one only or other our out over own per please same see
        set she should so some such than that the their them then there these they this those through
        to too two under until up us use used using very via was we were what when where which while
        who why will with within without would yes yet you your
        """,
    )
)
"""Words without a meaning of their own."""

WeightedFeature = tuple[str, int]
"""(feature, weight); see `extraction`."""


def tokenize(line: str) -> list[str]:
    """Return the lower-case words of a line; in scripts without spaces every character is one."""
    return _WORD.findall(line.lower())


def content_words(words: Iterable[str]) -> int:
    """Return the number of content words."""
    return sum(
        (len(word) > 2 or not word.isascii()) and word not in STOP_WORDS and not word.isdigit()
        for word in words
    )

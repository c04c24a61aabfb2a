"""Whether the words right after a run restate what it printed."""

from collections.abc import Iterable

from skilljuror.judge.features import STOP_WORDS, words_of

RESTATED = 2
"""Words of the output that the next words must share to have judged it."""

_ENDINGS = ("ing", "ed", "es", "s")


def stem(word: str) -> str:
    """A word without its commonest English ending."""
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def stems(lines: Iterable[str], generic: frozenset[str]) -> dict[str, str]:
    """The telling words of a text by their stems, each with the first line it stands on."""
    found: dict[str, str] = {}
    for line in lines:
        for word in words_of(line):
            if len(word) >= 4 and word not in STOP_WORDS and not word.isdigit():
                found.setdefault(stem(word), line)
    return {key: line for key, line in found.items() if key not in generic}

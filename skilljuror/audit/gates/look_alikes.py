"""Words with letters of another alphabet that look like Latin ones."""

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import name, normalize

_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u0432\u043d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0405\u0408"
    "\u03bf\u03b1\u03bd\u03b9\u03ba\u03c1\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4"
    "\u03a5\u03a7\u0585\u057d\u0578",
    "aeopcyxisjhdqwkmtbhABEKMHOPCTYXISJoavikpuABEZHIKMNOPTYXoun",
)
"""Cyrillic, Greek and Armenian letters."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_DRAWN = ("MATHEMATICAL", "FULLWIDTH")
"""Latin letters that are drawn otherwise, by the first word of their names."""


def look_alikes(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (1-based line, word, the Latin word that it looks like).

    A line with other letters of such an alphabet is written in it, and left alone.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.isascii():
            continue
        found = [(word, _folded(word)) for word in _WORD.findall(line) if not word.isascii()]
        if not any(_is_foreign(letter) for letter in line):
            yield from ((number, word, plain) for word, plain in found if plain.isascii())


def _folded(word: str) -> str:
    letters = (normalize("NFKC", one) if _kind(one) in _DRAWN else one for one in word)
    return "".join(letters).translate(_LATIN)


def _is_foreign(letter: str) -> bool:
    """Whether a letter of another alphabet looks like no Latin one."""
    foreign = letter.isalpha() and _kind(letter) in {"CYRILLIC", "GREEK", "ARMENIAN"}
    return foreign and not letter.translate(_LATIN).isascii()


@lru_cache(maxsize=1 << 12)
def _kind(letter: str) -> str:
    return "" if letter.isascii() else name(letter, "").partition(" ")[0]

"""Rank texts by a query, by the words that distinguish them (BM25).

Reference: Robertson, S., & Zaragoza, H. (2009). "The Probabilistic Relevance Framework: BM25 and
Beyond." Foundations and Trends in Information Retrieval 3(4).
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

SATURATION = 1.2
"""BM25's k1: saturation of repeated words."""
LENGTH = 0.75
"""BM25's b: discount of long texts."""

FUNCTION_WORDS = frozenset({
    "a", "about", "across", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "but", "by", "can", "could", "did", "do", "does", "each",
    "either", "else", "etc", "every", "for", "from", "had", "has", "have", "here", "how", "if",
    "in", "into", "is", "it", "its", "just", "may", "more", "most", "near", "no", "nor", "not",
    "of", "off", "on", "one", "only", "or", "other", "our", "out", "over", "own", "per", "same",
    "should", "since", "so", "some", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up",
    "upon", "us", "use", "used", "using", "very", "via", "was", "we", "were", "what", "when",
    "where", "whether", "which", "while", "who", "whose", "why", "will", "with", "within",
    "without", "would", "you", "your",
})  # fmt: skip
"""English words without specific meaning, which do not end a sentence."""

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")
_STEM = 3
"""Minimum letters of a stem."""


def stems(text: str) -> list[str]:
    """Return the stems of a text's specific words and numbers in order; names are split at humps."""
    words = _WORD.findall(_HUMP.sub(" ", text).casefold())
    return [_stem(word) for word in words if _tells(word)]


def _tells(word: str) -> bool:
    return word.isdigit() or (len(word) > 1 and word not in FUNCTION_WORDS)


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    fits = (one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= _STEM)
    return word.removesuffix(next(fits, ""))


class Ranking:
    """Texts by name, to be ranked by queries."""

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        """`texts` holds each text as its stems."""
        counted = {name: Counter(text) for name, text in texts.items()}
        sizes = {name: counts.total() for name, counts in counted.items()}
        mean = sum(sizes.values()) / max(1, len(sizes)) or 1.0
        self.names = tuple(counted)
        self._weights: dict[str, dict[str, float]] = defaultdict(dict)
        """Stem -> text -> contribution to its score."""
        for name, counts in counted.items():
            room = SATURATION * (1 - LENGTH + LENGTH * sizes[name] / mean)
            for stem, count in counts.items():
                self._weights[stem][name] = count * (SATURATION + 1) / (count + room)
        for held in self._weights.values():
            rarity = math.log(1 + (len(counted) - len(held) + 0.5) / (len(held) + 0.5))
            for name in held:
                held[name] *= rarity

    def scores(self, query: Iterable[str]) -> dict[str, float]:
        """Return name -> score of every text that shares a stem with the query; each stem counts once."""
        scores: dict[str, float] = defaultdict(float)
        for stem in dict.fromkeys(query):
            for name, weight in self._weights.get(stem, {}).items():
                scores[name] += weight
        return dict(scores)

    def rank(self, name: str, query: Iterable[str]) -> int | None:
        """Return the rank of a text for a query, ties last; None if it shares no stem with the query."""
        scores = self.scores(query)
        own = scores.get(name)
        return None if own is None else sum(score >= own for score in scores.values())

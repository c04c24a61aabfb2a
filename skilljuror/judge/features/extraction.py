"""Features of a line of text: names, paths, flags, numbers, settings, headings and phrases.

A feature is a string; its weight grows with the improbability of writing it without having seen the
text. Extraction is line by line and linear in the text.

    weight 3   enough alone: references/x.md, analyze_largest_component, 34648.04
    weight 2   needs a second sign: --dry-run, BASE_SHA, 4-digit numbers, "## When to Apply"
               a setting of two words with its value: "Cut-off: 3.5"
    weight 1   a four-word phrase, a short code span, a hyphenated word
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise

from skilljuror.judge.features.commands import commands
from skilljuror.judge.features.key_values import settings
from skilljuror.judge.features.tokenisation import (
    STOP_WORDS,
    WeightedFeature,
    content_words,
    tokenize,
)
from skilljuror.judge.features.values import COOCCURRENCE_PREFIX, normalised_value, value_position

PHRASE_WORDS = 4
"""Words of a phrase."""

ENTRY_PREFIX = "name:"
"""Prefix of the feature of an entry of a listing."""

HEADING_PREFIX = "## "
"""Prefix of the feature of a heading."""

DECISIVE_WEIGHT = 3
"""Weight of a feature that proves a use without a second one."""

CACHED_LINE_CHARS = 300
"""Characters of the longest line whose features are cached: many runs open the same resources."""

_MAX_TOKEN = 200
_TRAILING = ".:/+-\\@%"
_TOKEN = re.compile(r"-{0,2}[A-Za-z0-9_~./$@\\][A-Za-z0-9_./:@%+~$\\-]*")
_UNIT = r"(?:%|[kKMG]?[bB]|[kmcn]?m|px|ms|kg|s|x)"
_NUMBER = re.compile(rf"(?<![\w.])(\d+(?:,\d{{3}})*(?:\.\d+)?(?:[eE][+-]?\d+)?){_UNIT}?(?![\w])")
_SPAN = re.compile(r"`([^`\n]{1,80})`")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_EXTENSION = re.compile(r"[A-Za-z0-9_)-]\.[A-Za-z][A-Za-z0-9]{0,5}$")
_DIGEST = re.compile(r"[0-9a-f]{7,64}|[0-9A-F]{7,64}")
_INDENTED = re.compile(r"(?: {4}|\t)\s*[a-z]")
_HUMP = re.compile(r"([a-z])([A-Z])")
_LETTERS = re.compile(r"[a-z]{4,}")
_COMPANY_CHARS = 300
_HEADING = re.compile(r"\s*+(?:[+>*]\s*+)?#{1,6}\s+\S")


def features_of(line: str, code: bool, common: frozenset[str]) -> Iterable[WeightedFeature]:
    """Return (feature, weight) of everything by which a line can be recognised later.

    In `code`, a short line is a phrase as well; `common` are common tokens, in lower case, and values.
    """
    short = len(line) <= CACHED_LINE_CHARS
    return _cached_features(line, code, common) if short else _extract(line, code, common)


@lru_cache(maxsize=1 << 13)
def _cached_features(line: str, code: bool, common: frozenset[str]) -> tuple[WeightedFeature, ...]:
    return tuple(_extract(line, code, common))


def _extract(line: str, code: bool, common: frozenset[str]) -> Iterator[WeightedFeature]:
    words = tokenize(line)
    meaningful = _meaningful(words, common_word_pairs(common))
    for i in range(len(words) - PHRASE_WORDS + 1):
        if sum(meaningful[i : i + PHRASE_WORDS]) >= PHRASE_WORDS - 1:
            yield " ".join(words[i : i + PHRASE_WORDS]), 1
    for short in _short_phrases(line, words, code):
        if sum(_meaningful(short, common_word_pairs(common))) >= len(short) - 1:
            yield " ".join(short), len(short) - 1
    title = heading(line, words)
    if title and title not in common:
        yield title, min(len(words), 2)
    yield from settings(line)
    yield from names_and_numbers(line, common)
    yield from named_numbers(line, common)
    for piece in (line,) if code or _INDENTED.match(line) else _SPAN.findall(line):
        yield from commands(piece, common)


def _meaningful(words: list[str], common_pairs: frozenset[str]) -> list[bool]:
    """For each word, whether it is a content word outside common pairs."""
    meaningful = [content_words([word]) == 1 for word in words]
    for i in range(len(words) - 1):
        if f"{words[i]} {words[i + 1]}" in common_pairs:
            meaningful[i] = meaningful[i + 1] = False
    return meaningful


@lru_cache(maxsize=8)
def common_word_pairs(common: frozenset[str]) -> frozenset[str]:
    """Return pairs of successive words in common tokens: "show current" of --show-current."""
    tokens = (tokenize(token) for token in common)
    return frozenset(f"{a} {b}" for words in tokens for a, b in pairwise(words))


def _short_phrases(line: str, words: list[str], code: bool) -> Iterator[list[str]]:
    spans = [tokenize(span) for span in _SPAN.findall(line) if " " in span.strip()]
    return (short for short in (*spans, *([words] if code else ())) if len(short) in {2, 3})


def heading(line: str, words: list[str]) -> str | None:
    """Return the feature of a heading; None for other lines."""
    return HEADING_PREFIX + " ".join(words) if words and _HEADING.match(line) else None


def names_and_numbers(line: str, common: frozenset[str] = frozenset()) -> Iterator[WeightedFeature]:
    """Yield names, paths, flags and numbers of a line that are not common."""
    for token in tokens_of(line):
        yield from _name_features(token, common)
    for number in numbers(line):
        if normalised_value(number) not in common:
            yield from number_features(number)


def named_numbers(line: str, common: frozenset[str] = frozenset()) -> Iterator[WeightedFeature]:
    """Yield four-digit numbers with a word of the line: "ramp of 137.5" and MAX_RAMP = 137.5."""
    found = {
        feature
        for number in numbers(line)
        if normalised_value(number) not in common
        for feature, weight in number_features(number)
        if weight > 1
    }
    words = company(line) if found else ()
    yield from ((f"{number} {word}", 1) for number in sorted(found) for word in words)


def company(line: str) -> list[str]:
    """Return the words of a line, and of names in it, without a plural's ending."""
    apart = _HUMP.sub(r"\1 \2", line[:_COMPANY_CHARS]).lower()
    words = dict.fromkeys(word.removesuffix("s") for word in _LETTERS.findall(apart))
    return [word for word in words if word not in STOP_WORDS]


def tokens_of(line: str) -> list[str]:
    """Return the tokens of a line as written, each a word, path, flag or number."""
    return _TOKEN.findall(line)


def features_of_token(token: str, common: frozenset[str]) -> Iterator[str]:
    """Yield every feature by which one token can be recognised."""
    yield from (feature for feature, _ in _name_features(token, common))
    if "/" in token or "." in token:
        yield from inner_path_features(token)
        yield from _entry_features(token)


def _name_features(token: str, common: frozenset[str]) -> Iterator[WeightedFeature]:
    name = token.rstrip(_TRAILING)
    if 2 < len(name) <= _MAX_TOKEN and not _is_common(name.lower(), common):
        yield from _cached_token_features(name, common)


def numbers(line: str) -> list[str]:
    """Return the numbers of a line as written, without units."""
    return _NUMBER.findall(line)


def _is_common(token: str, common: frozenset[str]) -> bool:
    first, dot, _ = token.partition(".")
    return token in common or (bool(dot) and first + dot in common)


@lru_cache(maxsize=1 << 16)
def _cached_token_features(token: str, common: frozenset[str]) -> tuple[WeightedFeature, ...]:
    """The features of one token; cached, because texts repeat tokens."""
    return tuple(_token_features(token, common))


def _token_features(token: str, common: frozenset[str]) -> Iterator[WeightedFeature]:
    if token.startswith("--"):
        yield token, 2 if len(token) > 6 else 1
        return
    parts = [part for part in token.split("/") if part not in {"", ".", "..", "~"}]
    if len(parts) > 1:
        yield from _path_features(parts, common)
    for name in dict.fromkeys(part for part in parts[-2:] if part.lower() not in common):
        weight = name_weight(name)
        if weight:
            yield name, weight


def _path_features(parts: list[str], common: frozenset[str]) -> Iterator[WeightedFeature]:
    """The last two and three components, so that absolute and relative paths match."""
    tail = parts[-2:]
    if tail[-1].lower() in common and tail[0].lower() in common:
        return
    named = bool(_EXTENSION.search(tail[-1])) or any(map(name_weight, tail))
    if "/".join(tail).lower() in common:
        return
    yield "/".join(tail), 3 if named else 1
    if len(parts) > 2:
        yield "/".join(parts[-3:]), 2


def inner_path_features(path: str) -> Iterator[str]:
    """Yield each two and three successive components of a path, to match folders."""
    parts = [part for part in path.split("/") if part not in {"", ".", "..", "~"}]
    for i in range(len(parts) - 2):
        yield "/".join(parts[i : i + 2])
        yield "/".join(parts[i : i + 3])


def name_weight(name: str) -> int:
    """Return the weight of a name without slashes; 0 for a plain word or a number."""
    if not any(char.isalpha() for char in name) or len(name) < 4:
        return 0
    if "_" in name.strip("_") or _CAMEL.search(name):
        return 3 if len(name) >= 12 else 2
    if _EXTENSION.search(name):
        return 3 if len(name) >= 12 else 2
    hyphens = name.strip("-").count("-")
    if hyphens:
        return 2 if hyphens > 1 and len(name) >= 12 else 1
    return _opaque(name)


def _opaque(name: str) -> int:
    """Weight of a name of letters and digits without a pattern: a digest, an id."""
    digits = sum(char.isdigit() for char in name)
    if _DIGEST.fullmatch(name) and 2 <= digits <= len(name) - 2:
        return 3 if len(name) >= 12 else 2
    return 2 if digits and len(name) >= 8 else 0


@lru_cache(maxsize=1 << 14)
def number_features(text: str) -> tuple[WeightedFeature, ...]:
    """Return a number at four and at six significant digits, so that rounded values match."""
    return tuple(_number_features(text))


def _number_features(text: str) -> Iterator[WeightedFeature]:
    digits = text.replace(",", "").lower().partition("e")[0].replace(".", "").strip("0")
    if len(digits) < 4:
        if len(digits) == 3 or ("." in text and len(digits) == 2):
            yield f"#{float(text.replace(',', '')):g}", 1
        return
    value = float(text.replace(",", ""))
    yield f"#{value:.4g}", 1 if _is_year(text) else 2
    if len(digits) > 5:
        yield f"#{value:.6g}", 1


def is_number(feature: str) -> bool:
    """Whether a feature is a number."""
    return feature.startswith("#") and not is_heading(feature)


def is_heading(feature: str) -> bool:
    """Whether a feature is a heading."""
    return feature.startswith(HEADING_PREFIX)


def _is_year(text: str) -> bool:
    return len(text) == 4 and text[:2] in {"19", "20"}


def entry_feature(line: str) -> str | None:
    """Return the feature of the entry on a line of a listing."""
    entry = line.strip().rstrip("/*@|").rpartition(" ")[2]
    name = entry.rpartition("/")[2]
    if len(name) > 2 and any(char.isalpha() for char in name):
        return ENTRY_PREFIX + name
    return None


def entry_features(line: str) -> Iterator[str]:
    """Features of the entries that a line names: parts of paths, and names with an extension."""
    return chain.from_iterable(map(_entry_features, tokens_of(line)))


def _entry_features(token: str) -> Iterator[str]:
    path = token.rstrip(_TRAILING)
    if "/" in path or _EXTENSION.search(path):
        yield from (ENTRY_PREFIX + part for part in path.split("/") if part)


def position_of(line: str, feature: str) -> int:
    """Column of a feature on a line, from 0; 0 where it cannot be found."""
    if is_number(feature):
        feature = feature.split()[0]
        matches = _NUMBER.finditer(line)
        return next((m.start() for m in matches if feature in dict(number_features(m.group(1)))), 0)
    if feature.startswith(COOCCURRENCE_PREFIX):
        value = feature.split()[1]
        named = re.search(value.replace("_", "[_-]"), line, re.IGNORECASE)
        return named.start() if named and value[0].isalpha() else value_position(line, value)
    words = tokenize(feature.removeprefix(ENTRY_PREFIX))
    pattern = r"[\W_]{1,9}".join(map(re.escape, words))
    match = re.search(pattern, line, re.IGNORECASE)
    return match.start() if match else 0

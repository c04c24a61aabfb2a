"""Values: the normalised numbers, dates and times of a text, and how common each is."""

import math
import re
from collections.abc import Iterable

_VALUE = re.compile(
    r"(?<![\w.])((?>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:[.:/-]\d+)*))"
    r"(?>[A-Za-z]{1,3}|%)?(?!\w)"
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DIGIT_BITS = math.log2(10)

COOCCURRENCE_PREFIX = "together "
"""Prefix of the feature of co-occurring values: "together 3.5 22:00"."""

ValueOnLine = tuple[str, str]
"""(value, its line)."""


def values_of(line: str) -> list[str]:
    """Return the values of a line in order: "1,200 rows in 0.50 s at 22:00" has 1200, 0.5 and 22:00."""
    return [normalised_value(match.group(1)) for match in _VALUE.finditer(line)]


def normalised_value(written: str) -> str:
    """Return a value without thousands separators and trailing zeros: "1,200.50" is 1200.5."""
    plain = written.replace(",", "")
    return f"{float(plain):g}" if _NUMBER.fullmatch(plain) else written


def value_position(line: str, value: str) -> int:
    """Return the 0-based column of a value on a line; 0 if it is missing."""
    matches = _VALUE.finditer(line)
    return next((m.start() for m in matches if normalised_value(m.group(1)) == value), 0)


def without_list_marker(line: str) -> str:
    """Return a line without the number or sign of a list item."""
    mark = _ITEM.match(line)
    return line[mark.end() :] if mark else line


def surprise_bits(value: str) -> float:
    """Return the surprise of a value in bits without knowledge of the text: small and round ones are common.

    The first digit by Benford's law, every further significant digit one in ten, and one bit for
    each trailing zero and for not being a whole number.
    """
    digits = re.sub(r"\D", "", value.partition("e")[0])
    telling = digits.strip("0")
    if not telling:
        return 1.0
    first = -math.log2(math.log10(1 + 1 / int(telling[0])))
    zeros = len(digits) - len(digits.rstrip("0"))
    return first + _DIGIT_BITS * (len(telling) - 1) + zeros + (not value.isdigit())


def continued_counts(values: Iterable[str]) -> frozenset[str]:
    """Return numbers that continue two others by the same step or factor."""
    numbers = sorted((float(value), value) for value in values if _NUMBER.fullmatch(value))
    continued = set()
    for (a, _), (b, _), (c, value) in zip(numbers, numbers[1:], numbers[2:], strict=False):
        if math.isclose(c - b, b - a) or (a > 0 and math.isclose(c * a, b * b)):
            continued.add(value)
    return frozenset(continued)

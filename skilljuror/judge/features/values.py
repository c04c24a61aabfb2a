"""The numbers, dates and times of a text, in one spelling each, and how common each one is."""

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

TOGETHER = "together "
"""Starts the feature of values that stand together."""

Placed = tuple[str, str]
"""A value and the line on which it stands."""


def values(line: str) -> list[str]:
    """Values of a line in order: "1,200 rows in 0.50 s at 22:00" holds 1200, 0.5 and 22:00."""
    return [spelled(found.group(1)) for found in _VALUE.finditer(line)]


def spelled(written: str) -> str:
    """One spelling of a value, whatever its thousands and trailing zeros."""
    plain = written.replace(",", "")
    return f"{float(plain):g}" if _NUMBER.fullmatch(plain) else written


def place_of(line: str, value: str) -> int:
    """Where a value stands on a line; 0 where it does not."""
    hits = (found.start() for found in _VALUE.finditer(line) if spelled(found.group(1)) == value)
    return next(hits, 0)


def unnumbered(line: str) -> str:
    """A line without the number or sign of a list item."""
    mark = _ITEM.match(line)
    return line[mark.end() :] if mark else line


def plain_bits(value: str) -> float:
    """Surprise of a value when nothing is known of the text: small and round ones are common.

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


def counting_on(found: Iterable[str]) -> frozenset[str]:
    """Numbers that continue a count: the next after two others by the same step or factor."""
    numbers = sorted((float(value), value) for value in found if _NUMBER.fullmatch(value))
    on = set()
    for (a, _), (b, _), (c, value) in zip(numbers, numbers[1:], numbers[2:], strict=False):
        if math.isclose(c - b, b - a) or (a > 0 and math.isclose(c * a, b * b)):
            on.add(value)
    return frozenset(on)

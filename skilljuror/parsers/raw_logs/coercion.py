"""Tolerant access to the fields of foreign JSON: a wrong type reads as missing, never as an error."""

import math
from datetime import UTC, datetime
from typing import Any

import orjson

MAX_COUNT = 2**53
"""Numbers above this are no counts."""

_NUMBERS = (int, float)


def as_dict(value: Any) -> dict[str, Any]:
    """A JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def json_of(text: Any) -> Any:
    """The value of a JSON text; None for what is none."""
    try:
        return orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def nested(value: Any, *keys: str) -> Any:
    """What the keys lead to through one object after another; None where one is missing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def as_list(value: Any) -> list[Any]:
    """A JSON list, else an empty one."""
    return value if isinstance(value, list) else []


def as_str(value: Any) -> str | None:
    """A string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def as_count(value: Any) -> int | None:
    """A whole number that can count something, else None."""
    if value is None:
        return None
    if type(value) is int:
        return value if 0 <= value < MAX_COUNT else None
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if 0 <= value < MAX_COUNT else None


def as_int(value: Any) -> int | None:
    """A whole number, which may be negative as an exit status is, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_float(value: Any) -> float | None:
    """A finite number, else None."""
    if value is None or isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if math.isfinite(plain) else None


def remainder(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts; None when the total is unknown. Below zero it tells that the
    total did not hold the parts: what is computed from it takes 0 and counts a clamp."""
    return None if total is None else total - sum(part or 0 for part in parts)


def remainder_or_zero(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts; None when the total is unknown, never below zero."""
    if total is None:
        return None
    return max(0, total - sum(part or 0 for part in parts))


def as_epoch(value: Any) -> float | None:
    """Seconds since the epoch from ISO 8601 (no zone means UTC) or from a number of (milli)seconds."""
    if not isinstance(value, str):
        plain = as_float(value)
        return plain / 1000 if plain is not None and plain > 1e11 else plain
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None

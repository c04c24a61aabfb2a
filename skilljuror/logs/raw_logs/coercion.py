"""Tolerant access to fields of foreign JSON: a wrong type counts as missing, never as an error."""

import math
from datetime import UTC, datetime
from typing import Any

import orjson

MAX_COUNT = 2**53
"""Larger numbers are not valid counts."""


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def json_of(text: Any) -> Any:
    """Decode JSON text; None if it is invalid."""
    try:
        return orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def nested(value: Any, *keys: str) -> Any:
    """Follow keys through nested objects; None if one is missing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_str(value: Any) -> str | None:
    """A non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def as_count(value: Any) -> int | None:
    """A non-negative whole number, else None."""
    number = as_float(value)
    whole = number is not None and number.is_integer() and 0 <= value < MAX_COUNT
    return int(value) if whole else None


def as_int(value: Any) -> int | None:
    """A whole number (exit statuses may be negative), else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if math.isfinite(plain) else None


def remainder(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts; None if the total is unknown. Negative if the total does not
    include its parts, so that it says nothing."""
    return None if total is None else total - sum(part or 0 for part in parts)


def as_epoch(value: Any) -> float | None:
    """Seconds since the epoch from ISO 8601 (default zone UTC) or from (milli)seconds."""
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

"""Convert values of records to values of database columns, without loading the database."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // _MICROSECOND
_TOO_WIDE = 1 << 127
_LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - EPOCH) // _MICROSECOND


def epoch_microseconds(seconds: float | None) -> int | None:
    """Return seconds since the epoch as microseconds; None outside the calendar."""
    if seconds is None or not math.isfinite(seconds):
        return None
    whole = math.floor(seconds)
    microseconds = whole * _SECOND + round((seconds - whole) * _SECOND)
    return microseconds if _FIRST <= microseconds <= _LAST else None


def iso_microseconds(text: str | None) -> int | None:
    """An ISO 8601 time as microseconds since the epoch; the default zone is UTC."""
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return (aware - EPOCH) // _MICROSECOND


def map_value(mapping: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return a mapping as value of a DuckDB MAP, sorted by key."""
    keys = sorted(mapping)
    return {"key": keys, "value": [mapping[key] for key in keys]}


def line_ranges(lines: Iterable[tuple[int, int]] | None) -> list[dict[str, int]] | None:
    """Inclusive (first, last) pairs of 1-based lines as a list of structs, or None."""
    if lines is None:
        return None
    return [{"first": first, "last": last} for first, last in lines]


def without_misfits(value: Any) -> Any:
    """Return values, columns or dicts of them as DuckDB can bind them: invalid UTF-8 is replaced, an
    integer beyond the widest type becomes None."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return value if abs(value) < _TOO_WIDE else None
    if isinstance(value, dict):
        return {without_misfits(key): without_misfits(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [without_misfits(item) for item in value]
    return value

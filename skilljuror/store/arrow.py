"""Python values as Arrow columns of a table's own types, whatever a hostile log puts in."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from skilljuror.store.buffers import EPOCH, built


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """One column; a value that the type cannot hold is mended on the slow path only."""
    try:
        return built(values, kind)
    except (TypeError, OverflowError, UnicodeEncodeError, LookupError, AttributeError):
        mend = _mender(kind)
        return pa.array([mend(value) for value in values], type=kind)


def _mender(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes a value fit: lone surrogates are replaced, an integer out of range is null."""
    if pa.types.is_integer(kind):
        limit = 1 << (kind.bit_width - 1)
        return lambda value: value if value is None or -limit <= value < limit else None
    return _clean


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, tuple | list):
        return [_clean(item) for item in value]
    return value


def moment(seconds: float | None) -> datetime | None:
    """Seconds since the epoch as UTC without zone; None for what no calendar holds."""
    if seconds is None:
        return None
    try:
        return EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return None


def iso_moment(text: str | None) -> datetime | None:
    """An ISO 8601 time as UTC without zone; a time without a zone is taken as UTC."""
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(tzinfo=None)


def pairs(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    """A dict as Arrow's map entries, sorted."""
    return sorted(mapping.items())


def ranges(lines: Iterable[tuple[int, int]] | None) -> list[dict[str, int]] | None:
    """Line ranges as a list of structs."""
    if lines is None:
        return None
    return [{"first": first, "last": last} for first, last in lines]

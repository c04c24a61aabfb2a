"""Python values as Arrow columns of a table's own types, whatever a hostile log puts in."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from skilljuror.store.buffers import built


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

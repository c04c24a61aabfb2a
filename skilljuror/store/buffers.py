"""Arrow columns put together from their buffers.

`pyarrow.array` loads pandas the first time it is called, which costs more than a small ingest;
here values become buffers by hand. Whatever does not fit raises, and is then mended elsewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain
from struct import error as struct_error
from struct import pack
from typing import Any

import pyarrow as pa

Values = Sequence[Any]
_DIGITS = bytes.maketrans(b"\0\1", b"01")


def built(values: Values, kind: pa.DataType) -> pa.Array:
    """A column of one of the database's types.

    Raises TypeError, AttributeError, OverflowError or UnicodeError for a value that does not fit,
    LookupError for a type that is not known here.
    """
    return _BUILDERS[kind.id](values, kind)


def _valid(values: Values) -> pa.Buffer | None:
    """One bit per value; None where nothing is null."""
    return _bits([value is not None for value in values]) if None in values else None


def _bits(flags: Sequence[bool]) -> pa.Buffer:
    """Eight flags a byte, the first one lowest."""
    digits = bytes(map(bool, reversed(flags))).translate(_DIGITS)
    return pa.py_buffer(int(digits or b"0", 2).to_bytes((len(flags) + 7) // 8, "little"))


def _offsets(sizes: Iterable[int]) -> pa.Buffer:
    return _packed("i", list(accumulate(sizes, initial=0)))


def _packed(code: str, values: Values) -> pa.Buffer:
    """Numbers one after the other, as the machine keeps them."""
    try:
        return pa.py_buffer(pack(f"={len(values)}{code}", *values))
    except struct_error as problem:
        raise OverflowError(str(problem)) from problem


def _strings(values: Values, kind: pa.DataType) -> pa.Array:
    valid = _valid(values)
    known = values if valid is None else ["" if value is None else value for value in values]
    whole = "".join(known)
    sizes = map(len, known if whole.isascii() else map(str.encode, known))
    buffers = [valid, _offsets(sizes), pa.py_buffer(whole.encode())]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _booleans(values: Values, kind: pa.DataType) -> pa.Array:
    if not {*values} <= {True, False, None}:
        raise TypeError("a truth value is true, false or null")
    return pa.Array.from_buffers(kind, len(values), [_valid(values), _bits(values)])


def _numbers(code: str) -> Callable[[Values, pa.DataType], pa.Array]:
    def build(values: Values, kind: pa.DataType) -> pa.Array:
        valid = _valid(values)
        known = values if valid is None else [0 if value is None else value for value in values]
        return pa.Array.from_buffers(kind, len(values), [valid, _packed(code, known)])

    return build


def _lists(values: Values, kind: pa.DataType) -> pa.Array:
    sizes = [0 if value is None else len(value) for value in values]
    items = list(chain.from_iterable(value for value in values if value))
    child = built(items, kind.value_type)
    buffers = [_valid(values), _offsets(sizes)]
    return pa.Array.from_buffers(kind, len(values), buffers, children=[child])


def _structs(values: Values, kind: pa.DataType) -> pa.Array:
    children = [
        built([None if value is None else value[field.name] for value in values], field.type)
        for field in kind
    ]
    return pa.Array.from_buffers(kind, len(values), [_valid(values)], children=children)


def _maps(values: Values, kind: pa.DataType) -> pa.Array:
    sizes = [0 if value is None else len(value) for value in values]
    pairs = list(chain.from_iterable(value for value in values if value))
    entries = pa.StructArray.from_arrays(
        [
            built([key for key, _ in pairs], kind.key_type),
            built([value for _, value in pairs], kind.item_type),
        ],
        fields=[kind.key_field, kind.item_field],
    )
    buffers = [_valid(values), _offsets(sizes)]
    return pa.Array.from_buffers(kind, len(values), buffers, children=[entries])


_BUILDERS: dict[int, Callable[[Values, pa.DataType], pa.Array]] = {
    pa.string().id: _strings,
    pa.bool_().id: _booleans,
    pa.int32().id: _numbers("i"),
    pa.int64().id: _numbers("q"),
    pa.float64().id: _numbers("d"),
    pa.timestamp("us").id: _numbers("q"),
    pa.list_(pa.string()).id: _lists,
    pa.struct([]).id: _structs,
    pa.map_(pa.string(), pa.string()).id: _maps,
}

"""Results as files for other tools."""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from skilljuror.store.reader import Result


def to_parquet(result: Result) -> bytes:
    """A result as the bytes of a Parquet file; column types are those of its values."""
    names = _unique(result.columns)
    values = {name: [row[i] for row in result.rows] for i, name in enumerate(names)}
    buffer = io.BytesIO()
    pq.write_table(pa.table(values), buffer)
    return buffer.getvalue()


def _unique(names: tuple[str, ...]) -> list[str]:
    """Column names with a number behind every repeat: free SQL may name two alike."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found

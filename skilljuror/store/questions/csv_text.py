"""Rows as CSV that a spreadsheet shows and does not run."""

import csv
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from skilljuror.store import QueryResult

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a cell begins with that spreadsheets take for a formula."""
_END = "\r\n"
"""The end of a line as the writer is told it: with another one it would not quote a CR in a text,
behind which a spreadsheet begins a new row."""


def csv_text(found: QueryResult) -> str:
    """Header and rows. A null is an empty field and a number stays one; any other value that a
    spreadsheet would run as a formula gets a leading apostrophe."""
    lines: list[str] = []
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator=_END)
    writer.writerow(map(_cell, found.columns))
    writer.writerows(map(_cell, row) for row in found.rows)
    return "".join(line.removesuffix(_END) + "\n" for line in lines)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, int | float | Decimal):
        return value
    written = str(value)
    return f"'{written}" if written.startswith(_FORMULA) else written

"""Rows of a question as CSV or JSON text."""

import csv
import io
import json
from typing import Any


def as_csv(result: Any) -> str:
    """Header and rows; a null is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(["" if value is None else value for value in row] for row in result.rows)
    return text.getvalue()


def as_json(result: Any) -> str:
    """A list of objects; a null stays null."""
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    return json.dumps(rows, ensure_ascii=False, default=str) + "\n"

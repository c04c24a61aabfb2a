"""The committed report of the demo, and what a fresh one says otherwise."""

import csv
import re
from pathlib import Path

from tests.support.places import ROOT

REPORT = ROOT / "reports" / "demo"
MEASURED = re.compile(r"minutes|seconds|started|finished|isolation")
"""Columns that depend on machine and day."""
TIMES = {"minutes", "time", "agent_minutes", "time per pass"}
"""Units and measures of rows whose numbers do."""


def differing(fresh: Path) -> list[str]:
    """Names of the CSV files that only one of the two reports has, or that differ in what a run repeats."""
    names = {
        str(path.relative_to(folder))
        for folder in (REPORT, fresh)
        for path in folder.rglob("*.csv")
    }
    return sorted(name for name in names if _repeated(REPORT / name) != _repeated(fresh / name))


def _repeated(path: Path) -> list[tuple[str, ...]] | None:
    """The rows, with times left out; None without the file."""
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return [tuple(head), *(_without_times(head, row) for row in rows)]


def _without_times(head: list[str], row: list[str]) -> tuple[str, ...]:
    timed = not TIMES.isdisjoint(row)
    return tuple(
        "" if MEASURED.search(name) or (timed and _is_number(value)) else _rounded(value)
        for name, value in zip(head, row, strict=True)
    )


def _rounded(value: str) -> str:
    """A number without its last digits, which hang on the order in which rows were written."""
    return f"{float(value):.12g}" if "." in value and _is_number(value) else value


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) is not None

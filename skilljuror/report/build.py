"""The report of a study: one self-contained page, and a CSV for every table and figure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skilljuror.report.answers import Answers
from skilljuror.report.headline import Headline, headline
from skilljuror.report.page import write_page
from skilljuror.store.connect import open_read

CONDITION_COLUMNS = (
    "condition", "planned", "coverage", "strict_passes", "strict_rate", "mean_reward", "not_usable",
)  # fmt: skip
UNVERIFIED_COLUMNS = ("condition", "planned", "coverage", "points_share", "not_usable")
"""Without a verifier there is no reward."""
SKILL_COLUMNS = ("skill", "offered", "opened", "resources", "uses")
MOST_SKILLS = 12
"""Skills in the headline table of a pile of logs; the report has them all."""


@dataclass(frozen=True)
class ReportSummary:
    """The report's path and its headline."""

    path: Path
    """The HTML file."""
    title: str
    """The verdict in one sentence."""
    number: str
    """The difference with its interval; "" where none may be quoted."""
    meaning: str
    """What the number is, in one sentence; "" where none may be quoted."""
    columns: tuple[str, ...]
    """Columns of the headline table."""
    headline: tuple[tuple[Any, ...], ...]
    """Rows of the headline table: conditions, or skills where only logs were read."""
    observed: bool
    """True when the database holds logs only and no trials of a study."""
    scripted: bool
    """True when a scripted policy ran in any trial: no figure says anything about real agents."""


def build_report(database: Path, target: Path, *, quotes: bool = True) -> ReportSummary:
    """Write `target`/report.html, its tables and its figures; the same database gives the same
    bytes. With `quotes` false, no quote, preview or path from a log is written anywhere.

    Raises StoreError when the database cannot be read.
    """
    with open_read(database) as reader:
        answers = Answers(reader, quotes=quotes)
        first = headline(answers)
        path = write_page(answers, first, target)
        columns, rows = _first_table(answers, first)
    return ReportSummary(
        path,
        first.title,
        first.number,
        first.meaning,
        columns,
        rows,
        first.observed,
        first.scripted,
    )


def _first_table(
    answers: Answers, first: Headline
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    if first.observed:
        opened = [row for row in answers("skills_opened").records() if row["opened"]]
        return SKILL_COLUMNS, _rows(opened[:MOST_SKILLS], SKILL_COLUMNS)
    rows = answers("outcomes").records()
    verified = any(row["strict_passes"] is not None for row in rows)
    columns = CONDITION_COLUMNS if verified else UNVERIFIED_COLUMNS
    return columns, _rows(rows, columns)


def _rows(records: list[dict[str, Any]], columns: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row[name] for name in columns) for row in records)

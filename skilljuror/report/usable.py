"""Marks of computed tables: which planned trials of an arm figures may not use, as questions say it."""

from collections.abc import Iterable
from typing import Any

from skilljuror.report.answers import Answers
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import CONTRAST, NOT_USABLE


def contrast_mark(answers: Answers) -> str:
    """Why treatment or control is not whole; "" if both are."""
    return _mark(answers, map(answers.single("setup").get, CONTRAST))


def marked(
    answers: Answers, made: QueryResult, arms: tuple[str, ...], whole: tuple[str, ...]
) -> QueryResult:
    """Return a table with the column NOT_USABLE, which is the reason for its null columns in `whole`.

    `arms` are the columns that name the arms of a row, or "contrast".
    """
    return QueryResult(
        (*made.columns, NOT_USABLE), [_row(answers, row, arms, whole) for row in made.records()]
    )


def _row(
    answers: Answers, row: dict[str, Any], arms: tuple[str, ...], whole: tuple[str, ...]
) -> tuple[Any, ...]:
    mark = (
        contrast_mark(answers) if arms == ("contrast",) else _mark(answers, map(row.get, arms))
    ) or None
    if mark:
        reasons = {f"{name}_reason" for name in whole} & row.keys()
        row = row | dict.fromkeys(whole) | dict.fromkeys(reasons, mark)
    return (*row.values(), mark)


def _mark(answers: Answers, arms: Iterable[str | None]) -> str:
    words = {row["condition"]: row[NOT_USABLE] for row in answers("outcomes").records()}
    return "; ".join(filter(None, map(words.get, arms)))

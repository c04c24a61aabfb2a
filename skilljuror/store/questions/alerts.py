"""Conditions on the rows of an answer, for a job that tells somebody when one holds."""

import operator
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from skilljuror.base.errors import UsageError

OPERATORS = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "=": operator.eq,
}  # fmt: skip
_CONDITION = re.compile(
    rf"\s*(?P<column>\w+)\s*(?P<sign>{'|'.join(OPERATORS)})\s*(?:'(?P<text>[^']*)'|(?P<number>\S+))\s*"
)


class Alert(NamedTuple):
    """One condition: a column, an operator and a value."""

    words: str
    column: str
    sign: str
    value: float | str


def read_alert(words: str, columns: Sequence[str]) -> Alert:
    """Read `opened < 1` or `agent = 'codex'`. Raises UsageError with the columns or operators."""
    found = _CONDITION.fullmatch(words)
    number = found and found["number"]
    try:
        value = found["text"] if found and number is None else float(number or "")
    except ValueError:
        found = None
    if found is None:
        raise UsageError(
            f"--alert {words!r}: write COLUMN OPERATOR VALUE, such as 'opened < 1' or \"agent ="
            f" 'codex'\"; operators: {' '.join(OPERATORS)}",
            field="alert",
        )
    if found["column"] not in columns:
        raise UsageError(
            f"--alert {words!r}: the answer has no column {found['column']!r}; it has"
            f" {', '.join(columns)}",
            field="alert",
        )
    return Alert(words.strip(), found["column"], found["sign"], value)


def alarms(alert: Alert, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield a line for every row in which the condition holds, or cannot be told because of a null."""
    at = columns.index(alert.column)
    for row in rows:
        named = ", ".join(
            f"{name}={value}"
            for place, (name, value) in enumerate(zip(columns, row, strict=True))
            if isinstance(value, str) or place == at
        )
        if row[at] is None:
            yield f"{alert.words}: unknown, {alert.column} is null ({named})"
        elif _holds(alert, row[at]):
            yield f"{alert.words}: {named}"


def _holds(alert: Alert, found: Any) -> bool:
    """Raises UsageError for a text that is compared with a number."""
    value = alert.value
    if isinstance(value, str):
        found = str(found)
    elif isinstance(found, str):
        raise UsageError(
            f"--alert {alert.words!r}: {alert.column} is text, such as {found[:40]!r}; write the value in"
            " single quotes",
            field="alert",
        )
    return bool(OPERATORS[alert.sign](found, value))

"""The head of a .sql file as data."""

import re
from pathlib import Path
from typing import NamedTuple

from skilljuror.errors import QueryError

_ENTRY = re.compile(r"-- ([a-z]+|(?:column|null) [a-z0-9_]+): (\S.*)")
_CONTINUATION = re.compile(r"--   (\S.*)")


class Query(NamedTuple):
    """A named question: one SQL file that answers one thing people ask of a study."""

    name: str
    """File name without .sql."""
    question: str
    """What a person wants to know."""
    section: str
    """RQ1 to RQ4, overview or lists."""
    grain: str
    """What one row is."""
    columns: tuple[str, ...]
    """Names of the result's columns, in order."""
    params: dict[str, str | None]
    """Parameters with their defaults; None is null."""
    read: str
    """How to read the numbers; "" when nothing needs saying."""
    empty: str
    """What it means that there is no row, and how to get some; "" when nothing needs saying."""
    nulls: dict[str, str]
    """What it means that a column is null in every row, and how to get values."""
    definitions: dict[str, str]
    """What single columns are."""
    sql: str
    """The whole file."""


def read_query(path: Path) -> Query:
    """A question from its .sql file. Raises QueryError where the head of the file lacks an entry."""
    sql = path.read_text(encoding="utf-8")
    head = _head(sql)
    missing = [name for name in ("question", "section", "grain", "columns") if name not in head]
    if missing:
        raise QueryError(f"{path.name!r} has no line '-- {missing[0]}: …'")
    return Query(
        name=path.stem,
        question=head["question"],
        section=head["section"],
        grain=head["grain"],
        columns=tuple(_listed(head["columns"])),
        params=dict(map(_param, _listed(head.get("params", "")))),
        read=head.get("read", ""),
        empty=head.get("empty", ""),
        nulls=_of_columns(head, "null "),
        definitions=_of_columns(head, "column "),
        sql=sql,
    )


def _of_columns(head: dict[str, str], kind: str) -> dict[str, str]:
    """Column -> text of the entries of one kind."""
    return {name.removeprefix(kind): text for name, text in head.items() if name.startswith(kind)}


def _head(sql: str) -> dict[str, str]:
    """Names and texts of the leading comment lines; an indented line goes on with the last one."""
    entries: dict[str, str] = {}
    name = ""
    for line in sql.splitlines():
        if first := _ENTRY.fullmatch(line):
            name, entries[first[1]] = first[1], first[2]
        elif (more := _CONTINUATION.fullmatch(line)) and name:
            entries[name] += " " + more[1]
        elif not line.startswith("--"):
            break
    return entries


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _param(text: str) -> tuple[str, str | None]:
    name, _, default = text.partition("=")
    return name.strip(), None if default.strip() in {"", "null"} else default.strip()

"""Asking: a named question or free SQL, always on a locked connection."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from skilljuror.errors import QueryError
from skilljuror.files import replacement
from skilljuror.queries.catalog import Query, read_query
from skilljuror.store import QueryResult, Reader, open_read
from skilljuror.store.limits import UNLIMITED, Limits
from skilljuror.times import parse_time

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "QueryResult",
    "Reader",
    "Source",
    "catalog",
    "frame",
    "open_read",
    "parquet",
    "query",
    "run",
]

FOLDER = Path(__file__).parent
QUESTION_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A single word is meant as the name of a question; SQL has more."""

SINCE = "since"
"""A parameter of this name is a moment, written as people write it."""
TASKS = "tasks"
"""A parameter of this name is a list of tasks, with spaces between them; it limits the answer to them."""
NAMES_OF = {
    "build": "SELECT build FROM builds ORDER BY ALL",
    "condition": "SELECT condition FROM conditions ORDER BY position",
    "control": "SELECT condition FROM conditions ORDER BY position",
    "judge": "SELECT DISTINCT judge FROM verdicts ORDER BY ALL",
    "metric": "SELECT DISTINCT metric FROM measures ORDER BY ALL",
    "run": "SELECT run FROM all_runs ORDER BY ALL",
    "skill": "SELECT skill FROM events UNION SELECT regexp_extract(skill, '[^:]*$') FROM events"
    " UNION SELECT skill FROM offered UNION SELECT regexp_extract(skill, '[^:]*$') FROM offered"
    " UNION SELECT unnest(skills) FROM variants ORDER BY ALL",
    "status": "SELECT DISTINCT status FROM sources ORDER BY ALL",
    "task": "SELECT task FROM tasks ORDER BY ALL",
    "treatment": "SELECT condition FROM conditions ORDER BY position",
    "trial": "SELECT run FROM all_runs UNION SELECT trial FROM verdicts ORDER BY ALL",
    "variant": "SELECT DISTINCT variant FROM variants ORDER BY ALL",
    "with": "SELECT condition FROM conditions ORDER BY position",
}
"""A parameter of this name names one of these; where there is none at all, the answer is empty."""
TYPES = {
    "BIGINT": "a whole number",
    "BOOLEAN": "true or false",
    "DATE": "a date, such as 2026-03-05",
    "DOUBLE": "a number, such as 0.5",
    "INTEGER": "a whole number",
}
"""Types that the SQL of a question casts its parameters to."""
_CAST = re.compile(rf"CAST\(\$(\w+) AS ({'|'.join(TYPES)})\)")
MOST_NAMES = 60
"""Names that a message lists."""

Source = Path | str | Reader
"""A database file, or a view of one that is open already."""


@lru_cache(maxsize=1)
def _queries() -> dict[str, Query]:
    return {path.stem: read_query(path) for path in sorted(FOLDER.glob("*.sql"))}


def catalog() -> list[Query]:
    """Every named question, sorted by name."""
    return list(_queries().values())


def query(name: str) -> Query:
    """One named question. Raises QueryError with the names that exist."""
    named = _queries().get(name)
    if named is None:
        near = get_close_matches(name.lower().replace("-", "_"), _queries(), n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(_queries())
        raise QueryError(f"unknown question {name!r}; {guess}choose one of {names}, or write SQL")
    return named


def remarks_on(question: str, answer: QueryResult) -> list[str]:
    """Return sentences on what is missing in an answer and how to get it: no row, or
    no value in a column. None for SQL.

    Raises QueryError for an unknown question.
    """
    if QUESTION_NAME.fullmatch(question) is None:
        return []
    named = query(question)
    if not answer.rows:
        return [named.empty] if named.empty else []
    return [
        f"{column} is empty: {text}"
        for place, column in enumerate(answer.columns)
        if (text := named.nulls.get(column)) and all(row[place] is None for row in answer.rows)
    ]


def run(source: Source, question: str, **params: Any) -> QueryResult:
    """The answer to a named question, or to SQL: whatever is not a single word.

    `source` is a database file or an open Reader. Raises QueryError, StoreError.
    """
    with _reader(source) as reader:
        sql, bound = _prepared(reader, question, params)
        return reader.rows(sql, bound)


def frame(source: Source, question: str, **params: Any) -> "pd.DataFrame":
    """The answer as a pandas DataFrame. Raises as `run`."""
    with _reader(source) as reader:
        sql, bound = _prepared(reader, question, params)
        return reader.frame(sql, bound)


def parquet(
    database: Path, question: str, out: Path | BinaryIO, limits: Limits = UNLIMITED, **params: Any
) -> int:
    """Write the answer as Parquet, whole or not at all and with the database's own types, and return
    its number of rows. `out` is a file's path or an open stream. Raises as `run`."""
    with TemporaryDirectory() as folder:  # DuckDB writes to no path that is not UTF-8
        rows = Path(folder, "rows.parquet")
        with open_read(database, limits, rows) as reader:
            sql, bound = _prepared(reader, question, params)
            count = reader.to_parquet(sql, bound)
        if isinstance(out, Path):
            out.parent.mkdir(parents=True, exist_ok=True)
            with replacement(out) as new:
                shutil.copyfile(rows, new)
        else:
            out.write(rows.read_bytes())
        return count


def _prepared(reader: Reader, question: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if QUESTION_NAME.fullmatch(question) is None:
        return question, params
    named = query(question)
    unknown = sorted(set(params) - set(named.params))
    if unknown:
        valid = ", ".join(named.params) or "none"
        raise QueryError(f"question {question!r} has no parameter {unknown[0]!r}; it has: {valid}")
    given = {name: value for name, value in params.items() if value is not None}
    for name, choices in named.choices.items():
        if given.get(name, choices[0]) not in choices:
            valid = " or ".join(map(str, choices))
            raise QueryError(f"parameter {name} is {str(given[name])!r}; use {valid}")
    for name in given.keys() & NAMES_OF.keys():
        _check_name(reader, name, str(given[name]))
    for name, kind in sorted(set(_CAST.findall(named.sql))):
        if name in given:
            _check_type(reader, name, kind, given[name])
    for task in str(given.get(TASKS, "")).split():
        _check_name(reader, "task", task)
    if since := given.get(SINCE):
        given[SINCE] = _utc(str(since))
    return named.sql, {**named.params, **given}


def _check_name(reader: Reader, param: str, value: str) -> None:
    """Raise QueryError where nothing has this name, and something has another."""
    there = [str(row[0]) for row in reader.rows(NAMES_OF[param], {}).rows]
    if not there or value in there:
        return
    near = get_close_matches(value, there, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    more = f" and {len(there) - MOST_NAMES} more" if len(there) > MOST_NAMES else ""
    raise QueryError(
        f"{param} {value!r} is not in this study; {guess}it has {', '.join(there[:MOST_NAMES])}{more}"
    )


def _check_type(reader: Reader, param: str, kind: str, value: Any) -> None:
    """Raise QueryError where a value is not of the type that the SQL casts it to."""
    ((cast,),) = reader.rows(f"SELECT TRY_CAST($value AS {kind})", {"value": value}).rows
    if cast is None:
        raise QueryError(f"parameter {param} is {str(value)!r}; use {TYPES[kind]}")


def _utc(since: str) -> str:
    try:
        return parse_time(since).astimezone(UTC).replace(tzinfo=None).isoformat()
    except ValueError as error:
        raise QueryError(f"{SINCE} {error}") from error


@contextmanager
def _reader(source: Source) -> Iterator[Reader]:
    if isinstance(source, Reader):
        yield source
        return
    with open_read(Path(source)) as reader:
        yield reader

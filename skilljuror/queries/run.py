"""Asking: a named question or free SQL, always on a locked connection."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skilljuror.errors import QueryError
from skilljuror.queries.catalog import Query, read_query
from skilljuror.store import QueryResult, Reader, open_read

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


def meaning_of_no_rows(question: str) -> str:
    """What an answer without rows says, in a sentence for people; "" for SQL and where that is plain.

    Raises QueryError for an unknown question.
    """
    return query(question).empty if QUESTION_NAME.fullmatch(question) else ""


def run(source: Source, question: str, **params: Any) -> QueryResult:
    """The answer to a named question, or to SQL: whatever is not a single word.

    `source` is a database file or an open Reader. Raises QueryError, StoreError.
    """
    sql, bound = _prepared(question, params)
    with _reader(source) as reader:
        return reader.rows(sql, bound)


def frame(source: Source, question: str, **params: Any) -> "pd.DataFrame":
    """The answer as a pandas DataFrame, with the database's own types. Raises as `run`."""
    sql, bound = _prepared(question, params)
    with _reader(source) as reader:
        answer: pd.DataFrame = reader.arrow(sql, bound).to_pandas()
    return answer


def parquet(source: Source, question: str, path: Path, **params: Any) -> int:
    """Write the answer to a Parquet file, with the database's own types, and return its number of
    rows. Raises as `run`."""
    sql, bound = _prepared(question, params)
    with _reader(source) as reader:
        return reader.to_parquet(sql, path, bound)


def _prepared(question: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if QUESTION_NAME.fullmatch(question) is None:
        return question, params
    named = query(question)
    unknown = sorted(set(params) - set(named.params))
    if unknown:
        valid = ", ".join(named.params) or "none"
        raise QueryError(f"question {question!r} has no parameter {unknown[0]!r}; it has: {valid}")
    return named.sql, {**named.params, **params}


@contextmanager
def _reader(source: Source) -> Iterator[Reader]:
    if isinstance(source, Reader):
        yield source
        return
    with open_read(Path(source)) as reader:
        yield reader

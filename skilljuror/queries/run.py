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
from skilljuror.store import Reader, Result, open_read

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Reader", "Result", "Source", "catalog", "frame", "open_read", "parquet", "query", "run"]

FOLDER = Path(__file__).parent
NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A single word is meant as the name of a question; SQL has more."""

Source = Path | str | Reader


@lru_cache(maxsize=1)
def _queries() -> dict[str, Query]:
    return {path.stem: read_query(path) for path in sorted(FOLDER.glob("*.sql"))}


def catalog() -> list[Query]:
    """Every named question, sorted by name."""
    return list(_queries().values())


def query(name: str) -> Query:
    """One named question. Raises QueryError with the names that exist."""
    found = _queries().get(name)
    if found is None:
        near = get_close_matches(name.lower().replace("-", "_"), _queries(), n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(_queries())
        raise QueryError(f"unknown question {name!r}; {guess}choose one of {names}, or write SQL")
    return found


def means(question: str) -> str:
    """What it means that a question has no answer; "" for SQL, and where nothing needs saying."""
    return query(question).empty if NAME.fullmatch(question) else ""


def run(source: Source, question: str, **params: Any) -> Result:
    """The answer to a named question, or to SQL: whatever is not a single word.

    `source` is a database file or an open Reader. Raises QueryError, StoreError.
    """
    sql, bound = _prepared(question, params)
    with _reader(source) as reader:
        return reader.rows(sql, bound)


def frame(source: Source, question: str, **params: Any) -> "pd.DataFrame":
    """The same as a pandas DataFrame, with the database's own types."""
    sql, bound = _prepared(question, params)
    with _reader(source) as reader:
        found: pd.DataFrame = reader.arrow(sql, bound).to_pandas()
    return found


def parquet(source: Source, question: str, path: Path, **params: Any) -> int:
    """Write the answer to a Parquet file, with the database's own types; the number of rows."""
    sql, bound = _prepared(question, params)
    with _reader(source) as reader:
        return reader.to_parquet(sql, path, bound)


def _prepared(question: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if NAME.fullmatch(question) is None:
        return question, params
    found = query(question)
    unknown = sorted(set(params) - set(found.params))
    if unknown:
        valid = ", ".join(found.params) or "none"
        raise QueryError(f"question {question!r} has no parameter {unknown[0]!r}; it has: {valid}")
    return found.sql, {**found.params, **params}


@contextmanager
def _reader(source: Source) -> Iterator[Reader]:
    if isinstance(source, Reader):
        yield source
        return
    with open_read(Path(source)) as reader:
        yield reader

"""Reading: rows, frames and Parquet files from a locked connection."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import duckdb

from skilljuror.base.errors import QueryError, StoreError
from skilljuror.store.limits import UNLIMITED, Limits, held_memory

if TYPE_CHECKING:
    import pandas as pd

Params = Mapping[str, Any] | None
Answer = TypeVar("Answer")
_INTERRUPTED = "Query interrupted"
"""DuckDB's message for a signal during a query."""
_NO_ROOM = {
    "No space left on device": "No space left on device",
    "Disk quota exceeded": "Disk quota exceeded",
    "File too large": "File too large",
    "bad allocation": "out of memory",
}
"""DuckDB's messages for a full disk or memory, and the reason that is reported."""
_POLL_SECONDS = 0.05
"""Seconds between two attempts to interrupt a query."""
_ROWS_AT_ONCE = 10_000
"""Rows fetched between two checks of the memory."""
_GRACE_SECONDS = 2.0
"""Seconds until a query that ignores interrupts, inside one long function, is abandoned."""


class QueryResult(NamedTuple):
    """All rows of one query."""

    columns: tuple[str, ...]
    """Names of the columns."""
    rows: list[tuple[Any, ...]]
    """The rows, values in the order of the columns."""

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Reader:
    """A locked view of one database. All rows are fetched at once, because a partly read result keeps
    DuckDB's connection busy."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        path: Path,
        limits: Limits = UNLIMITED,
        target: str = "",
    ) -> None:
        self._connection = connection
        self._target = target
        self.path = path
        """The database file."""
        self.limits = limits
        """Limits of every question."""

    def rows(self, sql: str, params: Params = None) -> QueryResult:
        """Run one statement with bound parameters. Raises QueryError, and StoreError for a damaged file."""
        with self._cursor() as cursor:
            _one_statement(cursor, sql)
            answer = _run_interruptibly(
                cursor,
                lambda: _fetched(cursor.execute(sql, _parameters(params)), self.limits),
                self.limits,
            )
            columns = tuple(column[0] for column in _description(cursor))
            return QueryResult(columns, answer)

    def frame(self, sql: str, params: Params = None) -> "pd.DataFrame":
        """Return the same rows as a pandas DataFrame. Raises as `rows`."""
        with self._cursor() as cursor:
            _one_statement(cursor, sql)
            answer: pd.DataFrame = _run_interruptibly(
                cursor,
                lambda: _relation(cursor.sql(sql, params=_parameters(params))).df(),
                self.limits,
            )
            return answer

    def to_parquet(self, sql: str, params: Params = None) -> int:
        """Write the rows of a query to `target` as Parquet, and return their number. Raises as `rows`."""
        with self._cursor() as cursor:
            copy = (
                f"COPY (\n{_select(cursor, sql)}\n) TO {quoted(self._target)}"
                " (FORMAT parquet, USE_TMP_FILE false)"
            )
            ((count,),) = _run_interruptibly(
                cursor,
                lambda: cursor.execute(copy, _parameters(params)).fetchall(),
                self.limits,
            )
            return int(count)

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._connection.cursor()
        try:
            with duckdb_interrupts_raised():
                yield cursor
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise self.limits.too_big() from error
        except (duckdb.IOException, duckdb.FatalException, duckdb.InternalException) as error:
            raise _unreadable(self.path, error) from error
        except duckdb.Error as error:
            raise QueryError(_one_line(error)) from error
        finally:
            close(cursor)


def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection, unless an abandoned query still uses it."""
    with suppress(duckdb.ResourceInUseException):
        connection.close()


@contextmanager
def duckdb_interrupts_raised() -> Iterator[None]:
    """Raise DuckDB's RuntimeError for Ctrl-C as KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from error
        raise


def _run_interruptibly(
    cursor: duckdb.DuckDBPyConnection, work: Callable[[], Answer], limits: Limits = UNLIMITED
) -> Answer:
    """Run `work`, a query on `cursor`, in a thread of its own and return its answer.

    Ctrl-C stops it at once, even before the query has begun, when DuckDB would ignore it. Raises the
    errors of `work`, and QueryError for a timeout.
    """
    call = _BackgroundCall(work)
    try:
        call.start()
        if not call.ended.wait(limits.seconds):
            raise limits.too_slow()
    except (KeyboardInterrupt, QueryError):
        _interrupt(cursor, call)
        raise
    call.join()
    if call.error is not None:
        raise call.error
    return call.answer[0]


def _interrupt(cursor: duckdb.DuckDBPyConnection, call: "_BackgroundCall[Any]") -> None:
    until = monotonic() + _GRACE_SECONDS
    while call.started and not call.ended.wait(_POLL_SECONDS) and monotonic() < until:
        cursor.interrupt()


class _BackgroundCall(Thread, Generic[Answer]):
    """Call a function in a thread of its own and store its answer or error."""

    def __init__(self, work: Callable[[], Answer]) -> None:
        super().__init__(daemon=True, name="answer")
        self.work = work
        self.started = False
        self.ended = Event()
        self.answer: list[Answer] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function."""
        self.started = True
        try:
            self.answer.append(self.work())
        except BaseException as error:  # noqa: BLE001  raised by the thread that waits
            self.error = error
        finally:
            self.ended.set()


def _fetched(cursor: duckdb.DuckDBPyConnection, limits: Limits) -> list[tuple[Any, ...]]:
    """Return all rows. Raises MemoryError above the limit; DuckDB counts only its own memory."""
    if limits.memory is None:
        return cursor.fetchall()
    most = held_memory() + limits.memory
    rows: list[tuple[Any, ...]] = []
    while some := cursor.fetchmany(_ROWS_AT_ONCE):
        rows += some
        if held_memory() > most:
            raise MemoryError
    return rows


def _one_statement(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise unless there is one statement; DuckDB would run all and return only the last answer."""
    count = len(cursor.extract_statements(sql))
    if count == 0:
        raise _no_rows()
    if count > 1:
        raise QueryError(f"this is {count} SQL statements; write one SELECT statement")


def _select(cursor: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return one SELECT statement without the final semicolon, for use in parentheses."""
    _one_statement(cursor, sql)
    if cursor.extract_statements(sql)[0].type != duckdb.StatementType.SELECT:
        raise QueryError("only a SELECT statement can be written as Parquet; write one")
    text = sql.encode()
    tokens = [at for at, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
    while text[tokens[-1] :].startswith(b";"):
        text = text[: tokens.pop()]
    return text.decode()


def _relation(relation: duckdb.DuckDBPyRelation | None) -> duckdb.DuckDBPyRelation:
    if relation is None:
        raise _no_rows()
    return relation


def quoted(text: str) -> str:
    """Return a text as SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def no_room(path: Path, error: Exception) -> StoreError | None:
    """Return the error for a full disk or memory; None for another cause."""
    reason = next((text for words, text in _NO_ROOM.items() if words in str(error)), None)
    if reason is None:
        return None
    return StoreError(
        f"{reason}: cannot write the database {str(path)!r}; free disk space and rerun the command",
        file=str(path),
    )


def _unreadable(path: Path, error: Exception) -> StoreError:
    return no_room(path, error) or StoreError(
        f"the database {str(path)!r} cannot be read ({_one_line(error)}): delete it and run"
        " `skilljuror ingest` again to regenerate it from its sources",
        file=str(path),
    )


def _parameters(params: Params) -> dict[str, Any] | None:
    return dict(params) if params else None


def _description(cursor: duckdb.DuckDBPyConnection) -> list[Any]:
    if not cursor.description:
        raise _no_rows()
    return cursor.description


def _no_rows() -> QueryError:
    return QueryError("the SQL returns no rows; write one SELECT statement")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]

"""Reading: rows, Arrow tables and Parquet files from a locked connection."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import duckdb

from skilljuror.errors import QueryError, StoreError
from skilljuror.files import replacement
from skilljuror.store.limits import UNLIMITED, Limits, held_memory

if TYPE_CHECKING:  # pyarrow loads numpy: only who asks for Arrow waits for it
    import pyarrow as pa

Params = Mapping[str, Any] | None
Answer = TypeVar("Answer")
_INTERRUPTED = "Query interrupted"
"""DuckDB's own words for a signal that came while this thread was in it."""
_NO_ROOM = {
    "No space left on device": "No space left on device",
    "Disk quota exceeded": "Disk quota exceeded",
    "File too large": "File too large",
    "bad allocation": "out of memory",
}
"""What DuckDB says when disk or memory is full, and how it is told."""
_POLL_SECONDS = 0.05
"""Seconds between two attempts to interrupt a query."""
_ROWS_AT_ONCE = 10_000
"""Rows fetched between two looks at the memory that they take."""
_GRACE_SECONDS = 2.0
"""Seconds until a query that no interrupt reaches, inside one long function, is left to itself."""


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
    """A locked view of one database. Everything is fetched at once: DuckDB keeps a
    connection busy while a result is half read."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, path: Path, limits: Limits = UNLIMITED
    ) -> None:
        self._connection = connection
        self.path = path
        """The database file."""
        self.limits = limits
        """Limits of every question."""

    def rows(self, sql: str, params: Params = None) -> QueryResult:
        """Run one statement with bound parameters. Raises QueryError, and StoreError for damage."""
        with self._cursor() as cursor:
            _one_statement(cursor, sql)
            answer = _run_interruptibly(
                cursor,
                lambda: _fetched(cursor.execute(sql, _parameters(params)), self.limits),
                self.limits,
            )
            columns = tuple(column[0] for column in _description(cursor))
            return QueryResult(columns, answer)

    def arrow(self, sql: str, params: Params = None) -> "pa.Table":
        """The same rows as an Arrow table. Raises as `rows`."""
        with self._cursor() as cursor:
            _one_statement(cursor, sql)
            return _run_interruptibly(
                cursor,
                lambda: _table(cursor.sql(sql, params=_parameters(params))),
                self.limits,
            )

    def to_parquet(self, sql: str, path: Path, params: Params = None) -> int:
        """Write the rows of a query to a Parquet file, whole or not at all, and return their number.

        pyarrow writes it, since a locked connection refuses COPY.
        """
        import pyarrow.parquet as pq

        table = self.arrow(sql, params)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path) as new, new.open("wb") as file:
            pq.write_table(table, file)
        return int(table.num_rows)

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
    """Close a connection, unless a query that no interrupt reached is still on it."""
    with suppress(duckdb.ResourceInUseException):
        connection.close()


@contextmanager
def duckdb_interrupts_raised() -> Iterator[None]:
    """A Ctrl-C that DuckDB notices itself and turns into a RuntimeError is a KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from error
        raise


def _run_interruptibly(
    cursor: duckdb.DuckDBPyConnection, work: Callable[[], Answer], limits: Limits = UNLIMITED
) -> Answer:
    """The answer of `work`, a query on `cursor` that a thread of its own waits for.

    A Ctrl-C stops it at once, also one that comes before the query has begun, which DuckDB would
    forget. Raises what `work` raises, and QueryError when its time is over.
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
    """Calls a function in a thread of its own and keeps its answer or its error."""

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
    """All rows. Raises MemoryError when they take more than their limit: DuckDB counts only what
    it needs itself."""
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
    """DuckDB would run them all and answer the last alone."""
    count = len(cursor.extract_statements(sql))
    if count == 0:
        raise _no_rows()
    if count > 1:
        raise QueryError(f"this is {count} SQL statements; write one SELECT statement")


def _table(relation: duckdb.DuckDBPyRelation | None) -> "pa.Table":
    if relation is None:
        raise _no_rows()
    return relation.to_arrow_table()


def no_room(path: Path, error: Exception) -> StoreError | None:
    """What to say where disk or memory is full; None where that was not the trouble."""
    reason = next((told for words, told in _NO_ROOM.items() if words in str(error)), None)
    if reason is None:
        return None
    return StoreError(
        f"{reason}: cannot write the database {str(path)!r}; make room, then run the same command"
        " again: what is in it is kept",
        file=str(path),
    )


def _unreadable(path: Path, error: Exception) -> StoreError:
    return no_room(path, error) or StoreError(
        f"the database {str(path)!r} cannot be read ({_one_line(error)}): delete it and run"
        " `skilljuror ingest` again, which makes it anew from its sources",
        file=str(path),
    )


def _parameters(params: Params) -> dict[str, Any] | None:
    return dict(params) if params else None


def _description(cursor: duckdb.DuckDBPyConnection) -> list[Any]:
    if not cursor.description:
        raise _no_rows()
    return cursor.description


def _no_rows() -> QueryError:
    return QueryError("the SQL gives no rows; write one SELECT statement")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]

"""The database: its schema, one writer or locked readers, and its replacement by one of this version.

There are no migrations: ingest regenerates a database of another schema from its sources.
"""

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
from msgspec.structs import replace

from skilljuror.base.errors import InUseError, QueryError, StoreError, UsageError
from skilljuror.base.files import StudyFolder, sha256, write_atomic
from skilljuror.base.object_store import address, filesystem, name_for_duckdb, paths_at
from skilljuror.base.results import UptakeCategory
from skilljuror.base.skill import CONTENT_KINDS
from skilljuror.base.texts import HOUR_WRITE, PRICES, plain_model
from skilljuror.store.records import MeasureOptions, keeps_quotes
from skilljuror.store.writer import RUN_TABLES, Store

if TYPE_CHECKING:
    import pandas as pd

Params = Mapping[str, Any] | None
Config = dict[str, str | bool | int | float | list[str]]
_LOCK: Config = {"enable_external_access": "false", "lock_configuration": "true"}
_LOCKED: Config = {
    **_LOCK,
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""No other file, no extension, no network, and no statement that could allow them again."""
_READ_ONLY: Config = {**_LOCKED, "threads": 1}
"""One thread adds numbers in a fixed order, so that answers are reproducible to the last digit."""
_MAGIC = slice(8, 12)
PART = 20_000
"""Most rows of a part of an answer."""
_RETRY_SECONDS = 0.1
_INTERRUPTED = "Query interrupted"
"""DuckDB's message for a signal during a query."""
_NO_ROOM = {
    "No space left on device": "No space left on device",
    "Disk quota exceeded": "Disk quota exceeded",
    "File too large": "File too large",
    "bad allocation": "out of memory",
}
"""DuckDB's messages for a full disk or memory, and the reason that is reported."""

_PRICES = [
    (plain_model(one.model), one.input, one.cache_write, HOUR_WRITE * one.input, one.cache_read)
    for one in PRICES
]
_NOT_OPEN = [one for one in UptakeCategory if one.label == "unknown" and not one.open]
SQL = (
    Path(__file__)
    .with_name("schema.sql")
    .read_text(encoding="utf-8")
    .replace(":not_open", ", ".join(f"'{one}'" for one in _NOT_OPEN))
    .replace(":prices", str(_PRICES)[1:-1])
    .replace(":content_kinds", ", ".join(f"'{one}'" for one in sorted(CONTENT_KINDS)))
)
DIGEST = sha256(SQL.encode())
_OBJECT = re.compile(r"CREATE (TABLE|VIEW) ([a-z_]+) ")
_TABLE = re.compile(r"^CREATE TABLE ([a-z_]+) \(.*?^\);", re.DOTALL | re.MULTILINE)
_COLUMN = re.compile(r"    (?:[^-]* AS )?([a-z_0-9]+)[ ,][^-]*-- (.+)")
_OBJECTS = """
SELECT 'table', table_name, comment FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT 'view', view_name, comment FROM duckdb_views() WHERE NOT internal
ORDER BY ALL
"""
_COLUMNS = """
SELECT table_name, column_name, lower(data_type) || if(is_nullable, '', ' not null'), comment
FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index
"""
_HEAD = """# The tables of study.duckdb

Generated from `skilljuror/store/schema.sql` by `make docs`. The database contains the same texts:
`select * from duckdb_columns()`.

The database is disposable: delete it, ingest and judge again, and you get the same rows. The next ingest
regenerates a database of another version of skilljuror from all its sources. It contains no message
bodies; steps and events refer to file and line of the raw logs. Times are UTC without a zone. A null is
"unknown", never zero. Named questions over these tables:
`skilljuror query STUDY`.
"""


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables, views and macros in an empty database."""
    connection.execute("BEGIN")
    connection.execute(SQL)
    connection.execute(";\n".join(_comments()))
    connection.execute("INSERT INTO made_by VALUES (?)", [DIGEST])
    connection.execute("COMMIT")


def is_ours(connection: duckdb.DuckDBPyConnection, prefix: str = "") -> bool:
    """Whether a database was created with this schema; `prefix` names one of several that are attached."""
    try:
        made_by = connection.execute(f"SELECT schema_sha256 FROM {prefix}made_by").fetchall()  # noqa: S608
    except (duckdb.CatalogException, duckdb.BinderException):
        return False
    return made_by == [(DIGEST,)]


def describe() -> str:
    """Return the schema as Markdown, from the comments of a new database."""
    with duckdb.connect(":memory:") as connection:
        create_schema(connection)
        objects = connection.execute(_OBJECTS).fetchall()
        columns = connection.execute(_COLUMNS).fetchall()
    parts = [_HEAD]
    for kind, name, comment in objects:
        rows = [row[1:] for row in columns if row[0] == name]
        parts.append(f"## {name}\n\n{comment}{' (A view.)' if kind == 'view' else ''}\n")
        parts.append("| column | type | meaning |\n|---|---|---|")
        parts += [f"| `{column}` | {kind} | {meaning} |" for column, kind, meaning in rows]
        parts.append("")
    return "\n".join(parts)


def _comments() -> Iterator[str]:
    """Yield COMMENT ON statements: from the line before a table or view, and from the end of a column's line."""
    table, before = "", ""
    for line in SQL.splitlines():
        if created := _OBJECT.match(line):
            kind, table = created.groups()
            yield f"COMMENT ON {kind} {table} IS {quoted(before.removeprefix('-- '))}"
        elif column := _COLUMN.match(line):
            yield f"COMMENT ON COLUMN {table}.{column[1]} IS {quoted(column[2])}"
        before = line


# Shards: several databases read as one

_KEYS = {**RUN_TABLES, "readings": "run", "trials": "trial", "sources": "path", "files": "path"}
"""Table -> its column of runs, or paths, of which a shard holds all rows. A row of another table that several shards have
is one row."""
_HELD = {
    "trajectories": True,
    "unlogged_trials": False,
    "trials": False,
    "sources": False,
    "files": False,
}
"""Tables that say which runs and paths a shard holds, and whether with a log."""
_LOST = """
CREATE TABLE beside.lost AS
WITH held AS ({held}),
once AS (SELECT key, shard, bool_or(logged) AS logged FROM held GROUP BY ALL),
last AS (SELECT key, arg_max(shard, (logged, shard)) AS shard FROM once GROUP BY key HAVING count(*) > 1)
SELECT key, once.shard FROM once JOIN last USING (key) WHERE once.shard <> last.shard
"""
"""The runs and paths that a shard holds, but another one decides on: the last that has a log of it."""


def _shards_at(path: Path) -> list[Path]:
    """Return the databases at the pattern of shards that `StudyFolder.readable` gives, by number; [] for one database of
    this machine."""
    if not path.parent.name.startswith("*-of-"):
        return [path] if address(path) else []
    found = paths_at(path.parent.parent, f"{path.parent.name}/{path.name}")
    return sorted(found, key=lambda one: int(one.parent.name.partition("-")[0]))


@contextmanager
def _attached(path: Path, shards: list[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory whose tables are views of the shards' tables; it is not locked yet."""
    unlocked = {name: value for name, value in _READ_ONLY.items() if name not in _LOCK}
    beside = Path(tempfile.gettempdir()) if address(path) else path.parent.parent
    spill = {"temp_directory": str(beside / f"{path.name}.tmp")}
    with ExitStack() as stack:
        connection = stack.enter_context(duckdb.connect(":memory:", config={**unlocked, **spill}))
        connection.execute("ATTACH ':memory:' AS beside")
        if address(path):
            connection.register_filesystem(filesystem())
        for number, shard in enumerate(shards):
            name = quoted(stack.enter_context(_name_for_duckdb(shard)))
            with _opening(shard):
                connection.execute(f"ATTACH {name} AS shard_{number} (READ_ONLY)")
            if not is_ours(connection, f"shard_{number}."):
                raise _other_version(shard)
        with duckdb_errors_translated(path):
            held = [
                f"SELECT {_KEYS[table]} AS key, {number} AS shard, {logged} AS logged FROM shard_{number}.{table}"  # noqa: S608
                for table, logged in _HELD.items()
                for number in range(len(shards))
            ]
            connection.execute(_LOST.format(held=" UNION ALL ".join(held)))
            losing = connection.execute("SELECT DISTINCT shard FROM beside.lost").fetchall()
            lost = {number for (number,) in losing}
            connection.execute(_TABLE.sub(lambda one: _view_of(one[1], len(shards), lost), SQL))
        yield connection


def _view_of(table: str, shards: int, lost: Iterable[int]) -> str:
    """SQL of a view of the rows of all shards, without those of runs that a later one decides on."""
    parts, key = [f"FROM shard_{number}.{table}" for number in range(shards)], _KEYS.get(table)
    if key is None:
        return f"CREATE VIEW {table} AS {' UNION '.join(parts)};"
    for number in lost:
        parts[number] += f" WHERE {key} NOT IN (SELECT key FROM beside.lost WHERE shard = {number})"  # noqa: S608
    return f"CREATE VIEW {table} AS {' UNION ALL '.join(parts)};"


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
    """A locked view of one database, or of shards."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        path: Path,
        target: str = "",
        *,
        only_select: bool = False,
    ) -> None:
        self._connection = connection
        self._target = target
        self._only_select = only_select
        """Whether the connection could write."""
        self._statements = 0
        self.path = path
        """The database file."""

    def rows(self, sql: str, params: Params = None, most: int | None = None) -> QueryResult:
        """Run one statement with bound parameters; return all rows, or at most `most`. Raises QueryError, and
        StoreError for a damaged file."""
        with self._statement(sql) as connection:
            columns = _executed(connection, sql, params)
            return QueryResult(
                columns, connection.fetchmany(most) if most else connection.fetchall()
            )

    def parts(self, sql: str, params: Params = None) -> Iterator[QueryResult]:
        """Yield the rows of one statement in parts of at most `PART`; one part if there is no row. Raises as `rows`."""
        with self._statement(sql) as connection:
            columns = _executed(connection, sql, params)
            yield QueryResult(columns, rows := connection.fetchmany(PART))
            while len(rows) == PART and (rows := connection.fetchmany(PART)):
                yield QueryResult(columns, rows)

    def frame(self, sql: str, params: Params = None) -> "pd.DataFrame":
        """Return the same rows as a pandas DataFrame. Raises as `rows`."""
        with self._statement(sql) as connection:
            relation = connection.sql(sql, params=dict(params) if params else None)
            if relation is None:
                raise _no_rows()
            answer: pd.DataFrame = relation.df()
            return answer

    def to_parquet(self, sql: str, params: Params = None) -> int:
        """Write the rows of a query to `target` as Parquet, and return their number. Raises as `rows`."""
        with self._statement(sql) as connection:
            if connection.extract_statements(sql)[0].type != duckdb.StatementType.SELECT:
                raise QueryError("only a SELECT statement can be written as Parquet; write one")
            text = sql.encode()
            tokens = [at for at, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
            while text[tokens[-1] :].startswith(b";"):
                text = text[: tokens.pop()]
            copy = (
                f"COPY (\n{text.decode()}\n) TO {quoted(self._target)}"
                " (FORMAT parquet, USE_TMP_FILE false)"
            )
            ((count,),) = connection.execute(copy, dict(params) if params else None).fetchall()
            return int(count)

    @contextmanager
    def _statement(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection, ready for one statement: of several, DuckDB would run all and return only the last answer.

        Nearly every question asks which trials are contaminated. DuckDB needs longer to plan that view than for all
        else, so from the second statement on it is a temporary table."""
        connection = self._connection
        try:
            with duckdb_interrupts_raised():
                self._statements += 1
                if self._statements == 2:
                    connection.execute("CREATE TEMP TABLE contaminations AS FROM contaminations")
                kinds = [one.type for one in connection.extract_statements(sql)]
                if not kinds:
                    raise _no_rows()
                if len(kinds) > 1:
                    raise QueryError(
                        f"this is {len(kinds)} SQL statements; write one SELECT statement"
                    )
                if self._only_select and kinds != [duckdb.StatementType.SELECT]:
                    raise QueryError(
                        "shards answer SELECT alone (a PIVOT needs its values: ON … IN (…)); write one"
                    )
                yield connection
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise QueryError(
                "the query needs more memory than this machine has: add a LIMIT or a filter",
            ) from error
        except (duckdb.IOException, duckdb.FatalException, duckdb.InternalException) as error:
            raise no_room(self.path, error) or StoreError(
                f"the database {str(self.path)!r} cannot be read ({_one_line(error)}): delete it and run"
                " `skilljuror ingest` again to regenerate it from its sources",
                file=str(self.path),
            ) from error
        except duckdb.Error as error:
            raise QueryError(_one_line(error)) from error


def _executed(connection: duckdb.DuckDBPyConnection, sql: str, params: Params) -> tuple[str, ...]:
    """Run a statement; return its columns."""
    connection.execute(sql, dict(params) if params else None)
    if not connection.description:
        raise _no_rows()
    return tuple(name for name, *_ in connection.description)


@contextmanager
def duckdb_interrupts_raised() -> Iterator[None]:
    """Raise DuckDB's RuntimeError for Ctrl-C as KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from error
        raise


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


def _no_rows() -> QueryError:
    return QueryError("the SQL returns no rows; write one SELECT statement")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


class _NotADatabase(StoreError):
    """The file is damaged, or not a DuckDB database."""


@contextmanager
def open_write(path: Path, wait: float = 0.0) -> Iterator[Store]:
    """Open the database at `path` for writing; create it if missing.

    Raises StoreError if the file is foreign, damaged or of another version, and InUseError if it stays
    in use for `wait` seconds.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(path, f"cannot be created ({error.strerror})") from error
    with _connected(path, _LOCKED, wait=wait) as connection, duckdb_errors_translated(path):
        if not connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone():
            create_schema(connection)
        elif not is_ours(connection):
            raise _other_version(path)
        yield Store(connection)
        connection.execute("CHECKPOINT")  # closing does the same, but ignores errors


@contextmanager
def open_read(path: Path, target: Path | None = None) -> Iterator[Reader]:
    """Open a read-only, locked view of the database at `path`, or of the shards at a pattern
    (`StudyFolder.readable`): no SQL can write, access a file other than `target`.

    Raises StoreError if the file is missing, foreign, damaged or of another version, and InUseError if
    another process is writing it.
    """
    shards = _shards_at(path)
    if not shards and not path.exists():
        raise StoreError(f"there is no database at {str(path)!r}: run `skilljuror ingest` first")
    unlocked = {name: value for name, value in _READ_ONLY.items() if name not in _LOCK}
    with (
        _name_for_duckdb(target) if target else nullcontext("") as name,
        _attached(path, shards)
        if shards
        else _connected(path, unlocked if target else _READ_ONLY, read_only=True) as connection,
    ):
        with duckdb_errors_translated(path):
            if target:  # locked except for one file; DuckDB rejects this setting at opening
                connection.execute(f"SET allowed_paths = [{quoted(name)}]")
            if target or shards:
                connection.execute("SET enable_external_access = false")
                connection.execute("SET lock_configuration = true")
            if not shards and not is_ours(connection):
                raise _other_version(path)
        yield Reader(connection, path, name, only_select=bool(shards))


def is_current(path: Path) -> bool:
    """Whether the file at `path` is a database of this version.

    Raises StoreError if it is in use or access is denied.
    """
    try:
        with _connected(path, _LOCKED) as connection, duckdb_errors_translated(path):
            return is_ours(connection)
    except _NotADatabase:
        return False


@contextmanager
def duckdb_errors_translated(path: Path) -> Iterator[None]:
    """Raise DuckDB's errors as a StoreError of one line with the file and the fix."""
    try:
        with duckdb_interrupts_raised():
            yield
    except duckdb.Error as error:
        full = no_room(path, error)
        raise full or _unusable(path, f"cannot be used ({_one_line(error)})") from error


@contextmanager
def _connected(
    path: Path, config: Config, *, read_only: bool = False, wait: float = 0.0
) -> Iterator[duckdb.DuckDBPyConnection]:
    with _name_for_duckdb(path) as name:
        connection = _connect(path, name, config, read_only=read_only, wait=wait)
        try:
            yield connection
        finally:
            connection.close()


@contextmanager
def _name_for_duckdb(path: Path) -> Iterator[str]:
    """A name of the file in UTF-8, as DuckDB requires; a folder with another name is opened and
    replaced by its file descriptor."""
    if address(path):
        yield name_for_duckdb(path)
        return
    try:
        str(path).encode()
    except UnicodeEncodeError:
        if not Path("/proc/self/fd").exists():
            raise _unusable(path, "has a name that is not Unicode; rename its folder") from None
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{path.name}"
        finally:
            os.close(folder)
    else:
        yield str(path)


def _connect(
    path: Path, name: str, config: Config, *, read_only: bool, wait: float
) -> duckdb.DuckDBPyConnection:
    """Open a file, with retries while it is in use, for `wait` seconds."""
    try:
        with _opening(path):
            return duckdb.connect(name, read_only=read_only, config=config)
    except InUseError:
        if wait <= 0:
            raise
        time.sleep(_RETRY_SECONDS)
        return _connect(path, name, config, read_only=read_only, wait=wait - _RETRY_SECONDS)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Raise what keeps DuckDB from opening a file as an error of one line."""
    if path.exists() and not _looks_like_duckdb(path):
        raise _unusable(path, "is not a DuckDB database")
    try:
        yield
    except duckdb.ConnectionException as error:
        raise _busy(path, "this process") from error
    except duckdb.IOException as error:
        if "Could not set lock" in str(error) or "File is already open" in str(error):  # Windows
            raise _busy(path, "another process") from error
        if "Permission denied" in str(error):
            raise _denied(path, "Permission denied") from error
        full = no_room(path, error)
        raise full or _unusable(path, f"cannot be opened ({_one_line(error)})") from error
    except duckdb.Error as error:
        raise _unusable(path, f"cannot be opened ({_one_line(error)})") from error


def _looks_like_duckdb(path: Path) -> bool:
    """Checked first, because DuckDB would download an extension to read a SQLite file."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(16)[_MAGIC] == b"DUCK"
    except OSError as error:
        raise _denied(path, error.strerror or str(error)) from error


def _busy(path: Path, who: str) -> InUseError:
    return InUseError(
        f"the database {str(path)!r} is in use by {who}: retry when it has finished",
        file=str(path),
    )


def _denied(path: Path, why: str) -> StoreError:
    return StoreError(
        f"the database {str(path)!r} cannot be opened ({why}): grant access to it",
        file=str(path),
    )


def _other_version(path: Path) -> StoreError:
    return StoreError(
        f"the database {str(path)!r} was created by another version of skilljuror: run"
        " `skilljuror ingest` again to regenerate it from its sources",
        file=str(path),
    )


def _unusable(path: Path, what: str) -> StoreError:
    return _NotADatabase(
        f"the database {str(path)!r} {what}; run `skilljuror ingest` again to regenerate it from"
        " its sources",
        file=str(path),
    )


@contextmanager
def database_to_fill(path: Path) -> Iterator[Path]:
    """Yield the path that ingest writes to: the database at `path`, or a new one next to it if that is
    missing or of another version.

    The new one replaces `path` when the block succeeds; the old one becomes `<name>.old`. Until then a
    kill leaves the old one unchanged, and the next ingest resumes with the new one. Raises StoreError if
    a database is in use or access is denied.
    """
    if path.exists() and is_current(path):
        yield path
        return
    new = path.with_name(f"{path.name}.new")
    log, log_of_new = (one.with_name(f"{one.name}.wal") for one in (path, new))  # a killed writer's
    if not (new.exists() and is_current(new)):
        new.unlink(missing_ok=True)
        log_of_new.unlink(missing_ok=True)
    yield new
    if path.exists():
        path.replace(path.with_name(f"{path.name}.old"))
        log.unlink(missing_ok=True)
    new.replace(path)


_NOTE = (
    "This study was ingested with --no-quotes: ingest, judge and show neither store nor print texts of"
    " its logs. Delete this file and rerun `skilljuror ingest` to store them.\n"
)


def resolve_quotes(study: Path, options: MeasureOptions) -> MeasureOptions:
    """Apply a study's earlier choice to the options: once ingested without quotes it stays so, and
    stored quotes are removed. Raises UsageError for names of projects without quotes."""
    folder = StudyFolder(study)
    if options.projects and not (options.quotes and keeps_quotes(study)):
        raise UsageError(
            f"--projects: {str(study)!r} stores no names of projects and persons, because of --no-quotes;"
            f" leave out one of both, or use another folder",
            field="projects",
        )
    if keeps_quotes(study) and not options.quotes:
        if folder.database.is_file() and is_current(folder.database):
            with open_write(folder.database) as store:
                store.remove_quotes()
        write_atomic(folder.no_quotes, _NOTE)
    return replace(options, quotes=keeps_quotes(study))

"""Opening the database: one writer, or locked readers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from skilljuror.errors import StoreError
from skilljuror.store import schema
from skilljuror.store.reader import Reader, duckdb_interrupts_raised
from skilljuror.store.writer import Store

_MAGIC = slice(8, 12)
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
"""No other file, no extension, no network, and no statement that could allow them again."""
_READ_ONLY = {**_LOCKED, "threads": 1}
"""One thread adds numbers in one order, so that an answer is the same to the last digit."""


@contextmanager
def open_write(path: Path, *, grow: bool = False) -> Iterator[Store]:
    """The one writer of the database at `path`, which is made when it is missing.

    `grow` brings one of an older version up to date; it is for ingest alone, which then reads the
    `outdated` sources again. Raises StoreError when the file is foreign, damaged, newer or in use,
    and without `grow` when ingest filled it under an older version.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(path, f"cannot be made ({error.strerror})") from error
    connection = _connect(path, read_only=False)
    try:
        with duckdb_errors_translated(path):
            found = _known_version(connection, path)
            if not grow and found < schema.latest_version() and schema.is_filled(connection):
                raise _older(path, found)
            schema.apply(connection, after=found)
            yield Store(connection)
    finally:
        connection.close()


@contextmanager
def open_read(path: Path) -> Iterator[Reader]:
    """A read-only, locked view of the database at `path`: it can neither write nor reach
    another file, whatever SQL it is given.

    Raises StoreError when the file is missing, foreign, damaged, of another version or in use.
    """
    if not path.exists():
        raise StoreError(f"there is no database at {str(path)!r}: run `skilljuror ingest` first")
    connection = _connect(path, read_only=True)
    try:
        with duckdb_errors_translated(path):
            found = _known_version(connection, path)
            if found < schema.latest_version():
                raise _older(path, found)
            if schema.is_outdated(connection):
                raise _behind(path, "is only partly up to date")
        yield Reader(connection, path)
    finally:
        connection.close()


@contextmanager
def duckdb_errors_translated(path: Path) -> Iterator[None]:
    """DuckDB's errors as a StoreError of one line that names the file and the mend."""
    try:
        with duckdb_interrupts_raised():
            yield
    except duckdb.Error as error:
        raise _unusable(path, f"cannot be used ({_first_line(error)})") from error


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    if path.exists() and not _looks_like_duckdb(path):
        raise _unusable(path, "is not a DuckDB database")
    try:
        config = _READ_ONLY if read_only else _LOCKED
        return duckdb.connect(str(path), read_only=read_only, config=config)
    except duckdb.ConnectionException as error:
        raise _busy(path, "this process") from error
    except duckdb.IOException as error:
        if "Could not set lock" in str(error):
            raise _busy(path, "another process") from error
        if "Permission denied" in str(error):
            raise _denied(path, "Permission denied") from error
        raise _unusable(path, f"cannot be opened ({_first_line(error)})") from error
    except duckdb.Error as error:
        raise _unusable(path, f"cannot be opened ({_first_line(error)})") from error


def _looks_like_duckdb(path: Path) -> bool:
    """Looked at before DuckDB does, which would fetch an extension to read a SQLite file."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(16)[_MAGIC] == b"DUCK"
    except OSError as error:
        raise _denied(path, error.strerror or str(error)) from error


def _known_version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    found = schema.version(connection)
    if found is None:
        raise _unusable(path, "is not a database of this version of skilljuror")
    if found > schema.latest_version():
        raise _unusable(
            path,
            f"has schema version {found}, newer than the {schema.latest_version()} known here"
            " (upgrade skilljuror, or make it again)",
        )
    return found


def _busy(path: Path, who: str) -> StoreError:
    return StoreError(
        f"the database {str(path)!r} is in use by {who}: wait for it to end, then try again",
        file=str(path),
    )


def _denied(path: Path, why: str) -> StoreError:
    return StoreError(
        f"the database {str(path)!r} cannot be opened ({why}): give yourself access to it",
        file=str(path),
    )


def _older(path: Path, found: int) -> StoreError:
    ours = schema.latest_version()
    return _behind(path, f"has schema version {found}, which is older than ours ({ours})")


def _behind(path: Path, what: str) -> StoreError:
    return StoreError(
        f"the database {str(path)!r} {what}: run `skilljuror ingest` on it again, which brings"
        " it up to date",
        file=str(path),
    )


def _unusable(path: Path, what: str) -> StoreError:
    return StoreError(
        f"the database {str(path)!r} {what}; it can be rebuilt: delete it and run"
        " `skilljuror ingest` again",
        file=str(path),
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)

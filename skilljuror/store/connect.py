"""Opening the database: one writer, or locked readers."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import duckdb

from skilljuror.base.errors import InUseError, StoreError
from skilljuror.store import schema
from skilljuror.store.limits import UNLIMITED, Limits
from skilljuror.store.reader import Reader, close, duckdb_interrupts_raised, no_room, quoted
from skilljuror.store.writer import Store

_MAGIC = slice(8, 12)
_RETRY_SECONDS = 0.1
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
        if schema.is_empty(connection):
            schema.create(connection)
        elif not schema.is_ours(connection):
            raise _other_version(path)
        yield Store(connection)
        connection.execute("CHECKPOINT")  # closing does the same, but ignores errors


@contextmanager
def open_read(
    path: Path, limits: Limits = UNLIMITED, target: Path | None = None
) -> Iterator[Reader]:
    """Open a read-only, locked view of the database at `path`: no SQL can write, access a file other
    than `target`, or raise the limits.

    Raises StoreError if the file is missing, foreign, damaged or of another version, and InUseError if
    another process is writing it.
    """
    if not path.exists():
        raise StoreError(f"there is no database at {str(path)!r}: run `skilljuror ingest` first")
    config = _reading(limits)
    if target:
        config = {name: value for name, value in config.items() if name not in _LOCK}
    with (
        _name_for_duckdb(target) if target else nullcontext("") as name,
        _connected(path, config, read_only=True) as connection,
    ):
        with duckdb_errors_translated(path):
            if target:
                _lock_but_for(connection, name)
            if not schema.is_ours(connection):
                raise _other_version(path)
        yield Reader(connection, path, limits, name)


def _lock_but_for(connection: duckdb.DuckDBPyConnection, target: str) -> None:
    """Lock an open connection except for one file; DuckDB rejects this setting at opening."""
    connection.execute(f"SET allowed_paths = [{quoted(target)}]")
    for setting, value in _LOCK.items():
        connection.execute(f"SET {setting} = {value}")


def is_current(path: Path) -> bool:
    """Whether the file at `path` is a database of this version.

    Raises StoreError if it is in use or access is denied.
    """
    try:
        with _connected(path, _LOCKED) as connection, duckdb_errors_translated(path):
            return schema.is_ours(connection)
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
        raise full or _unusable(path, f"cannot be used ({_first_line(error)})") from error


@contextmanager
def _connected(
    path: Path, config: Config, *, read_only: bool = False, wait: float = 0.0
) -> Iterator[duckdb.DuckDBPyConnection]:
    with _name_for_duckdb(path) as name:
        connect = partial(_connect, path, name, config, read_only=read_only)
        connection = _once_free(connect, wait)
        try:
            yield connection
        finally:
            close(connection)


def _once_free(
    connect: Callable[[], duckdb.DuckDBPyConnection], wait: float
) -> duckdb.DuckDBPyConnection:
    """Connect, with retries while the file is in use, for `wait` seconds."""
    deadline = time.monotonic() + wait
    while True:
        try:
            return connect()
        except InUseError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_RETRY_SECONDS)


@contextmanager
def _name_for_duckdb(path: Path) -> Iterator[str]:
    """A name of the file in UTF-8, as DuckDB requires; a folder with another name is opened and
    replaced by its file descriptor."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{path.name}"
        finally:
            os.close(folder)
    else:
        yield str(path)


def _reading(limits: Limits) -> Config:
    if limits.memory is None:
        return _READ_ONLY
    return {**_READ_ONLY, "memory_limit": f"{limits.memory}B", "temp_directory": ""}


def _connect(
    path: Path, name: str, config: Config, *, read_only: bool
) -> duckdb.DuckDBPyConnection:
    if path.exists() and not _looks_like_duckdb(path):
        raise _unusable(path, "is not a DuckDB database")
    try:
        return duckdb.connect(name, read_only=read_only, config=config)
    except duckdb.ConnectionException as error:
        raise _busy(path, "this process") from error
    except duckdb.IOException as error:
        if "Could not set lock" in str(error):
            raise _busy(path, "another process") from error
        if "Permission denied" in str(error):
            raise _denied(path, "Permission denied") from error
        full = no_room(path, error)
        raise full or _unusable(path, f"cannot be opened ({_first_line(error)})") from error
    except duckdb.Error as error:
        raise _unusable(path, f"cannot be opened ({_first_line(error)})") from error


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


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)

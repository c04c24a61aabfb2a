"""New databases as copies of an empty one, made once per process: to create the schema with its comments takes
five times as long, and most tests need a database of their own."""

from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from skilljuror.store import connect

_connect = connect._connect


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "study.duckdb")
        with duckdb.connect(path) as connection:
            connect.create_schema(connection)
        return path.read_bytes()


def _connect_to_copy(
    path: Path, name: str, config: connect.Config, *, read_only: bool, wait: float
) -> duckdb.DuckDBPyConnection:
    if not read_only and not path.exists():
        with suppress(OSError), path.open("xb") as file:
            file.write(_empty())
    return _connect(path, name, config, read_only=read_only, wait=wait)


def copy_new_databases() -> None:
    """From now on this process creates no schema where it opens a new database for writing."""
    connect._connect = _connect_to_copy

"""The schema: numbered SQL files, applied in order and recorded in `schema_history`.

In those files the line before a CREATE TABLE says what one row is, and the comment behind
a column says what it means; both become COMMENT ON, so that the database explains itself.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb

from skilljuror.errors import StoreError

FOLDER = Path(__file__).parent / "schema"
_FILE_NAME = re.compile(r"(\d{3})_([a-z0-9_]+)\.sql")
_TABLE = re.compile(r"CREATE TABLE ([a-z_]+) \(")
_COLUMN = re.compile(r"    ([a-z_0-9]+) [^-]*-- (.+)")
_HISTORY = "INSERT INTO schema_history VALUES (?, ?)"


class SchemaFile(NamedTuple):
    """One numbered step of the schema."""

    version: int
    """Its number."""
    name: str
    """Its name without the number."""
    sql: str
    """Its text."""


def schema_files(folder: Path = FOLDER) -> list[SchemaFile]:
    """The numbered files in order; a gap or a double number is a StoreError."""
    files = []
    for path in sorted(folder.glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise StoreError(f"{path.name!r} in the schema folder is not named NNN_name.sql")
        files.append(SchemaFile(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    if [file.version for file in files] != list(range(1, len(files) + 1)):
        raise StoreError(f"the schema files in {str(folder)!r} are not numbered 1, 2, 3, …")
    return files


def latest_version() -> int:
    """Number of the newest schema file."""
    return len(schema_files())


def comments(sql: str) -> Iterator[str]:
    """COMMENT ON statements for every table and column of one schema file."""
    table, before = "", ""
    for line in sql.splitlines():
        if found := _TABLE.match(line):
            table = found[1]
            yield f"COMMENT ON TABLE {table} IS {_quoted(before.removeprefix('-- '))}"
        elif found := _COLUMN.match(line):
            yield f"COMMENT ON COLUMN {table}.{found[1]} IS {_quoted(found[2])}"
        before = line


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def apply(connection: duckdb.DuckDBPyConnection, after: int = 0, upto: int | None = None) -> None:
    """Bring a database from version `after` to `upto` (default: the newest), each file whole."""
    for file in schema_files()[after:upto]:
        connection.execute("BEGIN")
        connection.execute(file.sql)
        for statement in comments(file.sql):
            connection.execute(statement)
        connection.execute(_HISTORY, [file.version, file.name])
        connection.execute("COMMIT")


def version(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Version of a database: 0 when it is empty, None when it is not one of ours."""
    names = {
        row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    }
    if "schema_history" not in names:
        return None if names else 0
    try:
        row = connection.execute("SELECT max(version) FROM schema_history").fetchone()
    except duckdb.BinderException:
        return None
    return int(row[0]) if row and row[0] is not None else None

"""The schema: one SQL file, whose comments become those of the database.

There are no migrations: ingest regenerates a database of another schema from its sources.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from skilljuror.base.files import sha256
from skilljuror.base.results import UptakeCategory
from skilljuror.base.skill import CONTENT_KINDS

_NOT_OPEN = [one for one in UptakeCategory if one.label == "unknown" and not one.open]
SQL = (
    Path(__file__)
    .with_suffix(".sql")
    .read_text(encoding="utf-8")
    .replace(":not_open", ", ".join(f"'{one}'" for one in _NOT_OPEN))
    .replace(":content_kinds", ", ".join(f"'{one}'" for one in sorted(CONTENT_KINDS)))
)
DIGEST = sha256(SQL.encode())
_OBJECT = re.compile(r"CREATE (TABLE|VIEW) ([a-z_]+) ")
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


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables, views and macros in an empty database."""
    connection.execute("BEGIN")
    connection.execute(SQL)
    connection.execute(";\n".join(_comments()))
    connection.execute("INSERT INTO made_by VALUES (?)", [DIGEST])
    connection.execute("COMMIT")


def is_empty(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a database has no table yet."""
    return not connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone()


def is_ours(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a database was created with this schema."""
    try:
        made_by = connection.execute("SELECT schema_sha256 FROM made_by").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return False
    return made_by == [(DIGEST,)]


def describe() -> str:
    """Return the schema as Markdown, from the comments of a new database."""
    with duckdb.connect(":memory:") as connection:
        create(connection)
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
            yield f"COMMENT ON {kind} {table} IS {_quoted(before.removeprefix('-- '))}"
        elif column := _COLUMN.match(line):
            yield f"COMMENT ON COLUMN {table}.{column[1]} IS {_quoted(column[2])}"
        before = line


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

"""Parquet files with an ATIF document per row, as text or as a structure (formats.md §13).

The key of a run ends in `#` and the 1-based number of its row.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from skilljuror.files import path_text
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers.atif.trajectory import Atif
from skilljuror.parsers.base import LogKind, Parser, Source
from skilljuror.parsers.raw_logs.coercion import as_dict, as_str, json_of
from skilljuror.parsers.raw_logs.jsonl import unreadable

_MAGIC = b"PAR1"
_ROWS_AT_ONCE = 16


class AtifParquet(Parser):
    """Reads every row that holds a document."""

    kind = LogKind.INTERCHANGE

    def sniff(self, source: Source) -> bool:
        """A Parquet file with a column of ATIF documents."""
        return source.head.startswith(_MAGIC) and _column(source.path) is not None

    def parse(self, source: Source) -> Iterator[Trajectory]:
        column = _column(source.path)
        if column is None:
            raise unreadable(source.path, "has no column of ATIF documents")
        found = 0
        for row, text in enumerate(_texts(source.path, column), 1):
            if not _is_document(text):
                continue
            found += 1
            with TemporaryDirectory(prefix="skilljuror-") as folder:
                document = Path(folder) / "row.json"
                document.write_text(text, encoding="utf-8", errors="replace")
                for run in Atif(self.format).parse(Source(document)):
                    key = f"{run.trajectory}#{row}"
                    yield replace(run, trajectory=key, files=(path_text(source.path),))
        if not found:
            raise unreadable(source.path, "has no row with an ATIF document")


def _is_document(text: Any) -> bool:
    version = as_str(as_dict(json_of(text)).get("schema_version"))
    return version is not None and version.startswith("ATIF-v")


def _column(path: Path) -> str | None:
    """Expression of the column whose first value is a document, or None."""
    from duckdb import Error, connect

    try:
        with connect() as database:
            described = database.execute("DESCRIBE FROM read_parquet(?)", [str(path)]).fetchall()
            columns = [_text_of(name, type) for name, type, *_ in described]
            return next((one for one in columns if _is_document(_first(database, path, one))), None)
    except Error:
        return None


def _text_of(name: str, type: str) -> str:
    """A column as JSON text."""
    quoted = '"' + name.replace('"', '""') + '"'
    return quoted if type in {"VARCHAR", "JSON"} else f"to_json({quoted})::VARCHAR"


def _first(database: Any, path: Path, column: str) -> Any:
    """First value of a column that is not null."""
    query = f"SELECT {column} AS text FROM read_parquet(?) WHERE text IS NOT NULL LIMIT 1"  # noqa: S608
    row = database.execute(query, [str(path)]).fetchone()
    return row[0] if row else None


def _texts(path: Path, column: str) -> Iterator[Any]:
    """Values of a column in the order of the file."""
    from duckdb import connect

    with connect() as database:
        rows = database.execute(f"SELECT {column} FROM read_parquet(?)", [str(path)])  # noqa: S608
        while several := rows.fetchmany(_ROWS_AT_ONCE):
            yield from (value for (value,) in several)

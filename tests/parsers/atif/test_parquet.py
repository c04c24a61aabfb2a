"""Parquet tables of ATIF documents: their rows are read like the documents."""

import json

import pytest
from duckdb import connect
from msgspec.structs import replace

from skilljuror.parsers.discovery.find_logs import discover
from skilljuror.parsers.read import read
from tests.support.places import GOLDENS

DOCUMENTS = [
    (GOLDENS / "atif" / case / "raw.json").read_text(encoding="utf-8")
    for case in ("claude-code", "exit-status")
]


def write(path, column, rows):
    """A table of a number and of documents, which `column` makes of JSON text."""
    with connect() as database:
        database.execute("CREATE TABLE rows (number integer, name varchar, document varchar)")
        database.executemany("INSERT INTO rows VALUES (?, 'run', ?)", list(enumerate(rows)))
        select = f"SELECT number, name, {column} AS document FROM rows ORDER BY number"
        database.sql(select).write_parquet(str(path))
    return path


def runs(path):
    """What is read of a path, as far as it does not depend on the file."""
    return [
        replace(run, files=(), format="", trajectory="")
        for found in discover([path])
        if found.format is not None
        for run in read(found.source, found.format)
    ]


@pytest.mark.parametrize("column", ["document", "document::JSON"])
def test_rows_are_read_like_their_documents(column, tmp_path):
    table = write(tmp_path / "runs [1].parquet", column, DOCUMENTS)
    assert runs(table) == [
        run for case in ("claude-code", "exit-status") for run in runs(GOLDENS / "atif" / case)
    ]


def test_a_structure_is_read_like_text(tmp_path):
    text = json.dumps({
        "schema_version": "ATIF-v1.8", "session_id": "s", "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": "Go."}],
    })  # fmt: skip
    shape = json.dumps({
        "schema_version": "VARCHAR", "session_id": "VARCHAR",
        "agent": {"name": "VARCHAR", "version": "VARCHAR"},
        "steps": [{"step_id": "INTEGER", "source": "VARCHAR", "message": "VARCHAR"}],
    })  # fmt: skip
    table = write(tmp_path / "runs.parquet", f"from_json(document, '{shape}')", [text])
    (run,) = runs(table)
    assert [message.text for message in run.messages] == ["Go."]


def test_a_table_of_something_else_is_left_alone(tmp_path):
    write(tmp_path / "runs.parquet", "document", ['{"schema_version": "1"}', "text"])
    (found,) = discover([tmp_path])
    assert (found.format, found.problem) == (None, "unsupported log format")

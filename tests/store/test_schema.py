"""The schema explains itself, and growing into it is the same as being born with it."""

import duckdb
import pytest

from skilljuror.errors import StoreError
from skilljuror.store import open_read, open_write, schema
from tests.support.places import ROOT


def shape(connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        " WHERE NOT internal ORDER BY ALL"
    ).fetchall()


def test_every_table_and_column_has_a_comment():
    with duckdb.connect(":memory:") as connection:
        schema.apply(connection)
        objects = connection.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal"
            " UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        assert all(comment for _, comment in objects)
        assert [row for row in shape(connection) if not row[4]] == []


@pytest.mark.parametrize("version", range(1, schema.latest_version()))
def test_growing_from_any_version_gives_the_same_schema(version):
    with duckdb.connect(":memory:") as old, duckdb.connect(":memory:") as new:
        schema.apply(old, upto=version)
        assert schema.version(old) == version
        schema.apply(old, after=version)
        schema.apply(new)
        assert shape(old) == shape(new)


def test_an_older_database_is_refused_by_readers_and_grown_by_the_writer(tmp_path):
    path = tmp_path / "study.duckdb"
    with duckdb.connect(str(path)) as connection:
        schema.apply(connection, upto=1)
    with pytest.raises(StoreError, match="older"), open_read(path):
        pass
    with open_write(path):
        pass
    with open_read(path) as reader:
        found = reader.rows("SELECT max(version) FROM schema_history").rows
    assert found == [(schema.latest_version(),)]


@pytest.mark.parametrize("names", [["001_a.sql", "003_b.sql"], ["first.sql"], ["002_a.sql"]])
def test_badly_numbered_files_are_refused(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("SELECT 1;", encoding="utf-8")
    with pytest.raises(StoreError):
        schema.schema_files(tmp_path)


def test_no_metric_is_named_in_the_store():
    from skilljuror.metrics.catalog import CATALOG

    fields = {"tokens", "events", "reward", "timeout", "scored", "cost_usd"}
    sql = "".join(file.sql for file in schema.schema_files())
    code = "".join(path.read_text() for path in (ROOT / "skilljuror" / "store").glob("*.py"))
    words = set((sql + code).replace('"', " ").replace("'", " ").split())
    assert (set(CATALOG) - fields) & words == set()


def test_the_page_about_the_schema_is_fresh():
    page = ROOT / "docs" / "schema.md"
    assert page.read_text(encoding="utf-8") == schema.describe(), "run: make docs"

"""The schema explains itself."""

import duckdb

from skilljuror.store import connect
from tests.support.places import ROOT


def test_every_table_and_column_has_a_comment():
    with duckdb.connect(":memory:") as connection:
        connect.create_schema(connection)
        objects = connection.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal"
            " UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        assert all(comment for _, comment in objects)
        assert not connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns()"
            " WHERE NOT internal AND comment IS NULL"
        ).fetchall()


def test_a_new_database_is_ours_and_one_of_another_schema_is_not():
    with duckdb.connect(":memory:") as connection:
        assert not connect.is_ours(connection)
        connect.create_schema(connection)
        assert connect.is_ours(connection)
        connection.execute("UPDATE made_by SET schema_sha256 = 'another'")
        assert not connect.is_ours(connection)


def test_no_metric_is_named_in_the_store():
    from skilljuror.measures.metrics import definitions

    fields = {"tokens", "events", "reward", "timeout", "scored", "cost_usd"}
    code = "".join(path.read_text() for path in (ROOT / "skilljuror" / "store").glob("*.py"))
    words = set((connect.SQL + code).replace('"', " ").replace("'", " ").split())
    assert (set(definitions()) - fields) & words == set()


def test_the_page_about_the_schema_is_fresh():
    page = ROOT / "docs" / "schema.md"
    assert page.read_text(encoding="utf-8") == connect.describe(), "run: make docs"

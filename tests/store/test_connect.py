"""Opening: locked readers, one writer, and one line for every file that is not ours."""

import sqlite3
import subprocess
import sys

import duckdb
import pytest

from skilljuror.base.errors import QueryError, StoreError
from skilljuror.store import open_read, open_write
from tests.support import fabricated_records as fake


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        store.put_plan(fake.plan(["a"]))
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "COPY study TO 'out.csv'",
        "ATTACH 'other.duckdb'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('study.duckdb')",
        "SELECT * FROM glob('/*')",
        "EXPORT DATABASE 'out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "CREATE TABLE x (a INTEGER)",
        "DELETE FROM study",
        "DROP TABLE study",
    ],
)
def test_a_reader_can_neither_write_nor_reach_a_file(path, sql):
    with open_read(path) as reader:
        with pytest.raises(QueryError):
            reader.rows(sql)
        assert reader.rows("SELECT count(*) FROM study").rows == [(1,)]


@pytest.mark.parametrize(
    "sql", ["SELEC 1", "SELECT nothing", "", "-- x", "SELECT 1; SELECT 2", "SELECT $x"]
)
def test_wrong_sql_is_one_line(path, sql):
    with open_read(path) as reader, pytest.raises(QueryError) as caught:
        reader.rows(sql)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("end", ["", ";", "\n;\n; -- é ;", " -- ;", "\n/* ; */ ;"])
def test_a_parquet_file_is_all_that_can_be_written(path, tmp_path, end):
    target = tmp_path / "it's.parquet"
    with open_read(path, target=target) as reader:
        assert reader.to_parquet(f'SELECT $n AS "é;" FROM range(3){end}', {"n": 7}) == 3
        for sql in ("COPY study TO 'out.csv'", "SELECT * FROM read_text('/etc/passwd')"):
            with pytest.raises(QueryError):
                reader.rows(sql)
    assert duckdb.read_parquet(str(target)).fetchall() == [(7,)] * 3


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1) TO 'other.csv' --",
        "SELECT 1) TO 'other.csv'; COPY (SELECT 1",
        "COPY study TO 'other.csv'",
        "EXPLAIN SELECT 1",
        "PRAGMA show_tables",
        "",
        "SET lock_configuration = false",
    ],
)
def test_no_sql_leaves_the_brackets_of_the_copy(path, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    with open_read(path, target=tmp_path / "x.parquet") as reader, pytest.raises(QueryError):
        reader.to_parquet(sql)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def make(path, content: bytes) -> None:
    path.write_bytes(content)


def sqlite(path, _: bytes) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE a (b)")
    connection.commit()
    connection.close()


def foreign(path, _: bytes) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE a (b INTEGER)")


def other_schema(path, good: bytes) -> None:
    path.write_bytes(good)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE made_by SET schema_sha256 = 'other'")


UNUSABLE = {
    "text": lambda path, good: make(path, b"hello" * 5000),
    "empty": lambda path, good: make(path, b""),
    "head": lambda path, good: make(path, good[:20]),
    "flipped": lambda path, good: make(path, good[:4096] + bytes(b ^ 255 for b in good[4096:])),
    "folder": lambda path, good: path.mkdir(),
    "sqlite": sqlite,
    "foreign": foreign,
    "other_schema": other_schema,
}


@pytest.mark.parametrize("opener", [open_read, open_write])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_unusable_file_is_named_with_the_mend(path, tmp_path, kind, opener):
    other = tmp_path / "other.duckdb"
    UNUSABLE[kind](other, path.read_bytes())
    with pytest.raises(StoreError) as caught, opener(other):
        pass
    assert "other.duckdb" in caught.value.message
    assert "run `skilljuror ingest`" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_file_cut_in_half_is_found_at_the_latest_when_it_is_read(path, tmp_path):
    with open_write(path) as store:
        fake.put(store, [fake.run(f"t{n}", steps=99) for n in range(99)])
    other = tmp_path / "other.duckdb"
    make(other, path.read_bytes()[: path.stat().st_size // 2])
    with (
        pytest.raises(StoreError, match="to regenerate it from its sources"),
        open_read(other) as reader,
    ):
        reader.rows("FROM steps")


def test_a_missing_database_names_the_command(tmp_path):
    with pytest.raises(StoreError, match="skilljuror ingest"), open_read(tmp_path / "none.duckdb"):
        pass
    assert not (tmp_path / "none.duckdb").exists()


def test_a_database_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    below = tmp_path / "file" / "study.duckdb"
    with pytest.raises(StoreError, match="cannot be created"), open_write(below):
        pass


HOLD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("opener", [open_read, open_write])
def test_a_locked_database_says_so(path, opener):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="in use by another process"), opener(path):
            pass
        holder.communicate()


def test_reading_while_writing_in_one_process_says_so(path):
    with (
        open_write(path),
        pytest.raises(StoreError, match="in use by this process"),
        open_read(path),
    ):
        pass


def test_numbers_are_added_in_one_order(tmp_path):
    with open_write(tmp_path / "study.duckdb"):
        pass
    with open_read(tmp_path / "study.duckdb") as reader:
        assert reader.rows("SELECT current_setting('threads')").rows == [(1,)]

"""Every question: its file says what it returns, and it runs where there is nothing to return."""

import pytest

from skilljuror.errors import QueryError
from skilljuror.queries.catalog import read_query
from skilljuror.queries.run import FOLDER, catalog, frame, query, run
from skilljuror.store import open_read, open_write
from tests.support.fabricated_studies import small_study

NAMES = [entry.name for entry in catalog()]
SECTIONS = {"overview", "RQ1", "RQ2", "RQ3", "RQ4", "lists"}
SINGLE = {"one row is the whole database", "one row is the contrast"}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "study.duckdb"
    with open_write(path):
        return path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_study(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("name", NAMES)
def test_header_columns_are_the_result_columns(empty, name):
    assert run(empty, name).columns == query(name).columns


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_nothing(empty, name):
    assert len(run(empty, name).rows) == (1 if name == "overview" else 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_same_every_time(small, name):
    with open_read(small) as reader:
        assert run(reader, name) == run(reader, name)


@pytest.mark.parametrize("name", NAMES)
def test_the_head_explains_itself(name):
    found = query(name)
    assert found.question.endswith("?")
    assert found.grain.startswith("one row is ")
    assert found.section in SECTIONS
    assert set(found.definitions) <= set(found.columns)
    assert set(found.columns) == {*dict.fromkeys(found.columns)}


@pytest.mark.parametrize("name", NAMES)
def test_results_are_ordered_and_parameters_bound(name):
    sql = query(name).sql
    assert "ORDER BY" in sql or query(name).grain in SINGLE
    assert all(f"${param}" in sql for param in query(name).params)


def test_a_frame_has_the_same_rows(small):
    assert len(frame(small, "trials")) == len(run(small, "trials").rows)


def test_free_sql_is_anything_that_is_not_a_name(small):
    assert run(small, "SELECT $a AS a", a=1).rows == [(1,)]


def test_an_unknown_question_lists_the_known_ones(small):
    with pytest.raises(QueryError, match="outcomes"):
        run(small, "outcome")


def test_an_unknown_parameter_lists_the_known_ones(small):
    with pytest.raises(QueryError, match=r"'tsk'.*task, condition"):
        run(small, "trials", tsk="a")


def test_a_file_without_a_head_is_named(tmp_path):
    path = tmp_path / "bare.sql"
    path.write_text("SELECT 1", encoding="utf-8")
    with pytest.raises(QueryError, match=r"'bare\.sql'.*question"):
        read_query(path)


def test_every_file_has_a_plain_name():
    assert sorted(path.stem for path in FOLDER.glob("*.sql")) == NAMES
    assert all(name == name.lower() for name in NAMES)

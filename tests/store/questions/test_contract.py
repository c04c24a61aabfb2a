"""Every question: its file says what it returns, and it runs where there is nothing to return."""

import re

import pytest

from skilljuror.base.errors import QueryError
from skilljuror.store import open_read, open_write
from skilljuror.store.questions import catalog, query, read_query, remarks_on, run
from tests.support import fabricated_records as fake
from tests.support.every import every
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


@pytest.mark.slow
@every(
    "name",
    NAMES,
    "List the columns of the SELECT in the header of skilljuror/store/questions/NAME.sql, in its order.",
)
def test_header_columns_are_the_result_columns(empty, name):
    assert run(empty, name).columns == query(name).columns


@pytest.mark.slow
@every(
    "name",
    NAMES,
    "A question of an empty study returns no row: join from `trials`, without an aggregate over all.",
)
def test_nothing_is_found_in_nothing(empty, name):
    assert len(run(empty, name).rows) == (1 if name == "overview" else 0)


@pytest.mark.slow
@every("name", NAMES, "Add columns to ORDER BY until they name one row.")
def test_the_answer_is_the_same_every_time(small, name):
    with open_read(small) as reader:
        assert run(reader, name) == run(reader, name)


@every(
    "name",
    NAMES,
    "The header needs `question: …?`, `grain: one row is …`, `section:` and definitions of its columns only.",
)
def test_the_head_explains_itself(name):
    found = query(name)
    assert found.question.endswith("?")
    assert found.grain.startswith("one row is ")
    assert found.section in SECTIONS
    assert set(found.definitions) <= set(found.columns)
    assert set(found.columns) == {*dict.fromkeys(found.columns)}


@every("name", NAMES, "Add ORDER BY, and use every parameter of the header as $name.")
def test_results_are_ordered_and_parameters_bound(name):
    sql = query(name).sql
    assert "ORDER BY" in sql or query(name).grain in SINGLE
    assert all(f"${param}" in sql for param in query(name).params)


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


@pytest.mark.slow
def test_no_question_is_silent_on_logs_as_they_were_found(tmp_path):
    """Whoever asks a question of studies there is told what it needs, and which question fits."""
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        fake.put(store, [fake.run("a", events=[fake.event("a")])])
    silent = [name for name in NAMES if not run(path, name).rows and not query(name).empty]
    assert silent == []
    (told,) = remarks_on("outcomes", run(path, "outcomes"))
    assert "`skilljuror query STUDY observed_outcomes`" in told


def test_questions_that_are_recommended_exist():
    texts = [text for entry in catalog() for text in (entry.empty, *entry.nulls.values())]
    named = [name for text in texts for name in re.findall(r"query STUDY (\w+)", text)]
    assert named
    assert set(named) <= set(NAMES)


def test_a_column_without_any_value_says_why_and_how_to_get_it(small):
    """The small study counted no tokens; its shares in bytes are there."""
    found = run(small, "process")
    assert {row["skill_token_share"] for row in found.records()} == {None}
    (told,) = remarks_on("process", found)
    assert told.startswith("skill_token_share is empty: tokens were not counted.")
    assert "`skilljuror ingest --count-tokens --study STUDY`" in told
    assert remarks_on("SELECT NULL AS skill_token_share", found) == []


@pytest.mark.parametrize(
    ("name", "param", "value", "said"),
    [
        ("measure_by_task", "metric", "agent_step", r"did you mean 'agent_steps'\?.*fanout"),
        (
            "measure_by_task",
            "metric",
            "nonsense",
            r"'nonsense' is not in this study; it has .*fanout",
        ),
        ("task_deltas", "treatment", "pdd", r"did you mean 'pd'\? it has no-skill, baseline, pd"),
        ("uptake", "judge", "nobody", "it has tracing-1"),
        ("trials", "task", "gamma", "it has alpha, beta"),
    ],
)
def test_a_name_that_is_not_there_lists_those_that_are(small, name, param, value, said):
    with pytest.raises(QueryError, match=said):
        run(small, name, **{param: value})


@pytest.mark.parametrize(
    ("name", "param", "value", "said"),
    [
        ("usage", "days", "x", "parameter days is 'x'; use a whole number"),
        ("usage", "until", "soon", "parameter until is 'soon'; use a date, such as 2026-03-05"),
        ("usage_by_version", "weekly", "ja", "parameter weekly is 'ja'; use true or false"),
        (
            "task_difficulty",
            "with_below",
            "50%",
            "parameter with_below is '50%'; use a number, such as 0.5",
        ),
    ],
)
def test_a_value_of_another_type_names_the_parameter(small, name, param, value, said):
    with pytest.raises(QueryError) as error:
        run(small, name, **{param: value})
    assert error.value.message == said


def test_where_there_is_nothing_to_name_the_answer_is_empty_and_says_why(empty):
    found = run(empty, "measure_by_task", metric="nonsense")
    assert found.rows == []
    assert remarks_on("measure_by_task", found)

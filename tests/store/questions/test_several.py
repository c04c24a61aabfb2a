"""One question asked of several studies."""

from pathlib import Path

import pytest

from skilljuror.base.errors import QueryError, UsageError
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import run, side_by_side, study_names
from tests.support.cli_process import call, complaint
from tests.support.fabricated_studies import ALPHA, BETA, small_study


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("several")
    small_study(place / "one")
    small_study(place / "two")
    (place / "old").mkdir()
    (place / "old" / "study.duckdb").write_bytes(b"")
    return place


@pytest.mark.slow
def test_the_answers_are_one_table_with_the_study_first(place):
    done = call("query", "one", "two", "outcomes", "--format", "csv", cwd=place)
    head, *lines = done.stdout.splitlines()
    assert head.startswith("study,condition,variant,tasks,planned")
    assert [line.split(",")[:2] for line in lines] == [
        [study, arm] for study in ("one", "two") for arm in ("no-skill", "baseline", "pd")
    ]
    alone = call("query", "one", "outcomes", "--format", "csv", cwd=place).stdout.splitlines()[1:]
    assert [line.partition(",")[2] for line in lines] == alone + alone


@pytest.mark.slow
def test_a_questions_own_study_is_the_name_in_the_study_file(place):
    found = side_by_side({
        name: run(place / name / "study.duckdb", "setup") for name in ("one", "two")
    })
    assert found.columns[:2] == ("study", "study_name")
    assert [row[:2] for row in found.rows] == [("one", "fabricated"), ("two", "fabricated")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("one", "one/../one", "outcomes"), "is named twice"),
        (("one", "two"), "'two' is a study; put a question after the studies"),
        (("one", "three", "outcomes"), "no study at 'three'"),
        (("one", "old", "outcomes"), "'old/study.duckdb'"),
        (("one", "two", "trials", "--param", "task=gamma"), "in 'one': task 'gamma' is not in"),
        (("one", "two", "trials", "--format", "parquet"), "parquet takes one study"),
    ],
)
def test_what_cannot_be_asked_is_one_line(place, words, told):
    assert told in complaint(call("query", *words, cwd=place))


def test_answers_with_other_columns_are_no_table():
    with pytest.raises(QueryError, match=r"columns of 'b' \(y\) are not those of 'a' \(x\)"):
        side_by_side({"a": QueryResult(("x",), []), "b": QueryResult(("y",), [])})


def test_folders_of_the_same_name_have_their_paths(tmp_path):
    paths = [tmp_path / "a" / "run", tmp_path / "b" / "run"]
    assert study_names([tmp_path / "a", tmp_path / "b"]) == {
        "a": tmp_path / "a",
        "b": tmp_path / "b",
    }
    assert study_names(paths) == {str(path): path for path in paths}
    with pytest.raises(UsageError, match="named twice"):
        study_names([Path("x"), Path("y", "..", "x")])


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["outcomes", "efficiency", "trials", "uptake", "contrast_trials"]
)
def test_a_question_of_some_tasks_leaves_the_others_out(place, question):
    """The answer of both tasks named is that of all; of one it is smaller; a wrong name is told."""
    path = place / "one" / "study.duckdb"
    assert run(path, question, tasks=f"{ALPHA} {BETA}") == run(path, question)
    assert run(path, question, tasks=ALPHA) != run(path, question)
    with pytest.raises(QueryError, match="task 'gamma' is not in this study"):
        run(path, question, tasks=f"{ALPHA} gamma")

"""`skilljuror query`: where the question comes from, what the answer is written as, and its limits."""

import csv
import io
import os

import pytest

from tests.support.cli_process import call, complaint, write_skill
from tests.support.ingested import CALL, READ
from tests.support.terminals import at_terminal


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the study `mine`, of two golden logs."""
    place = tmp_path_factory.mktemp("asked")
    assert call("ingest", READ, CALL, "--study", "mine", cwd=place).returncode == 0
    return place


def ask(place, *words, **more):
    return call("query", "mine", *words, cwd=place, **more)


def test_the_name_of_the_file_says_what_is_written(place):
    for name, begin in (("t.parquet", b"PAR1"), ("t.csv", b"trajectory,"), ("T.JSON", b'[{"traj')):
        assert ask(place, "trajectories", "--out", name).returncode == 0
        assert (place / name).read_bytes().startswith(begin)


@pytest.mark.parametrize("name", ["kept.csv", "kept.json", "kept.parquet"])
def test_an_answer_that_finds_no_room_leaves_the_file_that_was_there(place, name):
    (place / name).write_text("earlier")
    sql = "SELECT range, md5(range::VARCHAR) AS text FROM range(9000)"
    done = ask(place, sql, "--out", name, under=["prlimit", "--fsize=40000"])
    line = complaint(done)  # of the command, or of the database
    assert "free disk space and rerun the command" in line
    assert (place / name).read_text() == "earlier"
    assert not list(place.glob(f".{name}.new.*"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--out", "u.parquet", "--format", "csv"), "contradict"),
        (("--out", "u.parquet", "--json"), "contradict"),
        (("--format", "csv", "--json"), "contradict"),
        (("--out", "u.csv", "--format", "table"), "contradict"),
        (("--out", "u"), "use .csv, .json or .parquet"),
        (("--out", "u.xlsx"), "use .csv, .json or .parquet"),
        (("--out", "u", "--format", "table"), "use .csv, .json or .parquet"),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_line_and_write_nothing(place, words, told):
    done = ask(place, "trajectories", *words)
    assert done.returncode == 2
    assert told in done.stdout + done.stderr
    assert not list(place.glob("u*"))


def test_sql_comes_from_a_file_or_standard_input(place):
    (place / "count.sql").write_text("-- how many\nSELECT count(*) AS n\nFROM trajectories;\n")
    from_file = ask(place, "count.sql", "--format", "csv")
    assert from_file.stdout == "n\n2\n"
    piped = ask(place, "-", "--format", "csv", input="SELECT $x::INT AS n")
    assert "parameter" in complaint(piped)
    piped = ask(place, "-", "--format", "csv", "--param", "x=3", input="SELECT $x::INT AS n")
    assert piped.stdout == "n\n3\n"
    assert "'gone.sql'" in complaint(ask(place, "gone.sql"))
    (place / "utf16.sql").write_bytes("SELECT 1".encode("utf-16"))
    assert "is not UTF-8 text" in complaint(ask(place, "utf16.sql"))


def test_a_question_that_returns_rows_can_fail_a_job(place):
    assert ask(place, "SELECT 1 AS n", "--fail-on-rows").returncode == 1
    assert ask(place, "SELECT 1 AS n WHERE false", "--fail-on-rows", "--json").returncode == 0


def test_limits_cannot_be_lifted_by_the_question(place):
    for setting in ("memory_limit = '9GB'", "temp_directory = '/tmp'", "threads = 4"):
        assert "locked" in complaint(ask(place, f"SET {setting}"))


def test_csv_for_a_spreadsheet_runs_nothing(place):
    sql = "SELECT '=cmd|'' /C calc''!A0' AS a, -1 AS b"
    done = ask(place, sql, "--format", "csv")
    assert list(csv.reader(io.StringIO(done.stdout)))[1] == ["'=cmd|' /C calc'!A0", "-1"]
    assert ask(place, sql, "--out", "x.csv").returncode == 0
    assert (place / "x.csv").read_text() == done.stdout


WIDE = "SELECT " + ", ".join(f"'{'w' * 12}{n:02}' AS column_{n:02}" for n in range(12))


def test_a_table_that_does_not_fit_is_printed_as_records(place):
    """At 80 columns no column is narrower than a word; in a pipe COLUMNS says how wide."""
    for rows in (1, 9):
        sql = f"{WIDE} FROM range({rows})"
        _, shown = at_terminal("query", "mine", sql, cwd=place)
        narrow = ask(place, sql, env={**os.environ, "COLUMNS": "80"}).stdout
        assert shown == narrow
        assert max(map(len, shown.splitlines())) <= 80
        assert shown.count("w" * 12 + "07") == rows
        assert f"column_07  {'w' * 12}07" in shown or rows < 9
    assert len(ask(place, WIDE).stdout.splitlines()[1]) > 80


def test_a_text_that_is_long_is_folded_in_its_column(place):
    sql = "SELECT 'short' AS a, repeat('word ', 40) AS b FROM range(9)"
    _, shown = at_terminal("query", "mine", sql, cwd=place)
    assert "── 1" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_unclear_words_are_told_below_the_table_and_only_there(place):
    lines = ask(place, "skills_opened").stdout.splitlines()
    assert "bundled = the Skill belongs to the agent program itself" in lines
    assert "bundled =" not in ask(place, "skills_opened", "--format", "csv").stdout
    assert " = " not in ask(place, "SELECT 1 AS a").stdout


def test_a_build_says_what_it_has_and_what_a_database_needs(tmp_path):
    source = write_skill(tmp_path / "csv-report")
    assert call("build", source, "--out", "built", cwd=tmp_path).returncode == 0
    for command in ("query", "report"):
        words = ("builds",) if command == "query" else ()
        line = complaint(call(command, "built", *words, cwd=tmp_path))
        assert "'built' is a single build" in line
        assert "skilljuror waive built" in line
        assert "two or more sources" in line

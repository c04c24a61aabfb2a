"""`skilljuror query`: where the question comes from, what the answer is written as, and its limits."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from tests.support.cli_process import call, complaint, write_skill
from tests.support.ingested import CALL, READ
from tests.support.terminals import at_terminal

SHOWN = Path(__file__).with_name("shown")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the study `mine`, of two golden logs."""
    place = tmp_path_factory.mktemp("asked")
    assert call("ingest", READ, CALL, "--study", "mine", cwd=place).returncode == 0
    return place


def ask(place, *words, **more):
    return call("query", "mine", *words, cwd=place, **more)


@pytest.mark.slow
def test_the_name_of_the_file_says_what_is_written(place):
    for name, begin in (("t.parquet", b"PAR1"), ("t.csv", b"trajectory,"), ("T.JSON", b'[{"traj')):
        assert ask(place, "trajectories", "--out", name).returncode == 0
        assert (place / name).read_bytes().startswith(begin)


@pytest.mark.slow
def test_an_answer_of_many_rows_is_written_in_parts_and_shown_in_part(place):
    many = "SELECT range AS n FROM range(45000)"
    numbers = [*map(str, range(45000))]
    assert ask(place, many, "--format", "csv").stdout.split() == ["n", *numbers]
    assert [str(row["n"]) for row in json.loads(ask(place, many, "--json").stdout)] == numbers
    assert json.loads(ask(place, f"{many} WHERE n < 0", "--json").stdout) == []
    shown = ask(place, many)
    assert shown.stdout.split()[-1] == "19"
    assert "over 981 more rows" in shown.stderr
    assert ask(place, many, "--all").stdout.split()[-1] == "44999"


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_table_has_the_rows_and_columns_that_fit(place):
    """In a pipe COLUMNS says how wide; what is left out is counted on standard error."""
    sql = f"{WIDE} FROM range(31)"
    _, shown = at_terminal("query", "mine", sql, cwd=place)
    narrow = ask(place, sql, env={**os.environ, "COLUMNS": "80"})
    more = "… 11 more rows, 7 more columns: --all, --format csv"
    assert shown == narrow.stdout + narrow.stderr
    assert narrow.stderr == f"{more}\n"
    lines = narrow.stdout.splitlines()
    assert len(lines) == 22
    assert max(map(len, lines)) <= 80
    assert len(ask(place, sql).stdout.splitlines()[0].split()) == 12  # 400 columns


def test_all_prints_every_row_as_records_where_they_are_too_wide(place):
    sql = f"{WIDE} FROM range(31)"
    whole = ask(place, sql, "--all")
    assert len(whole.stdout.splitlines()) == 33
    assert whole.stderr == ""
    records = ask(place, sql, "--all", env={**os.environ, "COLUMNS": "80"})
    assert records.stdout.count(f"column_07  {'w' * 12}07") == 31
    assert max(map(len, records.stdout.splitlines())) <= 80
    assert len(ask(place, sql, "--format", "csv").stdout.splitlines()) == 32


def test_a_long_text_is_one_line_and_a_path_keeps_its_end(place):
    sql = "SELECT 'short' AS a, repeat('word ', 40) AS b, '/x' || repeat('/yy', 40) || '/z.md' AS c"
    _, shown = at_terminal("query", "mine", sql, cwd=place)
    (row,) = shown.splitlines()[2:]
    assert "word w…" in row
    assert row.endswith("/yy/z.md")
    assert "word " * 40 in " ".join(ask(place, sql, "--all").stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("width", ["80", "120", "200"])
@pytest.mark.parametrize("name", ["", "usage", "by_skill", "skills_opened", "usage_by_version"])
def test_what_a_person_sees(place, name, width):
    """The files below shown/ are made by the command; delete one to write it anew, and read the difference."""
    done = ask(place, *[name] * bool(name), env={**os.environ, "COLUMNS": width})
    text = "".join(f"{line.rstrip()}\n" for line in (done.stdout + done.stderr).splitlines())
    kept = SHOWN / f"{name or 'questions'}-{width}.txt"
    if not kept.exists():
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8")


def test_the_short_list_names_a_dozen_questions_and_list_all(place):
    short, every = ask(place).stdout.splitlines(), ask(place, "--list").stdout.splitlines()
    assert len(short) <= 15
    assert len(every) > 80


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

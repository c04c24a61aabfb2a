"""The tables of the paper: each is there, or says what it lacks."""

import csv
import re
import shutil
import subprocess

import pytest
from msgspec.structs import replace

from skilljuror.report.computed import Answers, data, names
from skilljuror.report.page import write_paper
from skilljuror.report.tables import Cell, latex, table_view
from skilljuror.store.connect import open_read
from tests.support import report_piles as piles
from tests.support.cli_process import call
from tests.support.fabricated_studies import small_study

TABLES = data("paper")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return small_study(tmp_path_factory.mktemp("paper"))


def test_every_table_of_the_paper_has_a_place():
    named = {name for table in TABLES for name in names(table["name"])}
    assert {f"T{n}" for n in range(1, 20)} | {"F3", "F4", "F5", "F6", "F7"} <= named
    assert all("question" in table or "note" in table for table in TABLES)
    shown = [
        (table["question"], *names(table.get("columns", "")))
        for table in TABLES
        if "question" in table and table["name"].startswith("T")
    ]
    assert len(set(shown)) == len(shown), "two tables say the same"


@pytest.mark.slow
def test_the_columns_of_a_table_are_those_of_its_question(study):
    with open_read(study) as reader:
        for table in TABLES:
            if "question" in table:
                columns = Answers(reader)(table["question"]).columns
                assert {*names(table.get("columns", ""))} <= {*columns}


@pytest.mark.slow
def test_a_table_is_written_in_three_forms(study, tmp_path):
    made, empty = write_paper(study, tmp_path)
    assert sorted([*made, *empty]) == sorted(table["name"] for table in TABLES)
    assert "T17" in empty
    page = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert all(f"## {table['name']} · {table['title']}" in page for table in TABLES)
    with open_read(study) as reader:
        rows = Answers(reader)("yields").rows
    with (tmp_path / "T3.csv").open(encoding="utf-8", newline="") as text:
        assert len(list(csv.reader(text))) == len(rows) + 1
    lines = (tmp_path / "T3.tex").read_text(encoding="utf-8").splitlines()
    assert sum(line.endswith(r" \\") for line in lines) == len(rows) + 1
    assert {len(line.split(" & ")) for line in lines if line.endswith(r" \\")} == {
        8
    }  # with why some arms are not whole


def test_a_scripted_study_is_labelled_in_the_caption(study):
    with open_read(study) as reader:
        view = table_view(Answers(reader), "outcomes")
    for scripted in (True, False):
        caption = next(
            line
            for line in latex(view, "Outcomes", "T", scripted=scripted).splitlines()
            if "caption" in line
        )
        assert ("no language model ran" in caption) is scripted


def test_a_name_cannot_run_latex(study):
    name = "\\input{/etc/passwd} $x^2_3$ 50% & #1 ~ −1 ≥ 2\n\\\\"
    with open_read(study) as reader:
        view = table_view(Answers(reader), "outcomes")
    caption = latex(view, name, "T").splitlines()[1]
    assert not re.search(r"(?<!\\)[%#&_]", caption)
    assert r"\input" not in caption.replace(r"\textbackslash{}", "")


@pytest.mark.slow
def test_it_is_asked_for_with_the_report(study):
    done = call("report", study.parent, "--paper", "--out", study.parent / "pages")
    assert done.returncode == 0, done.stderr
    assert re.search(r"paper: .*pages/paper/tables.md, \d+ tables; no data for .*T17", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("make", [small_study, piles.hostile_study])
def test_the_tables_compile(tmp_path, make):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("there is no pdflatex (Debian: apt-get install texlive-latex-recommended)")
    write_paper(make(tmp_path), tmp_path / "paper")
    options = ("-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape")
    done = subprocess.run(
        [program, *options, "tables.tex"], cwd=tmp_path / "paper", capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_row_may_begin_with_a_bracket_and_letters_without_a_glyph_are_marked(study):
    with open_read(study) as reader:
        view = table_view(Answers(reader), "outcomes")
    cells = [Cell(text, number=False) for text in ("[path]", "*", "猫\x85")]
    rows = [(cell, *view.rows[0][1:]) for cell in cells]
    lines = latex(replace(view, rows=tuple(rows)), "Outcomes", "T").splitlines()
    assert [line.partition(" & ")[0] for line in lines[6:9]] == ["{[}path]", "{*}", "?"]

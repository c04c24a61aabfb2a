"""The head of a report for a pull request."""

import re

import pytest

from skilljuror.report.page import report_markdown
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.fabricated_studies import small_study


def tables(text):
    """Heading -> rows of cells, without the row of dashes."""
    found = {}
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        heading, *lines = part.strip().splitlines()
        rows = [
            [cell.strip() for cell in line.strip("|").split(" | ")]
            for line in lines
            if line.startswith("|")
        ]
        assert len({len(row) for row in rows}) == 1, heading
        found[heading] = [rows[0], *rows[2:]]
    return found


@pytest.mark.slow
def test_a_study_has_its_verdict_and_the_first_tables(tmp_path):
    path = small_study(tmp_path)
    text = report_markdown(path)
    done = call("report", path.parent, "--format", "markdown")
    assert (done.returncode, done.stdout) == (0, text)
    assert not (path.parent / "report").exists()
    assert text.startswith("**Undetermined: 2 of 8 planned trials have no final outcome")
    assert "> Unfinished: 1 trial of " in text
    conditions = tables(text)["Which condition solves more tasks?"]
    assert [row[0].replace("\\", "") for row in conditions[1:]] == ["no-skill", "baseline", "pd"]


def test_logs_as_found_have_the_skills_that_were_opened(tmp_path):
    path = tmp_path / "study.duckdb"
    hostile = "tea|<img src=x>@team"
    with open_write(path) as store:
        fake.put(store, [fake.run("a", events=[fake.event("a", skill=hostile)])])
    text = report_markdown(path)
    assert "**1 run read, 1 skill opened**" in text
    assert "tea\\|\\<img src=x\\>@\u200bteam" in text  # no markup, no mention


def test_it_is_printed_and_written_nowhere(tmp_path):
    done = call(
        "report", small_study(tmp_path).parent, "--format", "markdown", "--out", tmp_path / "x"
    )
    assert (done.returncode, "leave out --out, --paper and --json" in done.stderr) == (2, True)

"""`advise` at the command line: the answer first, JSON on demand, and the status of a mistake."""

import json
import re

import pytest

from skilljuror.audit.skill_checks import AXES
from tests.support.cli_process import call, complaint, error, write_skill


@pytest.fixture
def skill(tmp_path):
    folder = write_skill(tmp_path / "csv-report")
    sections = (
        f"\n## {name}\n\n" + f"A report for {name} names one shop.\n" * 40
        for name in ("Postgres", "SQLite")
    )
    with (folder / "SKILL.md").open("a") as file:
        file.writelines(sections)
    return folder


@pytest.mark.slow
def test_three_sentences_come_first_and_then_the_table(skill):
    done = call("advise", skill)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Test pd: 2 sections with ")
    assert lines[1].startswith("No layout breaks ")
    assert f"skilljuror init --task my-task --skill {skill} --out study.yaml" in lines[2]
    assert lines[3] == ""
    assert any(re.match(r"references/sqlite\.md .* SQLite ", line) for line in lines)


@pytest.mark.slow
def test_a_small_skill_gets_no_study(tmp_path):
    done = call("advise", write_skill(tmp_path / "csv-report"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Leave it as it is: ")
    assert "study" not in done.stdout


def test_json_holds_the_same(skill):
    found = json.loads(call("advise", skill, "--json").stdout)
    assert found["decision"] == "study"
    assert [page["condition"] for page in found["pages"][:2]] == ["Postgres", "SQLite"]


def test_mistakes_are_bad_input(skill, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "no SKILL.md" in complaint(call("advise", tmp_path / "empty"))
    assert error(call("advise", tmp_path / "gone", "--json"))["kind"] == "BundleError"


def test_checks_come_with_their_sentence_table_and_lines(tmp_path):
    done = call("advise", write_skill(tmp_path / "csv-report"), "--checks")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.match(
        r"csv-report has \d+ words and scores \d+ of 100, the mean of six axes;", lines[0]
    )
    assert [one.split()[0] for one in lines if re.match(r"\w+ +\d+  ", one)] == [*AXES]
    assert any(re.match(r" +0 checklist: not found; to raise it: ", one) for one in lines)


def test_checks_have_options_of_their_own(skill, tmp_path):
    assert "need --checks" in complaint(call("advise", skill, "--task", tmp_path))
    assert "need --checks" in complaint(call("advise", skill, "--source", tmp_path))

"""`run`, `ingest` and `show`: what they say when things are not as they should be."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.cli_process import call, complaint, error
from tests.support.places import EXAMPLES

STUDY = f"""
name: small
trials_per_cell: 2
tasks:
  - path: {EXAMPLES}/tasks/redact-lines
    skills: {EXAMPLES}/skills/log-triage
conditions: [{{name: bare}}]
harness: {{options: {{isolation: none}}}}
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """(a folder with the study `my out`, what its run printed)."""
    place = tmp_path_factory.mktemp("place")
    (place / "study.yaml").write_text(STUDY)
    ran = call("run", "study.yaml", "--out", "my out", cwd=place)
    assert ran.returncode == 0, ran.stderr
    assert call("ingest", "--study", "my out", cwd=place).returncode == 0
    (place / "my out" / "report").mkdir()
    return place, ran.stdout


@pytest.mark.slow
def test_a_run_without_a_sandbox_says_so_and_what_comes_next(done):
    assert "note: isolation none: agents and verifiers ran as plain processes" in done[1]
    assert done[1].splitlines()[-1] == "next: skilljuror ingest --study 'my out'"


@pytest.mark.slow
def test_a_run_tells_rewards_by_task_and_warns_where_they_are_all_alike(done):
    place, said = done
    assert re.search(r"^redact-lines +2 +0.2: 2", said, re.MULTILINE)
    assert "warning: all 2 trials with a reward have reward" in said
    assert "is the verifier right? skilljuror check study.yaml" in said
    again = call("run", "study.yaml", "--out", "my out", "--unblind", cwd=place).stdout
    assert re.search(r"^redact-lines +bare +2", again, re.MULTILINE)


def test_show_tells_what_the_verifier_printed(done):
    place, _ = done
    output = place / "my out/trials/redact-lines__bare__1/raw/verifier/test-stdout.txt"
    output.write_text("".join(f"line {number}\n" for number in range(90)) + "wrong \x1b[2J total\n")
    shown = call("show", "my out", "redact-lines__bare__1", cwd=place).stdout
    assert "[verifier] …" in shown
    assert shown.rstrip().endswith(r"wrong \x1b[2J total")
    assert "line 12" not in shown
    full = call("show", "my out", "redact-lines__bare__1", "--full", cwd=place).stdout
    assert "line 12" in full


def test_a_unique_beginning_names_a_trial(done):
    shown = call("show", "my out", "redact-lines__bare__2", cwd=done[0]).stdout
    assert shown.splitlines()[0] == "redact-lines__bare__2"
    refused = complaint(call("show", "my out", "redact", cwd=done[0]))
    assert "2 trials begin with 'redact': redact-lines__bare__1, redact-lines__bare__2" in refused
    assert refused.endswith("list them: skilljuror query 'my out' trials")
    near = complaint(call("show", "my out", "redact-line__bare__1", cwd=done[0]))
    assert "did you mean 'redact-lines__bare__1'" in near


WRONG = {
    "a bad date": (("ingest", "--study", "my out", "--since", "monday"), "'monday' is not a date"),
    "a date for trials": (
        ("ingest", "--study", "my out", "--since", "2026-01-31"),
        "applies to logs",
    ),
    "logs into a study": (("ingest", ".", "--study", "my out"), "is a study with trials"),
    "a file as study": (("ingest", ".", "--study", "study.yaml"), "is a file; name a folder"),
    "a file as output": (("run", "study.yaml", "--out", "study.yaml"), "is a file; name a folder"),
    "a folder as study": (("run", "my out"), "such as my out/study.yaml"),
    "a file to query": (("query", "study.yaml", "outcomes"), "that is a file"),
    "an unknown judge": (("judge", "my out", "--judge", "solomon"), "unknown judge 'solomon'"),
    "an empty source": (
        ("audit", "my out/report", "."),
        "'my out/report' has no SKILL.md",
    ),
    "a final trial": (
        ("waive", "my out", "redact-lines__bare__1", "--reason", "so"),
        "is already final",
    ),
    "a trial that is none": (
        ("waive", "my out", "tea", "--reason", "so"),
        "no finished trial 'tea'",
    ),
    "no build": (("verify", "my out"), "no build at 'my out'"),
    "no question": (
        ("query", "my out", "nonsense"),
        "'nonsense'; `skilljuror query DIR --list` lists",
    ),
    "a misspelt question": (("query", "my out", "outcoms"), "did you mean 'outcomes'?"),
    "a write": (("query", "my out", "DELETE FROM trials"), "read-only"),
    "another file": (("query", "my out", "FROM read_csv('/etc/passwd')"), "disabled"),
}


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_one_line_in_either_form(done, words, told):
    assert told in complaint(call(*words, cwd=done[0]))
    assert told in error(call(*words, "--json", cwd=done[0]))["message"]


COUNT = "SELECT (SELECT count(*) FROM {0}) AS a, (SELECT count(*) FROM {1}) AS b"


def counts(study, *tables):
    """Rows of two tables."""
    asked = call("query", study, COUNT.format(*tables), "--format", "csv")
    return tuple(map(int, asked.stdout.splitlines()[1].split(",")))


@pytest.mark.slow
def test_ingest_again_holds_what_the_folder_holds_now(done, tmp_path):
    """From another folder, through a link, with a trial gone, with a log gone."""
    study = shutil.copytree(done[0] / "my out", tmp_path / "copy")
    (tmp_path / "link").symlink_to(study)
    assert call("ingest", "--study", "copy", cwd=tmp_path).returncode == 0
    assert call("ingest", "--study", "link", cwd=tmp_path).returncode == 0
    assert call("ingest", "--study", ".", cwd=study).returncode == 0
    assert counts(study, "sources", "trajectories") == (2, 2)
    shutil.rmtree(study / "trials" / "redact-lines__bare__1")
    assert call("ingest", "--study", study).returncode == 0
    assert counts(study, "trials", "trajectories") == (1, 1)
    shutil.rmtree(study / "trials" / "redact-lines__bare__2" / "raw")
    assert call("ingest", "--study", study).returncode == 1
    assert counts(study, "trials", "trajectories") == (1, 0)
    assert counts(study, "sources", "measures")[0] == 1


IN_USE = 75
HOLD = """
import sys
from pathlib import Path
from skilljuror.store import open_read
with open_read(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_database_that_another_process_reads_is_not_judged_in_vain(done):
    """Refused at once, before the work; as soon as the other has gone the same command does it."""
    database = done[0] / "my out" / "study.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"open\n"
        for words in (("judge", "my out"), ("ingest", "--study", "my out")):
            told = complaint(call(*words, cwd=done[0]), status=IN_USE)
            assert "in use by another process" in told
        assert call("query", "my out", "trials", cwd=done[0]).returncode == 0
        holder.stdin.close()
    assert call("judge", "my out", cwd=done[0]).returncode == 0


def test_a_folder_of_logs_is_no_place_for_a_run(done, tmp_path):
    (tmp_path / "empty").mkdir()
    found = call("ingest", tmp_path / "empty", "--study", tmp_path / "mine", cwd=done[0])
    assert found.returncode == 0
    assert "no agent run found" in found.stdout
    assert "next:" not in found.stdout
    line = complaint(call("run", "study.yaml", "--out", tmp_path / "mine", cwd=done[0]))
    assert "has ingested logs" in line


ANSWERS = (
    "run study.yaml --out",
    "ingest --study",
    "judge",
    "report",
    "query STUDY outcomes",
    "query STUDY",
    "show STUDY redact-lines__bare__1",
    "audit --rules",
)


@pytest.mark.slow
@pytest.mark.parametrize("words", ANSWERS)
def test_json_is_one_document_and_nothing_else(done, words):
    named = words.split()
    chosen = ["my out" if word == "STUDY" else word for word in named]
    if "STUDY" not in named and named[0] != "audit":
        chosen.append("my out")
    found = call(*chosen, "--json", cwd=done[0])
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)

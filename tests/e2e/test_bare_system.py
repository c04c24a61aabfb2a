"""Reading logs and Skills on a system without what Linux has: no flock, resource limits, users, signal masks, process
groups; locks as on Windows. Names of files that other systems hold for one."""

import json
import os
import shutil
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path

import pytest

from tests.support.cli_process import SKILL, call, complaint
from tests.support.places import ROOT

SOURCE = ROOT / "examples" / "skills" / "log-triage"
LOGS = ROOT / "trajectories"
STUDY = ROOT / "examples" / "study.yaml"


@pytest.fixture
def bare(tmp_path):
    """Variables of a process, and of its workers, on such a system."""
    site, seen = tmp_path / "site", tmp_path / "seen"
    site.mkdir()
    seen.mkdir()
    shutil.copy(ROOT / "tests" / "support" / "bare_system.py", site / "sitecustomize.py")
    return {
        **os.environ, "PYTHONPATH": str(site), "SEEN_BY": str(seen), "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"), "USERNAME": "Ann", "PATH": str(Path(sys.executable).parent),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_logs_and_skills_are_read_and_a_run_is_refused_in_one_line(tmp_path, bare):
    def ask(*words, status=0):
        done = call(*words, env=bare, cwd=tmp_path, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    given = json.loads(ask("ingest", LOGS, "--study", "logs", "-j", "2", "--json"))
    assert given["trajectories"] > 20
    processes = [*(tmp_path / "seen").iterdir()]
    assert len(processes) >= 3, "the command and its workers"
    assert json.loads(ask("query", "logs", "by_skill", "--json"))
    ask("query", "logs", "trajectories", "--out", "rows.parquet")
    assert ask("usage", "logs", "--since", "2000-01-01")
    sessions = tmp_path / ".codex" / "sessions"
    shutil.copytree(LOGS / "codex-rollout", sessions)
    assert json.loads(ask("usage", "--json"))
    ask("build", SOURCE, "--out", "made")
    (variant,) = (path.parent for path in Path(tmp_path, "made").rglob("pd/**/SKILL.md"))
    assert "pass" in ask("audit", SOURCE, variant)
    ask("verify", "made", "--source", SOURCE)
    ask("advise", SOURCE)
    ask("waive", "made")
    ask("judge", "logs", "-j", "2")
    ask("review", "logs", "--list")
    ask("report", "logs", "--no-quotes")
    assert (tmp_path / "logs" / "report" / "report.html").is_file()
    ask("plan", STUDY)
    for words in (("run", STUDY, "--out", "out"), ("demo", "--out", "demo")):
        line = complaint(call(*words, env=bare, cwd=tmp_path))
        assert (
            line
            == "skilljuror: a run of trials needs Linux, macOS or WSL; logs and Skills can be read here"
        )
        assert not (tmp_path / "out").exists()


HOLD = """
import sys
from pathlib import Path
from skilljuror.base.platforms import lock
with open(sys.argv[1], "ab+") as file:
    print(lock(file, wait=False), flush=True)
    sys.stdin.read()
"""


def test_a_lock_of_windows_keeps_others_out_until_it_ends(tmp_path, bare):
    def hold():
        return subprocess.Popen(
            [sys.executable, "-c", HOLD, tmp_path / "file"], env=bare, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip

    with hold() as first:
        assert first.stdout.readline() == "True\n"
        with hold() as second:
            assert second.stdout.readline() == "False\n"
            second.stdin.close()
        first.stdin.close()
    with hold() as third:
        assert third.stdout.readline() == "True\n"
        third.stdin.close()


def write_names(folder, linked, *files):
    """A Skill that links one name, and has these files."""
    (folder / "references").mkdir(parents=True)
    link = f"`references/{linked}`, [the format](references/{linked}),"
    (folder / "SKILL.md").write_text(SKILL.replace("`references/format.md`", link))
    for name in files:
        (folder / "references" / name).write_text(
            "# Format\n\n`total` is a number of two digits.\n"
        )
    return folder


COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "caf\u00e9.md") for form in ("NFC", "NFD"))
TWINS = [("ref.md", "Ref.md"), (COMPOSED, DECOMPOSED)]


@pytest.mark.parametrize(("one", "other"), TWINS, ids=["case", "Unicode form"])
def test_names_that_other_systems_hold_for_one(tmp_path, one, other):
    """Both files are built with a line that says so, or refused with it; none is written over the other."""
    source = write_names(tmp_path / "csv-report", one, one, other)
    done = call("build", source, "--out", tmp_path / "made")
    said = done.stderr if done.returncode else done.stdout
    assert "only in case or Unicode form" in said
    assert "bug" not in said
    for origin in (tmp_path / "made").rglob("origin/csv-report/references"):
        assert {path.name for path in origin.iterdir()} == {one, other}


@pytest.mark.parametrize(("one", "other"), TWINS, ids=["case", "Unicode form"])
def test_a_renamed_file_that_other_systems_still_open_is_named(tmp_path, one, other):
    """As a zip made on another system has it: Linux opens the old name no more."""
    before = write_names(tmp_path / "a" / "csv-report", one, one)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for path in sorted(write_names(tmp_path / "b" / "csv-report", one, other).rglob("*.md")):
            archive.write(path, path.relative_to(tmp_path / "b"))
    done = call("audit", before, tmp_path / "b.zip")
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if "differs in case or Unicode form" in line]
    assert any("broken link" in line for line in lines)
    assert any("is gone" in line for line in lines)

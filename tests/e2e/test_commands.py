"""Commands in processes of their own, each from the files that the one before left."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.support.places import EXAMPLES, ROOT


def call(*words, cwd, status=0):
    """Run skilljuror as a program and return its stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "skilljuror", *map(str, words)],
        cwd=cwd, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == status, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("chain")


def ask(study, question, *more):
    return json.loads(call("query", study, question, "--format", "json", *more, cwd=study.parent))


@pytest.mark.slow
def test_build_then_audit(place):
    source = sorted((EXAMPLES / "skills").iterdir())[0]
    call("build", source, "--out", "build", cwd=place)
    record = json.loads((place / "build" / "build.json").read_text(encoding="utf-8"))
    assert {item["variant"] for item in record["variants"]} >= {"flat-files", "pd"}
    pair = (source, "build/variants/pd", "--kind", "pd")
    answer = json.loads(call("audit", *pair, "--json", cwd=place))
    assert answer["verdict"] == "pass"


@pytest.mark.slow
def test_audit_compares_skills_whatever_their_folders_are_called(place):
    """The README's example: version 2 of a skill lies beside it, in a folder of another name."""
    skill = sorted((EXAMPLES / "skills").glob("*/*/SKILL.md"))[0].parent
    call("build", skill, "--out", "one", cwd=place)
    shutil.copytree(next((place / "one/variants/pd").iterdir()), place / "skill-v2")
    pair = (skill, "skill-v2", "--kind", "pd")
    answer = json.loads(call("audit", *pair, "--json", cwd=place))
    assert (answer["verdict"], answer["findings"]) == ("pass", [])


@pytest.mark.slow
def test_audit_says_no_to_a_lost_threshold(place):
    source = sorted((EXAMPLES / "skills").iterdir())[0]
    call("build", source, "--out", "damaged", cwd=place)
    root = next((place / "damaged/variants/flat-files").glob("*/SKILL.md"))
    lines = root.read_text(encoding="utf-8").splitlines(keepends=True)
    victim = max(range(len(lines)), key=lambda at: sum(c.isdigit() for c in lines[at]))
    root.write_text("".join(lines[:victim] + lines[victim + 1 :]), encoding="utf-8")
    pair = (source, "damaged/variants/flat-files", "--kind", "flat-files", "--policy", "strict")
    answer = json.loads(call("audit", *pair, "--json", cwd=place, status=1))
    assert any(row["source_text"] for row in answer["findings"] if not row["inherited"])


@pytest.mark.slow
def test_observed_mode_reads_foreign_logs(place):
    """The golden logs of two formats stand for somebody's own agent logs."""
    logs = [ROOT / "trajectories" / name for name in ("codex-rollout", "claude-session")]
    summary = json.loads(call("ingest", *logs, "--study", "observed", "--json", cwd=place))
    assert summary["trajectories"] > 0
    assert summary["events"] > 0
    rows = ask(place / "observed", "skills_opened")
    assert rows
    call("judge", "observed", cwd=place)
    call("report", "observed", "--no-quotes", cwd=place)

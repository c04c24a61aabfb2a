"""Every command in its own process, each from the files that the one before left."""

import json
import shutil
import subprocess
import sys

import pytest
import yaml

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


@pytest.fixture(scope="module")
def study(place):
    """A small study: three of the example's tasks twice in every cell, run once for all tests here."""
    study = yaml.safe_load((EXAMPLES / "study.yaml").read_text(encoding="utf-8"))
    one_of_each = {task["skills"]: task for task in study["tasks"]}
    study["tasks"] = [
        {name: str(EXAMPLES / path) for name, path in task.items()} for task in one_of_each.values()
    ]
    study["trials_per_cell"] = 2
    (place / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    call("run", "study.yaml", "--out", "study", "-j", 2, cwd=place)
    call("ingest", "--study", "study", cwd=place)
    call("judge", "study", cwd=place)
    return place / "study"


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
def test_every_planned_trial_is_a_row(study):
    plan = json.loads((study / "plan.json").read_text(encoding="utf-8"))
    trials = ask(study, "trials")
    assert len(trials) == len(plan["trials"]) == len({row["trial"] for row in trials})


@pytest.mark.slow
def test_the_no_skill_arm_touches_no_skill(study):
    sql = (
        "select count(e.event) as n from trials t join trajectories using (trial)"
        " left join events e using (trajectory) where t.condition = 'no_skill'"
    )
    assert ask(study, sql) == [{"n": 0}]


@pytest.mark.slow
def test_progressive_disclosure_opens_more_files(study):
    """Layout shows in behaviour: the same knowledge, but only pd has files to open."""
    rows = {row["condition"]: row for row in ask(study, "process")}
    assert rows["pd"]["fanout"] > rows["baseline"]["fanout"] >= 1
    assert {row["condition"]: row for row in ask(study, "uptake")}["pd"]["yes"] > 0


@pytest.mark.slow
def test_report_is_one_file_that_says_what_ran(study):
    call("report", study, cwd=study.parent)
    page = (study / "report" / "report.html").read_text(encoding="utf-8")
    assert "no language model" in page
    assert 'src="http' not in page
    drift, harmless = ask(study, "gate_power")
    assert (drift["assayed"], drift["builds"], drift["pooled"]) == (3, 3, 3)
    assert f"of {drift['planted']} planted changes (no interval: fewer than 8 sources)" in page
    edits = f"flagged {harmless['flagged']} of {harmless['planted']} harmless edits"
    assert f"{edits}: {harmless['failed']} failed, " in page
    assert (drift["policy"], drift["own_policy"]) == ("strict", True)
    assert list((study / "report").rglob("*.csv"))


@pytest.mark.slow
def test_database_is_disposable(study):
    """Delete it, ingest and judge again: the same rows."""
    names = ("outcomes", "process", "uptake", "timing")
    before = [ask(study, name) for name in names]
    (study / "study.duckdb").unlink()
    call("ingest", "--study", study, cwd=study.parent)
    call("judge", study, cwd=study.parent)
    assert [ask(study, name) for name in names] == before


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

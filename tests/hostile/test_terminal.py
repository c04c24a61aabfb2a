"""No command lets strangers' text steer the terminal: names of files, sessions, Skills and
conditions, output of tools, text of Skills."""

import json
import os
import re
import shutil

import duckdb
import pytest

from skilljuror.cli.app import app
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.cli_process import call, write_skill
from tests.support.harbor_jobs import harbor_job
from tests.support.harness_tasks import make_task
from tests.support.studies import make_study
from tests.support.terminals import at_terminal

EVIL = "a\x1b]0;owned\x07b\x1b[2Jc\x7fd\x9b31me\u202ef\u2066g\rh"
"""A title, a cleared screen, DEL, a colour by C1, letters turned about, a line begun anew."""
NAME = EVIL.replace("/", "")
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SEQUENCES = ("\x1b]0;", "\x07", "\x1b[2J", "\x7f", "\x9b", "\u202e", "\u2066")
"""What of EVIL no styling of ours ever writes."""
SHOWN = r"a\x1b]0;owned\x07b\x1b[2Jc\x7fd\x9b31me\u202ef\u2066g\rh"

COMMANDS = {
    "demo": [["demo", "--out", f"{NAME}.file"]],
    "run": [["run", "made/study.yaml", "--out", f"ran{NAME}"], ["run", f"{NAME}.yaml"]],
    "init": [["init", "--task", NAME, "--skill", "source"],
        ["init", "--task", "made/tea", "--skill", "source", "--out", f"new{NAME}.yaml"]],
    "generate": [
        ["generate", NAME, "--by", NAME, "--out", "made"],
        ["generate", "source", "--by", "outline", "--out", f"outline{NAME}"],
        ["generate", "made/tea", "--by", "command", "--argv", "true", "--out", f"left{NAME}"],
    ],
    "plan": [["plan", f"{NAME}.yaml"], ["plan", "made/study.yaml", "--from", f"gone{NAME}"]],
    "check": [["check", "lax/study.yaml"], ["check", f"{NAME}.yaml"],
        ["check", f"task{NAME}"], ["check", f"task{NAME}", "--prove"]],
    "ingest": [["ingest", f"logs{NAME}", f"gone{NAME}", "--study", f"mine{NAME}"]],
    "judge": [
        ["judge", f"mine{NAME}"],
        ["judge", f"mine{NAME}", "--judge", NAME],
        ["judge", f"ran{NAME}", f"{NAME}.yaml", "--rubric", "--tasks", "made/study.yaml"],
    ],
    "build": [
        ["build", "source", "--out", f"once{NAME}"],
        ["build", "source", f"broken{NAME}", "--out", f"twice{NAME}"],
    ],
    "advise": [
        ["advise", "source", "--study", f"mine{NAME}"],
        ["advise", f"gone{NAME}"],
        ["advise", f"broken{NAME}", "--checks", "--source", "other"],
        ["advise", "source", "--checks", "--task", NAME],
    ],
    "audit": [
        ["audit", f"broken{NAME}", "other", "--kind", "pd"],
        ["audit", "source", "other", "--kind", "pd"],
        ["audit", "source", "other", "--format", "markdown"],
        ["audit", "source", "other", "--format", "github"],
        ["audit", "source", "other", "--format", "sarif"],
        ["audit", "--rules", NAME],
    ],
    "heat": [["heat", f"mine{NAME}"]],
    "waive": [
        ["waive", f"built{NAME}"],
        ["waive", f"built{NAME}", NAME, "--reason", NAME, "--by", NAME],
        ["waive", f"ran{NAME}", NAME, "--reason", NAME],
    ],
    "rubric": [["rubric", f"built{NAME}"]],
    "review": [
        ["review", f"mine{NAME}", "--list"],
        ["review", f"mine{NAME}", "uptake:RUN#0"],
        ["review", f"built{NAME}", NAME],
        ["review", f"built{NAME}", "--decide", f"{NAME}=yes", "--reviewer", NAME],
        ["review", f"built{NAME}", "--import", f"{NAME}.yaml"],
    ],
    "verify": [["verify", f"built{NAME}"]],
    "assay": [["assay", f"built{NAME}", "--sites", "1"]],
    "show": [["show", f"mine{NAME}", "RUN"], ["show", f"mine{NAME}", "RUN", "--full"]],
    "report": [["report", f"mine{NAME}"], ["report", f"gone{NAME}"]],
    "query": [
        ["query", f"mine{NAME}", "trajectories"],
        ["query", f"mine{NAME}", "skills_opened", "-x"],
        ["query", f"mine{NAME}", "FROM sources", "--format", "csv"],
        ["query", f"mine{NAME}", "FROM planned_trials", "--format", "json"],
        ["query", f"mine{NAME}", f"SELECT 1 AS \"{NAME}\", '{NAME}' AS b"],
        ["query", f"mine{NAME}", NAME],
        ["query", f"mine{NAME}", "observed_trials", "--param", NAME],
    ],
    "events": [["events", f"logs{NAME}", f"gone{NAME}"]],
}  # fmt: skip
"""What is asked of every command; a command that is new needs words here."""
QUIET = {"advise", "verify", "waive"}
"""Commands that have nothing of a stranger's to say here."""
SAMPLE = {"query", "show"}
"""Commands of the fast tier."""
each = pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.slow) for one in COMMANDS],
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with hostile logs, a study of them, a source, a build and a study file."""
    place = tmp_path_factory.mktemp("hostile")
    skill = f"/root/.claude/skills/{NAME}"
    write_lines(
        place / f"logs{NAME}" / "projects" / "-w" / f"{NAME}.jsonl",
        user(1, f"{EVIL} {skill}/SKILL.md", sessionId=NAME),
        assistant(2, tool_use("t1", "Skill", skill=NAME), sessionId=NAME),
        user(3, [tool_result("t1", f"Launching skill: {NAME}")], sessionId=NAME),
        assistant(4, tool_use("t2", "Bash", command=f"cat '{skill}/SKILL.md' # {EVIL}"), sessionId=NAME),
        user(5, [tool_result("t2", f"# Title {EVIL}\nquarterly_ledger {EVIL}\n")], sessionId=NAME),
        assistant(6, {"type": "text", "text": f"quarterly_ledger {EVIL}"}, sessionId=NAME),
        assistant(7, tool_use("t3", NAME, path=f"{skill}/references/{NAME}"), sessionId=NAME),
    )  # fmt: skip
    assert call("ingest", f"logs{NAME}", "--study", f"mine{NAME}", cwd=place).returncode == 0
    assert call("judge", f"mine{NAME}", cwd=place).returncode == 0
    with duckdb.connect(str(place / f"mine{NAME}" / "study.duckdb")) as database:
        database.execute(
            "INSERT INTO study BY NAME (SELECT ? AS study, ? AS agent, ? AS harness, '0' AS config_digest,"
            " '0' AS skilljuror_version, 0 AS seed, 1 AS trials_per_cell, 'silent' AS disclosure,"
            " ['skill'] AS vary, 'strict_pass' AS primary_outcome, '{}' AS config, []::VARCHAR[] AS accept_skills)",
            [NAME] * 3,
        )
        database.execute(
            "INSERT INTO planned_trials BY NAME"
            " (SELECT ? AS trial, ? AS task, ? AS condition,"
            " 1 AS number, 0 AS position, 0 AS block, 0 AS seed)",
            [NAME] * 3,
        )
    source = write_skill(place / "source")
    text = (source / "SKILL.md").read_text()
    (source / "SKILL.md").write_text(text + f"\n## Title {EVIL}\n\nMust stay below 4 {EVIL} mm.\n")
    write_skill(place / "other")
    (write_skill(place / f"broken{NAME}") / "SKILL.md").write_text(f"---\n{EVIL}: [\n---\n")
    assert call("build", source, "--out", f"built{NAME}", cwd=place).returncode in {0, 1, 3}
    harbor_job(place / f"jobs{NAME}", "pd", kiln={"exception_info": {"exception_type": EVIL}})
    harbor_job(place / f"jobs{NAME}", NAME, glaze={"task_name": EVIL})
    (place / "map.yaml").write_text('name: a\nconditions: [{name: pd, trials: "*/pd/*"}]\n')
    (place / "made").mkdir()
    make_study(place / "made", script=f"echo '{EVIL}'; echo done > out.txt", trials=1)
    shutil.copy(place / "made" / "study.yaml", place / f"{NAME}.yaml")
    write_skill(make_task(place / f"task{NAME}") / "environment" / "skills")
    (place / "lax").mkdir()
    make_study(place / "lax")
    verifier = f"#!/bin/bash\necho '{EVIL}'\necho 1 > \"$LOGS_DIR/verifier/reward.txt\"\n"
    (place / "lax/tea/tests/test.sh").write_text(verifier)
    bad = (
        (place / "made" / "study.yaml").read_text().replace("name: a", f"name: {json.dumps(NAME)}")
    )
    (place / f"{NAME}.yaml").write_text(bad)
    (place / f"{NAME}.file").write_text("")
    return place


@pytest.fixture(scope="module")
def words(place):
    """The words for every command, with the key of the one run put in."""
    asked = call("query", f"mine{NAME}", "trajectories", "--json", cwd=place)
    (run,) = json.loads(asked.stdout)
    return {
        name: [[word.replace("RUN", run["trajectory"]) for word in one] for one in lines]
        for name, lines in COMMANDS.items()
    }


def test_every_command_is_asked():
    assert {
        one.name or one.callback.__name__ for one in app.registered_commands if one.callback
    } == set(COMMANDS)


@each
def test_nothing_in_a_pipe_steers_a_terminal(place, words, name):
    said = ""
    for line in words[name]:
        done = call(*line, cwd=place)
        assert done.returncode != 70, done.stderr
        assert not STEERING.search(done.stdout + done.stderr), line
        said += done.stdout + done.stderr
    assert name in QUIET or r"\x1b]0;owned\x07" in said


@each
def test_nothing_at_a_terminal_steers_it(place, words, name):
    status, shown = at_terminal(*words[name][0], cwd=place)
    assert status != 70, shown
    assert not [one for one in SEQUENCES if one in shown]
    assert name in QUIET or "owned" in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_json_says_the_same_and_steers_nothing(place, words, name):
    done = call(*words[name][0], "--json", cwd=place)
    assert not STEERING.search(done.stdout + done.stderr)
    for line in done.stdout.splitlines():
        json.loads(line)


def test_what_is_shown_can_be_told_from_what_it_was(place):
    told = call("query", f"mine{NAME}", "gone\x1b[31m", cwd=place).stderr
    assert r"\x1b[31m" in told
    asked = call("query", f"mine{NAME}", f"SELECT '{EVIL}' AS a", "--format", "csv", cwd=place)
    assert asked.stdout == f'a\n"{SHOWN}"\n'
    told = call("query", f"mine{NAME}", f"SELECT '{EVIL}' AS a", "--json", cwd=place).stdout
    assert json.loads(told) == [{"a": EVIL}]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_a_stream_that_cannot_write_a_letter_spells_it_out(place, encoding):
    words = ("query", f"mine{NAME}", "SELECT 'é–●' AS a")
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = call(*words, cwd=place, env=env, encoding=encoding)
    assert done.returncode == 0, done.stderr
    told = call(*words, "--json", cwd=place, env=env, encoding=encoding)
    assert json.loads(told.stdout) == [{"a": "é–●"}]

"""No command lets strangers' text steer the terminal: names of files, sessions, Skills and
conditions, output of tools, text of Skills."""

import json
import os
import re

import pytest

from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.cli_process import call, write_skill
from tests.support.terminals import at_terminal

EVIL = "a\x1b]0;owned\x07b\x1b[2Jc\x7fd\x9b31me\u202ef\u2066g\rh"
"""A title, a cleared screen, DEL, a colour by C1, letters turned about, a line begun anew."""
NAME = EVIL.replace("/", "")
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SEQUENCES = ("\x1b]0;", "\x07", "\x1b[2J", "\x7f", "\x9b", "\u202e", "\u2066")
"""What of EVIL no styling of ours ever writes."""
SHOWN = r"a\x1b]0;owned\x07b\x1b[2Jc\x7fd\x9b31me\u202ef\u2066g\rh"

COMMANDS = {
    "query": ["query", f"mine{NAME}", "trajectories"],
    "wrong words": ["query", f"mine{NAME}", NAME],
    "show": ["show", f"mine{NAME}", "RUN", "--full"],
    "view": ["view", f"logs{NAME}", "--no-open"],
    "events": ["events", f"logs{NAME}"],
    "audit": ["audit", "source", "other", "--kind", "pd"],
    "run": ["run", f"{NAME}.yaml"],
    "progress": ["ingest", f"logs{NAME}", "--study", f"again{NAME}"],
}
"""One command of each kind: they print in one place."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with hostile logs, a study of them, and two Skills."""
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
    source = write_skill(place / "source")
    text = (source / "SKILL.md").read_text()
    (source / "SKILL.md").write_text(text + f"\n## Title {EVIL}\n\nMust stay below 4 {EVIL} mm.\n")
    write_skill(place / "other")
    return place


@pytest.fixture(params=COMMANDS)
def words(request, place):
    """A command, with the key of the one run put in."""
    asked = call("query", f"mine{NAME}", "trajectories", "--json", cwd=place)
    (run,) = json.loads(asked.stdout)
    return [word.replace("RUN", run["trajectory"]) for word in COMMANDS[request.param]]


@pytest.mark.slow
def test_nothing_steers_a_terminal(place, words):
    done = call(*words, cwd=place)
    assert done.returncode != 70, done.stderr
    assert not STEERING.search(done.stdout + done.stderr)
    as_json = call(*words, "--json", cwd=place)
    assert not STEERING.search(as_json.stdout + as_json.stderr)
    status, shown = at_terminal(*words, cwd=place)
    assert status == done.returncode
    assert not [one for one in SEQUENCES if one in shown]


@pytest.mark.slow
def test_what_is_shown_can_be_told_from_what_it_was(place):
    told = call("query", f"mine{NAME}", "gone\x1b[31m", cwd=place).stderr
    assert r"\x1b[31m" in told
    asked = call("query", f"mine{NAME}", f"SELECT '{EVIL}' AS a", "--format", "csv", cwd=place)
    assert asked.stdout == f'a\n"{SHOWN}"\n'
    told = call("query", f"mine{NAME}", f"SELECT '{EVIL}' AS a", "--json", cwd=place).stdout
    assert json.loads(told) == [{"a": EVIL}]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_a_stream_that_cannot_write_a_letter_spells_it_out(place, encoding):
    words = ("query", f"mine{NAME}", "SELECT 'é–●' AS a")
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = call(*words, cwd=place, env=env, encoding=encoding)
    assert done.returncode == 0, done.stderr
    told = call(*words, "--json", cwd=place, env=env, encoding=encoding)
    assert json.loads(told.stdout) == [{"a": "é–●"}]

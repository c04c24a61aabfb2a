"""The chain from a resource's signal to the outcome, in the tables and in `show`."""

import pytest

from skilljuror.store.questions import run
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.cli_process import call

pytestmark = pytest.mark.slow


@pytest.fixture
def logs(tmp_path):
    failed = {**tool_result("t1", "ValueError: lost hour"), "is_error": True}
    skill = "Where a summer hour is lost, compare by wall_time_of_zone."
    write_lines(
        tmp_path / "projects" / "-w" / "a.jsonl",
        user(1, "Mend clock.py."),
        assistant(2, tool_use("t1", command="python clock.py")),
        user(3, [failed]),
        assistant(4, tool_use("t2", command="cat ~/.claude/skills/clocks/SKILL.md")),
        user(5, [tool_result("t2", skill)]),
        assistant(
            6, tool_use("t3", "Write", file_path="/w/clock.py", content="wall_time_of_zone(t)")
        ),
        user(7, [tool_result("t3", "File created")]),
        assistant(8, tool_use("t4", command="python clock.py")),
        user(9, [tool_result("t4", "12:00")]),
        assistant(10, {"type": "text", "text": "Mended."}),
    )
    return tmp_path


CHAIN = """
SELECT
    u.run, r.condition, r.task, v.judge, u.skill, u.resource, u.kind, u.step, v.category,
    v.source_quote, v.action_step, v.action_quote,
    f.effect, f.effect_step, f.quote AS effect_quote,
    r.reward, r.status, r.exception
FROM verdicts AS v
JOIN uses AS u ON u.event = v.event
JOIN runs AS r ON r.run = u.run
LEFT JOIN effects AS f
    ON f.trial = v.trial AND f.agent = u.agent
    AND f.step = v.action_step AND f.line = v.action_line
WHERE v.label = 'yes'
ORDER BY u.run, v.judge, u.trajectory, u.ordinal
"""


def chain(folder):
    (row,) = run(folder / "mine" / "study.duckdb", CHAIN).records()
    return row


def test_every_link_is_told(logs):
    assert call("ingest", "projects", "--study", "mine", cwd=logs).returncode == 0
    assert call("judge", "mine", cwd=logs).returncode == 0
    row = chain(logs)
    assert row["source_quote"] == "Where a summer hour is lost, compare by wall_time_of_zone."
    assert row["action_quote"] == "wall_time_of_zone(t)"
    assert (row["step"], row["action_step"], row["effect_step"]) == (2, 3, 4)
    assert (row["effect"], row["effect_quote"]) == ("error_gone", "12:00")
    assert (row["reward"], row["status"]) == (None, "observed")
    shown = call("show", "mine", row["run"], cwd=logs).stdout
    assert "signal: Where a summer hour is lost" in shown
    assert "effect: error gone in step 4: 12:00" in shown
    assert call("judge", "mine", "--again", cwd=logs).returncode == 0
    assert chain(logs) == row


def test_a_study_without_quotes_keeps_the_effect_and_no_word(logs):
    for command in (("ingest", "projects", "--study", "mine", "--no-quotes"), ("judge", "mine")):
        assert call(*command, cwd=logs).returncode == 0
    row = chain(logs)
    assert (row["effect"], row["effect_step"]) == ("error_gone", 4)
    assert row["source_quote"] is row["action_quote"] is row["effect_quote"] is None
    shown = call("show", "mine", row["run"], cwd=logs).stdout
    assert "effect: error gone in step 4\n" in shown
    assert "12:00" not in shown


def test_quotes_of_effects_are_taken_out_of_a_study_that_had_them(logs):
    assert call("ingest", "projects", "--study", "mine", cwd=logs).returncode == 0
    assert call("judge", "mine", cwd=logs).returncode == 0
    assert call("ingest", "projects", "--study", "mine", "--no-quotes", cwd=logs).returncode == 0
    quotes = run(logs / "mine" / "study.duckdb", "SELECT quote FROM effects").rows
    assert quotes
    assert {quote for (quote,) in quotes} == {None}

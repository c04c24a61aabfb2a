"""A tool that nobody knows: what it may have opened is unknown, and never "not opened"."""

import json

import pytest

from skilljuror.base.results import unknown_tools_note
from skilljuror.events.attribute import attribute
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support.codex_rollouts import ROOT, SKILL, function, program, rollout
from tests.support.parsed_logs import read_one

LOOP = (
    f"for (const f of ['SKILL.md']) text(await tools.exec_command({{cmd: `cat {SKILL}/${{f}}`}}))"
)


@pytest.mark.parametrize(
    ("records", "tools"),
    [
        (program(LOOP, "cut"), [("exec", 1, ("kiln-log",))]),
        (function("glance", {"at": 1}, f"{SKILL}/SKILL.md: seen"), [("glance", 1, ("kiln-log",))]),
        (function("glance", {"in": f"{SKILL}/"}, "seen"), [("glance", 1, ("kiln-log",))]),
        (function("glance", {"at": 1}, f"in {SKILL}/"), [("glance", 1, ())]),
        (function("glance", {"at": "/w/SKILL.md"}, "seen"), [("glance", 1, ())]),
        (function("glance", {"path": f"{SKILL}/SKILL.md"}, ROOT), [("glance", 1, ("kiln-log",))]),
        (function("glance", {"in": f"{SKILL}/"}, "unsupported call: glance"), []),
        (function("update_plan", {"plan": f"Read {SKILL}/SKILL.md"}, "ok"), []),
        (program("text(1 + 1)", "2"), []),
    ],
)
def test_a_skill_that_an_unknown_tool_names_is_unknown(tmp_path, records, tools):
    found = attribute(read_one(rollout(tmp_path, *records), "codex-rollout"), None)
    assert [(one.tool, one.calls, one.skills) for one in found.unknown_tools] == tools


def resource(uri: str, text: str) -> str:
    return json.dumps({"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]})


@pytest.mark.slow
def test_a_run_with_an_unknown_tool_does_not_count_as_unopened(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    rollout(logs, *program(LOOP, "cut"), thread="loop")
    rollout(logs, *function("glance", {}, f"{SKILL}/SKILL.md"), thread="glance")
    summary = ingest_logs(tmp_path / "study", [logs])
    assert summary.unknown_tools == (("exec", 1, 1), ("glance", 1, 1))

    database = tmp_path / "study" / "study.duckdb"

    def one(question: str, *columns: str):
        (row,) = run(database, question).records()
        return tuple(row[name] for name in columns)

    rate = ("offered", "opened", "unknown", "open_rate")
    assert one("by_skill", *rate, "uses") == (2, None, 2, None, None)
    assert one("usage", *rate) == (2, None, 2, None)
    assert one("skills_opened", "offered", "opened", "unknown") == (2, None, 2)
    assert one("never_opened", "runs", "unknown") == (2, 2)
    assert one("invocation", "invoked", "invocation_rate", "never") == (None, None, 0)
    assert one("invocation_by_skill", "known", "invoked", "invocation_rate") == (2, None, None)
    tools = {row["unknown_tools"] for row in run(database, "sources").records()}
    assert tools == {"exec 1", "glance 1"}
    rollout(logs, *function("exec_command", {"cmd": f"cat {SKILL}/SKILL.md"}, ROOT))
    summary = ingest_logs(tmp_path / "study", [logs])
    assert summary.unknown_tools == (("exec", 1, 1), ("glance", 1, 1))
    assert one("by_skill", *rate, "uses") == (3, 1, 2, 1.0, 1)
    assert one("usage", *rate) == (3, 1, 2, 1.0)
    reasons = "SELECT DISTINCT reason FROM measures WHERE metric IN ('skill_invoked', 'fanout', 'exposed') AND value IS NULL"  # fmt: skip
    assert run(database, reasons).rows == [("unknown_tool",)]


def test_the_note_names_the_first_tools():
    tools = [(f"t{at}", 9 - at, at % 2) for at in range(7)]
    said = unknown_tools_note(tools)
    assert said.startswith("calls of tools that skilljuror does not know: t0 9, t1 8")
    assert said.endswith("and 2 more; in 3 runs they may have opened a Skill, whose use is unknown")
    assert unknown_tools_note([("look", 1, 0)]).endswith("know: look 1")

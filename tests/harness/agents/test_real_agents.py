"""Real agent programs, run against a scripted model on the loopback device: no account, no network."""

import json
import os

import pytest

from skilljuror.base.files import read_record
from skilljuror.base.study import TrialRecord
from tests.support.cli_process import call
from tests.support.harness_tasks import needs_bwrap
from tests.support.live_agents import AGENTS, rows, why_not
from tests.support.model_server import model_server, usage
from tests.support.planted_homes import MARK, planted_home
from tests.support.studies import make_study

KEY = "sk-live-0123456789/+abcdefghijklmnop"
TWO_TRIALS = 300.0
"""Seconds of a command that runs two trials of at most 120 s each."""
TRIALS = """
SELECT condition, t.reward, t.agent, t.model, network, t.agent_version IS NOT NULL, format, steps, output
FROM trials t JOIN trajectories ON trajectory = t.trial
ORDER BY condition
"""
EFFORT: dict[str, dict[str, str]] = {"gemini-cli": {}}
"""What is said of an agent that takes no effort."""
READS = "SELECT DISTINCT trajectory, skill, resource FROM events WHERE kind IN ('read', 'activate')"


@pytest.mark.live
@pytest.mark.timeout(600)
@needs_bwrap
@pytest.mark.parametrize("agent", AGENTS, ids=str)
def test_a_real_agent_in_two_conditions(agent, tmp_path):
    if why := why_not(agent):
        pytest.skip(why)
    out = tmp_path / "out"
    said = ""
    with model_server(agent.scripts()) as (address, requests):
        study = make_study(
            tmp_path, trials=1, variants={"none": None, "skill": "origin"},
            agent=agent.choice(address, **EFFORT.get(agent.name, {"effort": "high"})),
            harness={"timeout_sec": 120, "options": {"network": [address.removeprefix("http://")]}},
        )  # fmt: skip
        home = {"HOME": str(planted_home(tmp_path / "home"))}
        for words in (("run", study, "--out", out), ("ingest", "--study", out), ("report", out)):
            done = call(*words, env={**os.environ, **home, agent.key: KEY}, timeout=TWO_TRIALS)
            assert done.returncode == 0, done.stderr
            said += done.stdout + done.stderr
    assert not [request.path for request in requests if MARK in json.dumps(request.body)]
    assert {request.key for request in requests} == {KEY}
    assert [request.path for request in requests if agent.api not in request.path] == []
    if agent.name not in EFFORT:
        assert all('effort": "high"' in json.dumps(request.body) for request in requests)
    bundled = ("skill-creator", "simplify: ")  # Skills of Codex and Gemini CLI, and of Claude Code
    assert not [name for name in bundled for request in requests if name in str(request.body)]
    assert rows(out, READS) == [["tea__skill__1", "brew", "SKILL.md"]]
    web = ("web_search", "WebSearch", "WebFetch", "web_fetch")
    assert not [
        tool
        for tool in web
        for request in requests
        if f'"{tool}"' in json.dumps(request.body.get("tools"))
    ]
    none, skill = rows(out, TRIALS)
    about = [agent.name, agent.model, "allowlist", True, agent.format]
    for trial, arm, reward, steps in ((none, "none", 0.0, 2), (skill, "skill", 1.0, 3)):
        tokens = sum(usage(turn).output for turn in range(steps))
        assert trial == [arm, reward, *about, steps, tokens]
    tools = read_record(TrialRecord, out / "trials/tea__skill__1/trial.json").tools
    assert bool(tools and "Skill" in tools) == (agent.name == "claude-code")
    assert KEY[:20] not in said
    files = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in files if KEY[:20].encode() in path.read_bytes()] == []

"""Real agent programs run by the real Harbor, against a scripted model on the loopback device."""

import json
import os

import pytest

from tests.support.cli_process import call
from tests.support.harbor_venv import HARBOR, needs_harbor
from tests.support.live_agents import AGENTS, LIVE, rows, why_not
from tests.support.model_server import model_server
from tests.support.studies import edit_study, make_study

KEY = "sk-live-0123456789/+abcdefghijklmnop"
TWO_TRIALS = 300.0
"""Seconds of a command that runs two trials of at most 120 s each."""
TRIALS = """
SELECT condition, t.reward, t.agent, network, format FROM trials t JOIN trajectories ON trajectory = t.trial
ORDER BY condition
"""
READS = """
SELECT DISTINCT condition, skill, resource FROM events e JOIN trials t ON e.trajectory = t.trial
WHERE kind IN ('read', 'activate')
"""


def options(agent, address):
    """What Harbor has to be told to reach the scripted model."""
    if agent.name == "claude-code":
        return {}
    provider = {
        "name": "loop", "base_url": address + agent.api, "env_key": agent.key,
        "wire_api": "responses", "supports_websockets": False,
    }  # fmt: skip
    return {"config": {"model_provider": "loop", "model_providers": {"loop": provider}}}


@pytest.mark.live
@pytest.mark.timeout(600)
@needs_harbor
@pytest.mark.parametrize("agent", AGENTS[:2], ids=str)
def test_a_real_agent_in_harbor_in_two_conditions(agent, tmp_path):
    if why := why_not(agent):
        pytest.skip(why)
    out = tmp_path / "out"
    programs = LIVE.resolve() / "node_modules"
    with model_server(agent.scripts()) as (address, requests):
        sandbox = {"show": [str(programs)], "path": [str(programs / ".bin")]}
        harness = {"program": str(HARBOR), "environment_options": sandbox}
        study = make_study(
            tmp_path, trials=1, variants={"none": None, "skill": "origin"},
            agent={"name": agent.name, "model": agent.model,
                   "options": {"keys": [agent.key], **options(agent, address)}},
            harness={"name": "harbor", "timeout_sec": 120, "options": harness},
        )  # fmt: skip
        # Harbor hands Claude Code no settings, and 2.1.332 lists this Skill of its own without them
        edit_study(study, accept_skills=["plugin-authoring"])
        env = {**os.environ, agent.key: KEY, "ANTHROPIC_BASE_URL": address}
        for words in (("run", study, "--out", out, "--jobs", 2), ("ingest", "--study", out)):
            done = call(*words, env=env, timeout=TWO_TRIALS)
            assert done.returncode == 0, done.stderr
    about = [agent.name, "host", agent.format]
    assert rows(out, TRIALS) == [["none", 0.0, *about], ["skill", 1.0, *about]]
    assert rows(out, READS) == [["skill", "brew", "SKILL.md"]]
    assert {request.key for request in requests} == {KEY}
    if agent.name == "codex":
        assert not [one for one in requests if "skill-creator" in str(one.body)]
        part = json.loads((out / "trials/tea__none__1/raw/agent.json").read_text())["argv"][1]
        assert json.loads(part)["kwargs"]["config"]["skills"] == {"bundled": {"enabled": False}}
    files = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in files if KEY[:20].encode() in path.read_bytes()] == []

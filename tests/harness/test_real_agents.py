"""Real agent programs in studies, against a scripted model on the loopback device: no account, no network."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.study.run import StopRules, run_study
from tests.support.cli_process import call
from tests.support.harbor_venv import OPTIONS, needs_harbor
from tests.support.harness_tasks import make_task, needs_bwrap
from tests.support.live_agents import AGENTS, LIVE, rows, why_not
from tests.support.model_server import Step, model_server, shell, usage
from tests.support.planted_homes import MARK, planted_home
from tests.support.provider_faults import OWN_ENDS, RECOVERED, faults_of
from tests.support.studies import edit_study, make_study

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


HARBOR_TRIALS = """
SELECT condition, t.reward, t.agent, network, format FROM trials t JOIN trajectories ON trajectory = t.trial
ORDER BY condition
"""
HARBOR_READS = """
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
        node = Path(shutil.which("node") or "").resolve()
        shown = {"show": [str(programs), str(node)], "path": f"{programs / '.bin'}:{node.parent}"}
        harness = {**OPTIONS, "environment_options": shown}
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
    about = [agent.name, "public", agent.format]
    assert rows(out, HARBOR_TRIALS) == [["none", 0.0, *about], ["skill", 1.0, *about]]
    assert rows(out, HARBOR_READS) == [["skill", "brew", "SKILL.md"]]
    assert {request.key for request in requests} == {KEY}
    if agent.name == "codex":
        assert not [one for one in requests if "skill-creator" in str(one.body)]
        part = json.loads((out / "trials/tea__none__1/raw/agent.json").read_text())["argv"][1]
        assert json.loads(part)["kwargs"]["config"]["skills"] == {"bundled": {"enabled": False}}
    files = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in files if KEY[:20].encode() in path.read_bytes()] == []


SECONDS = 20
"""Time limit of a trial; Claude Code asks again for minutes."""
PLACES = {"before": 0, "after": 1}
"""Before or after the first answer -> number of the turn that fails."""


def counted(record):
    """Whether the run's breaker counts a trial."""
    try:
        StopRules(StudyFolder(Path()), 1).check_answer(record)
    except HarnessError:
        return True
    return False


def row(fault, place, record):
    """A row of the table."""
    scored = "not scored" if record.reward is None else f"reward {record.reward:g}"
    end, breaker = record.end, "counted" if counted(record) else "not counted"
    why = (record.message or "").rpartition("no answer of the model: ")[2][:70]
    return f"{fault:28} | {place:6} | {end:9} | {scored:10} | {breaker:11} | {why}"


@pytest.mark.live
@pytest.mark.timeout(600)
@needs_bwrap
@pytest.mark.parametrize("agent", AGENTS[:2], ids=str)
def test_a_table_of_faults(agent, tmp_path, monkeypatch):
    if why := why_not(agent):
        pytest.skip(why)
    faults = {
        (fault, place): f"{fault.replace(' ', '-').replace(',', '')}-{place}"
        for fault in faults_of(agent.name)
        for place in PLACES
    }
    for name in faults.values():
        make_task(tmp_path / name, **{"instruction.md": f"Write done to out.txt. [{name}]\n"})
    plays = {
        f"[{name}]": faults_of(agent.name)[fault]._replace(after=PLACES[place])
        for (fault, place), name in faults.items()
    }
    monkeypatch.setenv(agent.key, "sk-live-0123456789abcdef")
    work = [shell(agent.name, "echo late > out.txt"), Step("It is done.")]
    with model_server({"": work}, plays) as (address, _):
        study = make_study(
            tmp_path, trials=1, variants={"a": None}, tasks=[{"path": name} for name in faults.values()],
            agent=agent.choice(address), harness={"timeout_sec": SECONDS},
            stop_after_unanswered=len(faults) + 1,
        )  # fmt: skip
        run_study(study, tmp_path / "out", jobs=8)
    found = {
        key: read_record(TrialRecord, tmp_path / "out/trials" / f"{name}__a__1" / "trial.json")
        for key, name in faults.items()
    }
    head = f"{agent}: fault | before or after the first answer | end | reward | breaker | cause"
    lines = [head, *(row(*key, record) for key, record in found.items())]
    sys.stdout.write("\n".join(lines) + "\n")
    for (fault, place), record in found.items():
        own = fault == RECOVERED or (place == "after" and fault in OWN_ENDS)
        ended = ("scored", 0.0, False) if own else ("no_answer", None, True)
        assert (record.end, record.reward, counted(record)) == ended, (fault, place, record.message)

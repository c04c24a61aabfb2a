"""Any command line as an agent: a real one, which asks a model on the loopback device."""

import os

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.harness.agents.command import command_program
from tests.support.cli_process import call
from tests.support.harness_tasks import needs_bwrap
from tests.support.live_agents import LiveAgent, rows
from tests.support.model_server import model_server, shell, usage
from tests.support.places import ROOT
from tests.support.studies import make_study

SCRIPT = ROOT / "tests" / "support" / "asking_agent.py"
KEY = "asking-key-0123456789/+abcdef"
READS = shell("mini-swe-agent", 'cat "$SKILLS_DIR"/*/SKILL.md')
ASKING = LiveAgent("mini-swe-agent", "", "ASKING_KEY", "/v1", "scripted", "atif", READS)


@needs_bwrap
@pytest.mark.slow
def test_a_program_of_ones_own_in_two_conditions(tmp_path):
    out = tmp_path / "out"
    said = ""
    with model_server(ASKING.scripts()) as (address, requests):
        options = {
            "argv": [str(SCRIPT), "{prompt}", "~/.asking/logs"],
            "name": "asking", "version": "1", "skills": None, "logs": ["~/.asking"],
            "keys": ["ASKING_KEY"], "env": {"BASE_URL": address},
        }  # fmt: skip
        study = make_study(
            tmp_path, trials=1, variants={"none": None, "skill": "origin"},
            agent={"name": "command", "model": "scripted", "options": options},
            harness={"timeout_sec": 60},
        )  # fmt: skip
        for words in (("run", study, "--out", out), ("ingest", "--study", out)):
            done = call(*words, env={**os.environ, "ASKING_KEY": KEY})
            assert done.returncode == 0, done.stderr
            said += done.stdout + done.stderr
    assert {request.key for request in requests} == {KEY}
    none, skill = rows(out, "SELECT condition, t.reward, t.agent, t.agent_version, t.model, output"
        " FROM trials t JOIN trajectories ON trajectory = t.trial ORDER BY ALL")  # fmt: skip
    tokens = [sum(usage(turn).output for turn in range(steps)) for steps in (3, 4)]
    assert none == ["none", 0.0, "asking", "1", "scripted", tokens[0]]
    assert skill == ["skill", 1.0, "asking", "1", "scripted", tokens[1]]
    reads = "SELECT trajectory, skill, resource FROM events WHERE kind = 'read'"
    assert rows(out, reads) == [["tea__skill__1", "brew", "SKILL.md"]]
    prompts = [request.body["messages"][0]["content"] for request in requests]
    listed = "<location>/root/.agents/skills/brew/SKILL.md</location>"
    assert [listed in prompt for prompt in prompts] == [False] * 3 + [True] * 4
    assert all(prompt.startswith("Write done to out.txt.\n") for prompt in prompts)
    assert KEY not in said
    files = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_program_is_copied_unless_the_sandbox_has_or_shows_it(tmp_path):
    given = str(SCRIPT)
    program = command_program({"argv": [given, "{prompt}"]}, None)
    assert (program.argv[0], program.files) == ("{agent_dir}/asking_agent.py", (SCRIPT,))
    shown = command_program({"argv": [given], "show": [str(SCRIPT.parent)]}, None)
    assert (shown.argv, shown.files, shown.shown) == ((given,), (), (SCRIPT.parent,))
    for word in ("python3", "/usr/bin/env"):
        assert command_program({"argv": [word]}, None).argv == (word,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "missing required field `argv`"),
        ({"argv": []}, "argv is empty"),
        ({"argv": ["./nowhere"]}, r"'\./nowhere' is not an executable program on this machine"),
        ({"argv": ["sh"], "show": ["/no/where"]}, "'/no/where' does not exist"),
        ({"argv": ["sh"], "logs": ["/var/log"]}, "'/var/log' is not a folder in the agent's HOME"),
        ({"argv": ["sh"], "logs": ["~/../x"]}, "'~/../x' is not a folder in the agent's HOME"),
        ({"argv": ["sh"], "skills": "skills"}, "'skills' is not a folder in the agent's HOME"),
        ({"argv": ["sh"], "logs": "~/x"}, r"Expected `array`, got `str` - at `\$\.logs`"),
    ],
)
def test_what_it_cannot_take_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        command_program(options, None)

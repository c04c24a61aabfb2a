"""Agents as programs: those of agents.yaml, any command line, and what a program needs shown."""

import json
import os

import pytest

from skilljuror.base.errors import UsageError, resolve
from skilljuror.base.study import AgentProgram
from skilljuror.harness.agents import AGENTS, TRIED, command_program, installed
from tests.support.cli_process import call
from tests.support.harness_tasks import needs_bwrap, write_tree
from tests.support.live_agents import AGENTS as LIVE_AGENTS
from tests.support.live_agents import LiveAgent, rows
from tests.support.model_server import model_server, shell, usage
from tests.support.places import ROOT
from tests.support.studies import make_study

PROGRAM = "#!/bin/sh\necho the-version\n"
PROGRAMS = {
    "codex": "codex", "claude-code": "claude", "gemini-cli": "gemini", "mini-swe-agent": "mini",
}  # fmt: skip
"""Agent -> its program."""
MODEL = "openai/m"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes an agent by name, its program a script that says its version."""
    scripts = {f"bin/{program}": PROGRAM for program in [*PROGRAMS.values(), "asked"]}
    scripts["bin/mini"] = (
        f"#!{tmp_path}/bin/asked\n"  # of Python, which knows the package's version
    )
    for path in scripts:
        (write_tree(tmp_path, scripts) / path).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    def make(name, options=None, model=MODEL):
        usual = {"argv": ["sh"]} if name == "command" else {}
        model = None if name == "scripted" else model
        return resolve(AGENTS, name, "agent")({**usual, **(options or {})}, model)

    return make


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_every_agent_is_a_program_whose_files_exist(name, made):
    program = made(name, {"version": "1"} if name == "command" else {})
    assert isinstance(program, AgentProgram)
    assert program.version
    assert all(file.is_file() for file in (*program.files, *program.shown))
    assert len({file.name for file in program.files}) == len(program.files)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_an_option_that_is_none_is_refused_by_name(name, made):
    with pytest.raises(UsageError, match=rf"agent '{name}'.*budget"):
        made(name, {"budget": 3})


def test_the_scripted_agent_says_that_it_has_no_model():
    program = resolve(AGENTS, "scripted", "agent")({}, None)
    assert program.scripted
    assert (program.model, program.usage_reason) == (None, "no_model")
    assert {"{instruction}", "{logs}", "{skills}", "{seed}"} <= set(program.argv)
    with pytest.raises(UsageError, match="some-model"):
        resolve(AGENTS, "scripted", "agent")({}, "some-model")


@pytest.mark.parametrize("name", PROGRAMS)
class TestRealAgents:
    """What holds for every agent that is a program of somebody else's."""

    def test_its_version_is_asked_of_the_program_and_its_model_must_be_named(self, name, made):
        assert made(name).version == "the-version"
        with pytest.raises(UsageError, match=rf"'{name}' needs a model; name it in agent\.model"):
            made(name, model=None)

    def test_a_program_that_is_not_here_is_named_with_the_way_to_get_it(self, name, made):
        install = "pip install" if name == "mini-swe-agent" else "npm install -g"
        with pytest.raises(UsageError, match=rf"'nowhere', which is not installed; {install} "):
            made(name, {"program": "nowhere"})

    def test_it_has_a_network_and_one_key(self, name, made):
        program = made(name)
        assert not program.scripted
        (key,) = program.keys
        assert key.endswith("_API_KEY")
        assert made(name, {"keys": ["MY_KEY"]}).keys == ("MY_KEY",)
        assert made(name, {"keys": []}).keys == ()

    def test_address_and_model_reach_it(self, name, made):
        program = made(name, {"base_url": "http://127.0.0.1:9/v1"})
        said = [*program.argv, *program.home_files.values(), *program.env.values()]
        assert any("http://127.0.0.1:9/v1" in text for text in said)
        assert any(MODEL in text for text in said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("codex", 'model_reasoning_effort = "high"'),
        ("claude-code", "--effort high"),
        ("mini-swe-agent", "-c model.model_kwargs.reasoning_effort=high"),
    ],
)
def test_effort_is_asked_for_in_the_agents_own_way(name, said, made):
    program = made(name, {"effort": "high"})
    assert program.effort == "high"
    assert said in " ".join([*program.argv, *program.home_files.values()])


def test_an_agent_that_takes_no_effort_says_so(made):
    with pytest.raises(UsageError, match=r"'gemini-cli' does not support agent\.effort"):
        made("gemini-cli", {"effort": "high"})


def test_skills_that_an_agent_brings_along_are_off_unless_asked_for(made):
    switch = "skills.bundled.enabled = {}\n"
    assert switch.format("false") in made("codex").home_files[".codex/config.toml"]
    asked = made("codex", {"bundled_skills": True})
    assert switch.format("true") in asked.home_files[".codex/config.toml"]
    for asked_for, off in ((False, ["antigravity-support", "skill-creator"]), (True, [])):
        program = made("gemini-cli", {"bundled_skills": asked_for})
        settings = json.loads(program.home_files[".gemini/settings.json"])
        assert settings["skills"]["disabled"] == off
    variable = "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"
    assert made("claude-code").env[variable] == "1"
    assert variable not in made("claude-code", {"bundled_skills": True}).env
    argv = made("claude-code").argv
    plugins = json.loads(argv[argv.index("--settings") + 1])["enabledPlugins"]
    assert plugins == {"cc-plugin-plugin-authoring@builtin": False}
    assert "--settings" not in made("claude-code", {"bundled_skills": True}).argv


def test_a_provider_whose_key_is_not_known_is_asked_about(made):
    with pytest.raises(UsageError, match=r"no key is known for a model of 'acme'.*options\.keys"):
        made("mini-swe-agent", model="acme/large")
    assert made("mini-swe-agent", {"keys": ["ACME"]}, model="acme/large").keys == ("ACME",)


@pytest.mark.parametrize("agent", LIVE_AGENTS, ids=[agent.name for agent in LIVE_AGENTS])
def test_the_page_names_the_tried_versions(agent):
    """`make live` installs the first of them, from the same list."""
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in page if line.startswith(f"| `{agent.name}` |")]
    assert row.endswith(f"| {', '.join(TRIED[agent.name])} |")


SAYS = "#!/bin/sh\necho 1.2.3\necho more\n"


def place(base, name, text=SAYS):
    """A program at `name` below `base`."""
    path = write_tree(base, {name: text}) / name
    path.chmod(0o755)
    return path


def test_a_program_of_its_own_is_shown_alone_and_under_its_real_name(tmp_path):
    file = place(tmp_path, "share/versions/1.2.3")
    link = tmp_path / "tool"
    link.symlink_to(file)
    found = installed("a", str(link), "get it")
    assert found == ((str(file),), (file,), "1.2.3")


def test_a_program_of_npm_is_shown_with_all_packages_beside_it(tmp_path):
    file = place(tmp_path, "lib/node_modules/@x/tool/node_modules/y/cli.js")
    found = installed("a", str(file), "get it")
    assert found[1] == (tmp_path / "lib/node_modules",)


def test_node_is_named_by_its_place_as_the_sandbox_may_not_have_it_on_its_path(
    tmp_path, monkeypatch
):
    node = place(tmp_path, "node-22/bin/node")
    script = place(tmp_path, "node-22/lib/node_modules/tool/cli.js", "#!/usr/bin/env node\n")
    monkeypatch.setenv("PATH", f"{node.parent}:/usr/bin:/bin")
    found = installed("a", str(script), "get it")
    assert found[0] == (str(node), str(script))
    assert found[1] == (node, tmp_path / "node-22/lib/node_modules")


def test_a_program_of_a_virtual_environment_is_shown_with_that_and_its_python(tmp_path):
    """A link to that Python may be in ~/.local/bin, next to what no agent may read."""
    python, local = place(tmp_path, "python/bin/python3"), tmp_path / ".local/bin/python3"
    settings = f"home = {local.parent}\nversion = 3.12\n"
    write_tree(tmp_path, {"venv/pyvenv.cfg": settings, ".local/bin/secret": ""})
    tool = place(tmp_path, "venv/bin/tool")
    (tmp_path / "venv/bin/python").symlink_to("python3")
    (tmp_path / "venv/bin/python3").symlink_to(local)
    local.symlink_to(python)
    assert installed("a", str(tool), "get it")[1] == (
        tmp_path / "venv",
        local,
        tmp_path / "python",
    )


def test_a_program_of_the_system_needs_nothing_shown():
    assert installed("a", "/usr/bin/env", "get it")[1] == ()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("codex-cli 0.169.0", "0.169.0"),
        ("2.1.197 (Claude Code)", "2.1.197"),
        ("v1.0-beta.2", "1.0-beta.2"),
        ("nightly", "nightly"),
        ("", "unknown"),
    ],
)
def test_the_version_is_the_number_of_what_it_says(tmp_path, said, version):
    file = place(tmp_path, "tool", f"#!/bin/sh\necho '{said}'\n")
    assert installed("a", str(file), "get it")[2] == version


def test_a_program_that_does_not_tell_its_version_is_refused(tmp_path):
    file = place(tmp_path, "tool", "#!/bin/sh\nexit 3\n")
    with pytest.raises(UsageError, match=r"tool --version' does not print its version: .*status 3"):
        installed("a", str(file), "get it")


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

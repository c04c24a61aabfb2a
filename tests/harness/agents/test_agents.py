import json

import pytest

from skilljuror.base.errors import UsageError, resolve
from skilljuror.base.study import AgentProgram
from skilljuror.harness.agents import AGENTS
from skilljuror.harness.agents.tried_versions import TRIED
from tests.support.harness_tasks import write_tree
from tests.support.live_agents import AGENTS as LIVE_AGENTS
from tests.support.places import ROOT

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

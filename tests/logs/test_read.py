"""Parsers by name, and how the agents behave that logs name."""

import pytest

from skilljuror.base.trajectory import AgentTraits
from skilljuror.logs import FORMATS
from skilljuror.logs.read import parser, traits_of


@pytest.mark.parametrize(
    ("agent", "format"),
    [
        ("claude-code", "claude-session"),
        ("codex", "codex-exec"),
        ("codex-cli", "codex-rollout"),
        ("gemini-cli", "gemini-stream"),
        ("mini-swe-agent", "mini-swe-agent"),
        ("copilot-cli", "copilot-cli"),
        ("opencode", "opencode"),
        ("openhands", "openhands"),
    ],
)
def test_an_agent_that_a_conversion_names_behaves_as_in_its_own_logs(agent, format):
    assert traits_of(agent) == parser(format).traits


@pytest.mark.parametrize("agent", ["scripted", "open", "", None])
def test_of_an_agent_without_a_format_nothing_is_known(agent):
    assert traits_of(agent) == AgentTraits()


@pytest.mark.parametrize("name", FORMATS)
def test_formats_of_one_agent_tell_the_same_of_it(name):
    found = parser(name)
    assert found.traits == traits_of(found.agent)

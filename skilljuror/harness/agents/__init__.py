"""Agents: programs that a harness can start."""

import os
from pathlib import Path
from typing import Any, Protocol

from skilljuror.base.errors import UsageError
from skilljuror.base.study import AgentProgram

AGENTS = {
    "scripted": "skilljuror.harness.agents:scripted_program",
    "codex": "skilljuror.harness.agents.codex:codex_program",
    "claude-code": "skilljuror.harness.agents.claude_code:claude_program",
    "gemini-cli": "skilljuror.harness.agents.gemini_cli:gemini_program",
    "mini-swe-agent": "skilljuror.harness.agents.mini_swe_agent:mini_program",
    "command": "skilljuror.harness.agents.command:command_program",
}


class Agent(Protocol):
    """Returns an agent's program."""

    def __call__(self, options: dict[str, Any], model: str | None) -> AgentProgram:
        """Return the program for `options` and `model` of a study file. Raises UsageError for an
        unsupported option or model."""
        ...


def refuse_missing_keys(agent: AgentProgram) -> None:
    """Raise UsageError if a key of the agent is missing in the environment."""
    for name in agent.keys:
        if not os.environ.get(name):
            raise UsageError(
                f"agent {agent.name!r} needs a key in the environment variable {name}, which is not"
                " set; export it",
                field="agent",
            )


def scripted_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return the scripted policy, without a language model; the sandbox needs only `python3`.
    Raises UsageError for any option or model."""
    from skilljuror.harness.agents import reading, scripted  # programs of their own

    if model is not None:
        raise UsageError(f"agent 'scripted' uses no model, got {model!r}; remove agent.model")
    if options:
        raise UsageError(
            f"agent 'scripted' takes no options, got {min(options)!r}; remove agent.options"
        )
    places = ("--instruction", "{instruction}", "--logs", "{logs}", "--skills", "{skills}")
    return AgentProgram(
        name=scripted.NAME,
        version=scripted.VERSION,
        files=(Path(scripted.__file__), Path(reading.__file__)),
        argv=("python3", "{agent_dir}/scripted.py", *places, "--seed", "{seed}"),
        scripted=True,
        usage_reason="no_model",
        writes_log=True,
    )

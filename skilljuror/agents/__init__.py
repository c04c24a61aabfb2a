"""Agents: programs that a harness can start."""

from pathlib import Path
from typing import Any, Protocol

from skilljuror.errors import UsageError
from skilljuror.models.agent import AgentProgram

AGENTS = {
    "scripted": "skilljuror.agents:scripted_program",
}


class Agent(Protocol):
    """What an agent is: a function that gives its program."""

    def __call__(self, options: dict[str, Any], model: str | None) -> AgentProgram:
        """The program for the `options` and the `model` of a study file.

        Raises UsageError for an option, or a model, that the agent does not take.
        """
        ...


def scripted_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """The policy without a language model; it needs only `python3` in the sandbox.

    It has neither options nor a model; either raises UsageError.
    """
    from skilljuror.agents import reading, scripted  # programs of their own

    if model is not None:
        raise UsageError(f"agent 'scripted' has no model, got {model!r}; leave agent.model out")
    if options:
        raise UsageError(
            f"agent 'scripted' has no option {min(options)!r}; it takes none, its seed varies it"
        )
    places = ("--instruction", "{instruction}", "--logs", "{logs}", "--skills", "{skills}")
    return AgentProgram(
        name=scripted.NAME,
        version=scripted.VERSION,
        files=(Path(scripted.__file__), Path(reading.__file__)),
        argv=("python3", "{agent_dir}/scripted.py", *places, "--seed", "{seed}"),
        scripted=True,
        usage_reason="no_model",
    )

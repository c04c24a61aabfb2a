"""The agents that come with the package, as programs a harness can start."""

from pathlib import Path
from typing import Any

from skilljuror.agents import reading
from skilljuror.agents import scripted as policy
from skilljuror.errors import UsageError
from skilljuror.models.agent import AgentProgram


def scripted(options: dict[str, Any], model: str | None) -> AgentProgram:
    """The policy without a language model; it needs only `python3` in the sandbox.

    It has neither options nor a model; either raises UsageError.
    """
    if model is not None:
        raise UsageError(f"agent 'scripted' has no model, got {model!r}; leave agent.model out")
    if options:
        raise UsageError(
            f"agent 'scripted' has no option {min(options)!r}; it takes none, its seed varies it"
        )
    places = ("--instruction", "{instruction}", "--logs", "{logs}", "--skills", "{skills}")
    return AgentProgram(
        name=policy.NAME,
        version=policy.VERSION,
        files=(Path(policy.__file__), Path(reading.__file__)),
        argv=("python3", "{agent_dir}/scripted.py", *places, "--seed", "{seed}"),
        scripted=True,
        usage_reason="no_model",
    )

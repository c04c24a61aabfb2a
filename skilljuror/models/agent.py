"""An agent as a program."""

from pathlib import Path

from msgspec import Struct


class AgentProgram(Struct, frozen=True):
    """An agent as a program that a harness can start."""

    name: str
    """Name of the agent."""
    version: str | None
    """Its version."""
    files: tuple[Path, ...]
    """Files the program needs, put into one folder of the sandbox."""
    argv: tuple[str, ...]
    """Command; `{agent_dir}`, `{instruction}`, `{logs}`, `{skills}`, `{seed}` are filled in."""
    model: str | None = None
    """Model, where it has one."""
    scripted: bool = False
    """True for a policy without a language model."""
    usage_reason: str | None = None
    """Why tokens and cost are null, such as no_model."""

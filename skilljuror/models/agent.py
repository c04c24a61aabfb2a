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
    """Command; `{agent_dir}` (folder of `files`), `{instruction}` (path of a file that holds the
    instruction), `{prompt}` (the instruction itself), `{logs}` (folder for the agent's own logs),
    `{skills}` (the user-level skills folder, absent in the no-skill arm) and `{seed}` are filled
    in. It starts in the task's working directory."""
    model: str | None = None
    """Model, where it has one."""
    scripted: bool = False
    """True for a policy without a language model."""
    usage_reason: str | None = None
    """Why tokens and cost are null, such as no_model."""

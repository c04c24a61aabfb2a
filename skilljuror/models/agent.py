"""An agent as a program."""

from pathlib import Path

from msgspec import Struct

SKILLS = "~/.agents/skills"
"""Where most agents look for a user's Skills."""


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
    `{skills}` (its folder of Skills, absent in the no-skill arm) and `{seed}` are filled in. It
    starts in the task's working directory."""
    model: str | None = None
    """Model, where it has one."""
    scripted: bool = False
    """True for a policy without a language model."""
    usage_reason: str | None = None
    """Why tokens and cost are null, such as no_model."""
    keys: tuple[str, ...] = ()
    """Environment variables that hold its keys, such as OPENAI_API_KEY. Their values come from the
    environment of the run, reach the agent's process alone, and are taken out of what it leaves."""
    effort: str | None = None
    """Reasoning effort that it was asked for, in its own words."""
    skills: str | None = SKILLS
    """Where it looks for a user's Skills, `~` being its HOME. None: nowhere; its prompt then says
    where each Skill lies, as no harness may offer Skills that an agent never hears of."""
    home_files: dict[str, str] = {}
    """Path in its HOME -> text of a file that is put there, such as its settings."""
    env: dict[str, str] = {}
    """Environment variables beside those of every trial."""
    logs: tuple[str, ...] = ()
    """Folders in its HOME, such as `~/.codex/sessions`, that are kept with what it leaves in `{logs}`."""
    shown: tuple[Path, ...] = ()
    """Files and folders of this machine that it needs, at their own paths, beside those of the system."""

"""An agent as a program."""

from pathlib import Path

from msgspec import Struct

SKILLS = "~/.agents/skills"
"""Folder in which most agents look for a user's Skills."""


class AgentProgram(Struct, frozen=True):
    """An agent as a program that a harness can start."""

    name: str
    """Name of the agent."""
    version: str | None
    """Its version."""
    files: tuple[Path, ...]
    """Files the program needs; copied into one folder of the sandbox."""
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
    environment of the run, reach only the agent's process, and are redacted from its output."""
    effort: str | None = None
    """Requested reasoning effort, in the agent's own terms."""
    skills: str | None = SKILLS
    """Folder in which it looks for a user's Skills; `~` is its HOME. If None, the prompt names the path
    of each Skill."""
    home_files: dict[str, str] = {}
    """Path in its HOME -> text of a file to create there, such as its settings."""
    env: dict[str, str] = {}
    """Environment variables in addition to those of every trial."""
    logs: tuple[str, ...] = ()
    """Folders in its HOME, such as `~/.codex/sessions`, that are saved along with `{logs}`."""
    writes_log: bool = False
    """Whether it always writes a log, so that a trial without one is an error. False if unknown."""
    shown: tuple[Path, ...] = ()
    """Files and folders of this machine that it needs, mounted at their own paths."""

"""Any command line."""

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import UsageError
from skilljuror.base.study import SKILLS, AgentProgram
from skilljuror.harness.agents.programs import read_options


class CommandOptions(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of a command, as in `AgentProgram`."""

    argv: tuple[str, ...]
    """The command; the first word is a program on the sandbox's PATH or a path of this machine."""
    name: str = "command"
    """Name of the agent in trial records."""
    version: str | None = None
    """Its version."""
    skills: str | None = SKILLS
    """Folder in HOME where it looks for Skills; null: none, so the prompt lists them."""
    logs: tuple[str, ...] = ()
    """Folders in HOME with its logs."""
    keys: tuple[str, ...] = ()
    """Environment variables with its keys."""
    env: dict[str, str] = {}
    """Further environment variables."""
    show: tuple[str, ...] = ()
    """Files and folders of this machine that it needs, such as its installation folder."""
    effort: str | None = None
    """Reasoning effort, for the record; the command must request it."""


def command_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return a program that acts in the task's folder, with a network and a clean HOME. A program
    outside the system's folders and `show` is copied into the sandbox."""
    given = read_options("command", options, CommandOptions)
    _refuse_places(given)
    shown = tuple(_existing(name) for name in given.show)
    program, files = _program(given.argv[0], shown)
    return AgentProgram(
        name=given.name,
        version=given.version,
        files=files,
        argv=(program, *given.argv[1:]),
        model=model,
        keys=given.keys,
        effort=given.effort,
        skills=given.skills,
        env=given.env,
        logs=given.logs,
        writes_log=bool(given.logs) or any("{logs}" in word for word in given.argv),
        shown=shown,
    )


def _refuse_places(given: CommandOptions) -> None:
    if not given.argv:
        raise UsageError("agent 'command': argv is empty", field="agent.options.argv")
    for place in (*given.logs, given.skills or SKILLS):
        if not place.startswith("~/") or ".." in place.split("/"):
            raise UsageError(
                f"agent 'command': {place!r} is not a folder in the agent's HOME; write it as ~/…",
                field="agent.options",
            )


def _existing(name: str) -> Path:
    path = Path(name).expanduser().absolute()
    if not path.exists():
        raise UsageError(f"agent 'command': {name!r} does not exist", field="agent.options.show")
    return path


def _program(word: str, shown: tuple[Path, ...]) -> tuple[str, tuple[Path, ...]]:
    """Return the program's name in the sandbox, and the files to copy there."""
    if "/" not in word:
        return word, ()
    file = Path(word).expanduser().absolute()
    if not (file.is_file() and os.access(file, os.X_OK)):
        raise UsageError(
            f"agent 'command': {word!r} is not an executable program on this machine; name an executable file",
            field="agent.options.argv",
        )
    if any(file.is_relative_to(folder) for folder in (Path("/usr"), *shown)):
        return str(file), ()
    return f"{{agent_dir}}/{file.name}", (file,)

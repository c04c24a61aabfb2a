"""What this machine can do: libraries, programs, data and sandbox, each tried."""

import platform
import shutil
import subprocess
import sys
from importlib import metadata

from msgspec import Struct

from skilljuror import tokens
from skilljuror.agents import AGENTS
from skilljuror.errors import UsageError
from skilljuror.files import data_dir
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.sandbox import bwrap_problem


class MachineCheck(Struct, frozen=True):
    """One part of the machine."""

    name: str
    """What was looked for."""
    found: bool
    """Whether it is there and works."""
    detail: str
    """Version, place or the reason why not."""
    enables: str
    """What it is good for."""
    needed: bool = False
    """True when skilljuror cannot work without it."""


LIBRARIES = {
    "duckdb": "the study database",
    "pydantic": "records",
    "markdown-it-py": "units, transforms and gates",
    "skills-ref": "validation of Skills",
    "matplotlib": "figures of the report",
    "litellm": "builds with a model: --engine assign, rewrite",
}
PROGRAMS = {
    "codex": (AGENTS, "codex", "real trials with Codex"),
    "claude": (AGENTS, "claude-code", "real trials with Claude Code"),
    "gemini": (AGENTS, "gemini-cli", "real trials with Gemini CLI"),
    "harbor": (HARNESSES, "harbor", "trials through Harbor"),
    "docker": (HARNESSES, "harbor", "Harbor's containers"),
}
"""Program -> (registry, plugin that runs it, use); a program that no plugin runs enables nothing."""


def inspect_machine() -> list[MachineCheck]:
    """Every check, the needed parts first."""
    python = platform.python_version()
    rows = [MachineCheck("python", sys.version_info >= (3, 11), python, "everything", needed=True)]
    rows += [_library(name, use) for name, use in LIBRARIES.items()]
    rows += [_data(), _tokenizer(), _sandbox()]
    used = {name: use for name, (registry, plugin, use) in PROGRAMS.items() if plugin in registry}
    return rows + [_program(name, use) for name, use in used.items()]


def _library(name: str, use: str) -> MachineCheck:
    try:
        return MachineCheck(name, True, metadata.version(name), use, needed=name != "litellm")
    except metadata.PackageNotFoundError:
        return MachineCheck(name, False, f"pip install {name}", use, needed=name != "litellm")


def _data() -> MachineCheck:
    try:
        folder = data_dir("examples")
    except UsageError as error:
        return MachineCheck(
            "packaged examples", False, error.message, "skilljuror demo", needed=True
        )
    return MachineCheck("packaged examples", True, folder.name, "skilljuror demo", needed=True)


def _tokenizer() -> MachineCheck:
    name = tokens.tokenizer_name()
    exact = tokens.available()
    return MachineCheck("offline tokenizer", exact, name, "exact token counts (else estimates)")


def _sandbox() -> MachineCheck:
    use = "isolated trials, which agents with a model need (else plain temporary folders)"
    problem = bwrap_problem()
    return MachineCheck("bubblewrap", problem is None, problem or "a trial of it works", use)


def _program(name: str, use: str) -> MachineCheck:
    place = shutil.which(name)
    if place is None:
        return MachineCheck(name, False, "not on PATH", use)
    try:
        done = subprocess.run(
            [place, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return MachineCheck(name, False, str(error), use)
    first = (done.stdout or done.stderr).strip().splitlines()
    return MachineCheck(name, done.returncode == 0, first[0] if first else "no version", use)

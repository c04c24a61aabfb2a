"""Check this machine's libraries, programs, data and sandbox by trying each."""

import platform
import shutil
import subprocess
import sys
from importlib import metadata

from msgspec import Struct

from skilljuror.base import tokens
from skilljuror.base.errors import UsageError
from skilljuror.base.extras import EXTRAS
from skilljuror.base.files import data_dir
from skilljuror.harness import HARNESSES
from skilljuror.harness.agents import AGENTS
from skilljuror.harness.sandbox import isolation_problem


class MachineCheck(Struct, frozen=True):
    """Result of one check."""

    name: str
    found: bool
    """Whether it works."""
    detail: str
    """Version, place or reason for the failure."""
    enables: str
    """Features that use it."""
    needed: bool = False
    """Whether skilljuror requires it."""


LIBRARIES = {
    "duckdb": "the study database",
    "pydantic": "records",
    "markdown-it-py": "units, transforms and gates",
    "skills-ref": "validation of Skills",
    "litellm": "models that build, judge or answer the rubric",
    "matplotlib": "figures of reports",
    "scipy": "resampling and permutation tests of reports",
    "pandas": "DataFrames in notebooks",
    "starlette": "the page of `review`",
}
ISOLATIONS = {
    "bwrap": (
        "bubblewrap",
        "isolated trials, required by agents with a model (else plain temporary folders)",
    ),
    "sealed": ("sealed sandbox", "trials that cannot communicate (isolation: sealed)"),
}
"""Isolation -> (name, use)."""
PROGRAMS = {
    "codex": (AGENTS, "codex", "real trials with Codex"),
    "claude": (AGENTS, "claude-code", "real trials with Claude Code"),
    "gemini": (AGENTS, "gemini-cli", "real trials with Gemini CLI"),
    "harbor": (HARNESSES, "harbor", "trials through Harbor"),
    "docker": (HARNESSES, "harbor", "Harbor's containers"),
}
"""Program -> (registry, plugin that runs it, use); programs without a plugin are skipped."""


def inspect_machine() -> list[MachineCheck]:
    """Run every check, required parts first."""
    python = platform.python_version()
    rows = [MachineCheck("python", sys.version_info >= (3, 11), python, "everything", needed=True)]
    rows += [_library(name, use) for name, use in LIBRARIES.items()]
    rows += [_data(), _tokenizer()]
    rows += [_isolation(choice, *row) for choice, row in ISOLATIONS.items()]
    used = {name: use for name, (registry, plugin, use) in PROGRAMS.items() if plugin in registry}
    return rows + [_program(name, use) for name, use in used.items()]


def _library(name: str, use: str) -> MachineCheck:
    extra = next((extra for extra, libraries in EXTRAS.items() if name in libraries), "")
    try:
        return MachineCheck(name, True, metadata.version(name), use, needed=not extra)
    except metadata.PackageNotFoundError:
        install = f"pip install 'skilljuror[{extra}]'" if extra else f"pip install {name}"
        return MachineCheck(name, False, install, use, needed=not extra)


def _data() -> MachineCheck:
    try:
        folder = data_dir("examples")
    except UsageError as error:
        return MachineCheck(
            "packaged examples", False, error.message, "skilljuror demo", needed=True
        )
    return MachineCheck("packaged examples", True, folder.name, "skilljuror demo", needed=True)


def _tokenizer() -> MachineCheck:
    name, use = "offline tokenizer", "counts of tokens"
    try:
        tokens.count("text")
    except UsageError as error:
        return MachineCheck(name, False, error.message, use, needed=True)
    return MachineCheck(name, True, tokens.tokenizer_name(), use, needed=True)


def _isolation(choice: str, name: str, use: str) -> MachineCheck:
    problem = isolation_problem(choice)
    return MachineCheck(name, problem is None, problem or "works (tested)", use)


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

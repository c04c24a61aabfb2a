"""Agents that are programs of this machine: where one lies, what it needs, its version, its options."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from skilljuror.errors import UsageError

_VERSION_SECONDS = 60.0
"""Seconds that `--version` may take."""
_OF_PACKAGE = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
_NUMBER = re.compile(r"\d+\.\d[\w.+-]*")
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
"""Folders that every sandbox shows."""


class ProgramOptions(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of every agent with a command line of its own."""

    program: str | None = None
    """Name on PATH, or path, of the program; default: its usual name."""
    base_url: str | None = None
    """Address of the model's API, where it is not the provider's own."""
    effort: str | None = None
    """Reasoning effort, in the words of the model."""
    keys: tuple[str, ...] | None = None
    """Environment variables with its keys; default: the provider's usual one."""


class SkilledOptions(ProgramOptions, kw_only=True, frozen=True):
    """Options of an agent that brings Skills of its own along."""

    bundled_skills: bool = False
    """Whether these are offered, beside those of the condition and where there are none."""


Options = TypeVar("Options", bound=Struct)


class InstalledProgram(Struct, frozen=True):
    """A program of this machine."""

    argv: tuple[str, ...]
    """How it is started."""
    shown: tuple[Path, ...]
    """Files and folders that it needs beside those of the system."""
    version: str | None
    """What it says of its version."""


def read_options(agent: str, options: dict[str, Any], kind: type[Options]) -> Options:
    """The options of an agent. Raises UsageError for one that it does not take."""
    try:
        return msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        taken = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise UsageError(
            f"agent {agent!r}, agent.options: {error}; it takes {taken}", field="agent.options"
        ) from error


def named_model(agent: str, model: str | None) -> str:
    """The model, which must be named: what a program chooses by itself changes with its version."""
    if model is None:
        raise UsageError(
            f"agent {agent!r} needs a model; name it in agent.model", field="agent.model"
        )
    return model


def installed(agent: str, name: str, install: str, package: str = "") -> InstalledProgram:
    """The program `name`, found on PATH unless it is a path. Its version is what `--version` says, or
    that of the Python `package` it belongs to. Raises UsageError where it is not."""
    place = shutil.which(Path(name).expanduser())
    if place is None:
        raise UsageError(
            f"agent {agent!r} needs the program {name!r}, which is not here; {install}, or name"
            " its place in agent.options.program",
            field="agent.options.program",
        )
    file = Path(place).resolve()
    interpreter = _interpreter(file)
    node = shutil.which("node") if interpreter[1:] == ["node"] else None
    argv = (*([str(Path(node).resolve())] if node else []), str(file))
    asked = (*interpreter, "-c", _OF_PACKAGE, package) if package else (*argv, "--version")
    return InstalledProgram(argv, _needed(argv), _version(agent, asked))


def _interpreter(file: Path) -> list[str]:
    """What runs a script: the words of its first line."""
    with file.open("rb") as data:
        first = data.readline(1_000)
    return first[2:].decode("utf-8", "replace").split() if first[:2] == b"#!" else []


def _needed(argv: tuple[str, ...]) -> tuple[Path, ...]:
    """What must be shown of the files that a command names, beside the system's folders."""
    found = [folder for word in argv for folder in _with_packages(Path(word))]
    return tuple(dict.fromkeys(
        path for path in found if not any(path.is_relative_to(folder) for folder in _SYSTEM)
    ))  # fmt: skip


def _with_packages(file: Path) -> list[Path]:
    """A program with the packages around it: those of npm, or a virtual environment and its Python."""
    for folder in reversed(file.parents):
        if folder.name == "node_modules":
            return [folder]
    for folder in file.parents:
        settings = folder / "pyvenv.cfg"
        if settings.is_file():
            said = dict(
                line.partition("=")[::2] for line in settings.read_text("utf-8").splitlines()
            )
            homes = [Path(value.strip()) for name, value in said.items() if name.strip() == "home"]
            pythons = {home.parent for home in (*homes, *(home.resolve() for home in homes))}
            return [folder, *sorted(pythons)]
    return [file]


def _version(agent: str, argv: tuple[str, ...]) -> str:
    """The version in the first line that a command says in an empty HOME, or all of that line."""
    with tempfile.TemporaryDirectory(prefix="skilljuror-version-") as home:
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home, "TERM": "dumb"}
        try:
            done = subprocess.run(
                argv, env=env, cwd=home, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_VERSION_SECONDS, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(
                f"agent {agent!r}: {' '.join(argv)!r} does not tell its version: {error}",
                field="agent.options.program",
            ) from error
    line = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
    number = _NUMBER.search(line)
    return number[0] if number else line or "unknown"

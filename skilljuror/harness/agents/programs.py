"""Agents installed on this machine: where, what they need, version, options."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from skilljuror.base.errors import UsageError

_VERSION_SECONDS = 60.0
"""Time limit of `--version`, seconds."""
_OF_PACKAGE = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
_NUMBER = re.compile(r"\d+\.\d[\w.+-]*")
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
"""Folders visible in every sandbox."""


class ProgramOptions(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of every agent with its own command line."""

    program: str | None = None
    """Name on PATH, or path, of the program; default: its usual name."""
    base_url: str | None = None
    """Address of the model's API, if not the provider's."""
    effort: str | None = None
    """Reasoning effort, in the model's terms."""
    keys: tuple[str, ...] | None = None
    """Environment variables with its keys; default: the provider's usual one."""


class SkilledOptions(ProgramOptions, kw_only=True, frozen=True):
    """Options of an agent with bundled Skills."""

    bundled_skills: bool = False
    """Whether bundled Skills are offered, in every condition."""
    web_tools: bool = False
    """Whether its tools that search the web or fetch pages are offered, in every condition."""


Options = TypeVar("Options", bound=Struct)


class InstalledProgram(Struct, frozen=True):
    """A program of this machine."""

    argv: tuple[str, ...]
    """The command that starts it."""
    shown: tuple[Path, ...]
    """Files and folders that it needs besides the system's."""
    version: str | None
    """Output of its version option."""


def read_options(agent: str, options: dict[str, Any], kind: type[Options]) -> Options:
    """Validate an agent's options. Raises UsageError for an unsupported one."""
    try:
        return msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        taken = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise UsageError(
            f"agent {agent!r}, agent.options: {error}; choose from {taken}", field="agent.options"
        ) from error


def named_model(agent: str, model: str | None) -> str:
    """Return the model, which must be named: a program's default changes with its version."""
    if model is None:
        raise UsageError(
            f"agent {agent!r} needs a model; name it in agent.model", field="agent.model"
        )
    return model


def installed(agent: str, name: str, install: str, package: str = "") -> InstalledProgram:
    """Find the program `name` on PATH, or by its path. Its version comes from `--version`, or from
    the Python `package` it belongs to. Raises UsageError if it is missing."""
    place = shutil.which(Path(name).expanduser())
    if place is None:
        raise UsageError(
            f"agent {agent!r} needs the program {name!r}, which is not installed; {install}, or set"
            " agent.options.program to its path",
            field="agent.options.program",
        )
    file = Path(place).resolve()
    interpreter = _interpreter(file)
    node = shutil.which("node") if interpreter[1:] == ["node"] else None
    argv = (*([str(Path(node).resolve())] if node else []), str(file))
    asked = (*interpreter, "-c", _OF_PACKAGE, package) if package else (*argv, "--version")
    return InstalledProgram(argv, _needed(argv), _version(agent, asked))


def _interpreter(file: Path) -> list[str]:
    """The words of a script's first line that start it."""
    with file.open("rb") as data:
        first = data.readline(1_000)
    return first[2:].decode("utf-8", "replace").split() if first[:2] == b"#!" else []


def _needed(argv: tuple[str, ...]) -> tuple[Path, ...]:
    """Paths to show for the files that a command names, besides the system's folders."""
    found = [folder for word in argv for folder in _with_packages(Path(word))]
    return tuple(dict.fromkeys(
        path for path in found if not any(path.is_relative_to(folder) for folder in _SYSTEM)
    ))  # fmt: skip


def _with_packages(file: Path) -> list[Path]:
    """A program with its packages: those of npm, or a virtual environment and its Python."""
    for folder in reversed(file.parents):
        if folder.name == "node_modules":
            return [folder]
    for folder in file.parents:
        if (folder / "pyvenv.cfg").is_file():
            return [folder, *_python_of(folder)]
    return [file]


def _python_of(venv: Path) -> list[Path]:
    """Links from a virtual environment to its Python, and the folder of that Python. A link may be in
    ~/.local/bin, next to files that no agent may read."""
    python, links = venv / "bin/python", list[Path]()
    while python.is_symlink():
        python = python.parent / python.readlink()
        links.append(python)
    prefix = python.resolve().parents[1]
    own = (venv, prefix)
    outside = [one for one in links if not any(one.is_relative_to(folder) for folder in own)]
    return [*filter(Path.is_symlink, outside), prefix]


def _version(agent: str, argv: tuple[str, ...]) -> str:
    """Run the program's version option in an empty HOME; return the version in the first line, or
    that line."""
    with tempfile.TemporaryDirectory(prefix="skilljuror-version-") as home:
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home, "TERM": "dumb"}
        try:
            done = subprocess.run(
                argv, env=env, cwd=home, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_VERSION_SECONDS, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(
                f"agent {agent!r}: {' '.join(argv)!r} does not print its version: {error}",
                field="agent.options.program",
            ) from error
    line = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
    number = _NUMBER.search(line)
    return number[0] if number else line or "unknown"

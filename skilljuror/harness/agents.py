"""Agents: programs that a harness can start, of this package, of this machine, or any command line."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import yaml
from msgspec import Struct

from skilljuror.base.errors import AgentMissing, UsageError
from skilljuror.base.study import SKILLS, AgentProgram
from skilljuror.harness.base import read_options

_TABLE: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)
AGENTS = {
    "scripted": f"{__name__}:scripted_program",
    "command": f"{__name__}:command_program",
    **{name: f"{__name__}:{name.replace('-', '_')}" for name in _TABLE},
}
TRIED: dict[str, tuple[str, ...]] = {name: tuple(row["tried"]) for name, row in _TABLE.items()}
"""Agent -> versions whose runs and logs were tried, oldest first: a later one may write what nobody reads."""
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
"""Folders visible in every sandbox."""
_VERSION_SECONDS = 60.0
"""Time limit of `--version`, seconds."""
_OF_PACKAGE = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
_NUMBER = re.compile(r"\d+\.\d[\w.+-]*")
_FIELD = re.compile(r"\{(model|effort|base_url|key|keys|bundled_skills)\}")


class Agent(Protocol):
    """Returns an agent's program."""

    def __call__(self, options: dict[str, Any], model: str | None) -> AgentProgram:
        """Return the program for `options` and `model` of a study file. Raises UsageError for an
        unsupported option or model."""
        ...


class ProgramOptions(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of an agent of agents.yaml; it `takes` the last three, or not."""

    program: str | None = None
    """Name on PATH, or path, of the program; default: its usual name."""
    base_url: str | None = None
    """Address of the model's API, if not the provider's."""
    keys: tuple[str, ...] | None = None
    """Environment variables with its keys; default: the provider's usual one."""
    effort: str | None = None
    """Reasoning effort, in the model's terms."""
    bundled_skills: bool = False
    """Whether bundled Skills are offered, in every condition."""
    web_tools: bool = False
    """Whether its tools that search the web or fetch pages are offered, in every condition."""


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


def untried(agent: str, version: str | None) -> str | None:
    """Return a remark on a `version` that is newer than every tried one, else None."""
    newest = TRIED.get(agent, ())[-1:]

    def numbers(text: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", text)]

    if not version or not newest or numbers(version) <= numbers(newest[0]):
        return None
    return f"{agent} {version} is newer than {newest[0]}, the newest version that was tried"


def refuse_missing_keys(agent: AgentProgram) -> None:
    """Raise UsageError if a key of the agent is missing in the environment."""
    for name in agent.keys:
        if not os.environ.get(name):
            raise UsageError(
                f"agent {agent.name!r} needs a key in the environment variable {name}, which is not"
                " set; export it",
                field="agent",
            )


def scripted_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return the scripted policy, without a language model; the sandbox needs only `python3`.
    Raises UsageError for any option or model."""
    from skilljuror.harness import scripted  # a program of its own

    if model is not None:
        raise UsageError(f"agent 'scripted' uses no model, got {model!r}; remove agent.model")
    if options:
        raise UsageError(
            f"agent 'scripted' takes no options, got {min(options)!r}; remove agent.options"
        )
    places = ("--instruction", "{instruction}", "--logs", "{logs}", "--skills", "{skills}")
    return AgentProgram(
        name=scripted.NAME,
        version=scripted.VERSION,
        files=(Path(scripted.__file__),),
        argv=("python3", "{agent_dir}/scripted.py", *places, "--seed", "{seed}"),
        scripted=True,
        usage_reason="no_model",
        writes_log=True,
    )


def command_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return a program that acts in the task's folder, with a network and a clean HOME. A program
    outside the system's folders and `show` is copied into the sandbox."""
    given = read_options("agent 'command', agent.options", options, CommandOptions)
    if not given.argv:
        raise UsageError("agent 'command': argv is empty", field="agent.options.argv")
    for place in (*given.logs, given.skills or SKILLS):
        if not place.startswith("~/") or ".." in place.split("/"):
            raise UsageError(
                f"agent 'command': {place!r} is not a folder in the agent's HOME; write it as ~/…",
                field="agent.options",
            )
    shown = tuple(Path(name).expanduser().absolute() for name in given.show)
    for name, path in zip(given.show, shown, strict=True):
        if not path.exists():
            raise UsageError(
                f"agent 'command': {name!r} does not exist", field="agent.options.show"
            )
    word, files = given.argv[0], tuple[Path, ...]()
    if "/" in word:
        file = Path(word).expanduser().absolute()
        if not (file.is_file() and os.access(file, os.X_OK)):
            raise UsageError(
                f"agent 'command': {word!r} is not an executable program on this machine; name an executable file",
                field="agent.options.argv",
            )
        word = str(file)
        if not any(file.is_relative_to(folder) for folder in (Path("/usr"), *shown)):
            word, files = f"{{agent_dir}}/{file.name}", (file,)
    return AgentProgram(
        name=given.name,
        version=given.version,
        files=files,
        argv=(word, *given.argv[1:]),
        model=model,
        keys=given.keys,
        effort=given.effort,
        skills=given.skills,
        env=given.env,
        logs=given.logs,
        writes_log=bool(given.logs) or any("{logs}" in word for word in given.argv),
        shown=shown,
    )


def installed_program(name: str, options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return an agent of agents.yaml, with a key from the environment. Raises UsageError if its program is not
    installed, for an option that it does not take, and without a model: a program's default changes with its
    version."""
    row = _TABLE[name]
    if options.get("effort") and "effort" not in row["takes"]:
        raise UsageError(
            f"agent {name!r} does not support agent.effort; remove it, and choose a model with"
            " agent.model instead",
            field="agent.effort",
        )
    refused = {"effort", "bundled_skills", "web_tools"} - {*row["takes"]}
    given = read_options(f"agent {name!r}, agent.options", options, ProgramOptions, refused)
    if model is None:
        raise UsageError(
            f"agent {name!r} needs a model; name it in agent.model", field="agent.model"
        )
    argv, shown, version = installed(
        name, given.program or row["program"], row["install"], row.get("package", "")
    )
    keys = given.keys
    if keys is None:
        usual = row["keys"]
        provider = model.partition("/")[0]
        if isinstance(usual, dict) and provider not in usual:
            raise UsageError(
                f"agent {name!r}: no key is known for a model of {provider!r}; name its variable"
                " in agent.options.keys ([] for none)",
                field="agent.options.keys",
            )
        keys = (usual[provider],) if isinstance(usual, dict) else tuple(usual)
    values = msgspec.structs.asdict(given) | {"model": model, "keys": list(keys)}
    values["key"] = next(iter(keys), None)
    files = _filled(row.get("home_files", {}), values)
    return AgentProgram(
        name=name,
        version=version,
        files=(),
        argv=(*argv, *_filled(row["argv"], values)),
        model=model,
        keys=keys,
        effort=given.effort,
        skills=row["skills"],
        home_files={path: _settings(path, settings) for path, settings in files.items()},
        env=_filled(row.get("env", {}), values),
        logs=tuple(row.get("logs", ())),
        writes_log=True,
        shown=shown,
    )


codex = partial(installed_program, "codex")
claude_code = partial(installed_program, "claude-code")
gemini_cli = partial(installed_program, "gemini-cli")
mini_swe_agent = partial(installed_program, "mini-swe-agent")


def _filled(node: Any, values: dict[str, Any]) -> Any:
    """A part of the table with its choices made and its fields filled in; lists in a list of lists are joined."""
    if isinstance(node, dict) and "if" in node:
        return _filled(node.get("then" if values[node["if"]] else "else"), values)
    if isinstance(node, dict):
        parts = {name: _filled(part, values) for name, part in node.items()}
        return {name: part for name, part in parts.items() if part is not None}
    if isinstance(node, list):
        parts_of = [_filled(part, values) for part in node]
        nested = [part if isinstance(part, list) else [part] for part in parts_of]
        return [word for part in nested for word in part if word is not None]
    if isinstance(node, str):
        whole = _FIELD.fullmatch(node)
        return values[whole[1]] if whole else _FIELD.sub(lambda field: values[field[1]], node)
    return node


def _settings(path: str, settings: dict[str, Any]) -> str:
    """Format settings as JSON or TOML, which writes strings, booleans and lists of strings as JSON does."""
    if path.endswith(".json"):
        return json.dumps(settings, indent=1) + "\n"
    return "".join(f"{name} = {json.dumps(settings[name])}\n" for name in settings)


def installed(
    agent: str, name: str, install: str, package: str = ""
) -> tuple[tuple[str, ...], tuple[Path, ...], str]:
    """Find the program `name` on PATH, or by its path. Return the command that starts it, the files and folders
    that it needs besides the system's, and its version: from `--version`, or from the Python `package` it belongs
    to. Raises AgentMissing."""
    place = shutil.which(Path(name).expanduser())
    if place is None:
        raise AgentMissing(
            f"agent {agent!r} needs the program {name!r}, which is not installed; {install}, or set"
            " agent.options.program to its path",
            field="agent.options.program",
        )
    file = Path(place).resolve()
    with file.open("rb") as data:
        first = data.readline(1_000)
    interpreter = first[2:].decode("utf-8", "replace").split() if first[:2] == b"#!" else []
    node = shutil.which("node") if interpreter[1:] == ["node"] else None
    argv = (*([str(Path(node).resolve())] if node else []), str(file))
    asked = (*interpreter, "-c", _OF_PACKAGE, package) if package else (*argv, "--version")
    needed = dict.fromkeys(path for word in argv for path in _with_packages(Path(word)))
    shown = [path for path in needed if not any(path.is_relative_to(folder) for folder in _SYSTEM)]
    return argv, tuple(shown), _version(agent, asked)


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
    outside = [path for path in links if not any(path.is_relative_to(folder) for folder in own)]
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

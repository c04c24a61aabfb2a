"""The errors of skilljuror, one class per boundary, and what every boundary needs: redaction, extras, plugins.

A message names the thing (with its repr), says what was tried, lists the valid choices and ends with the fix.
`file` and `field` are kept apart so that `--json` output can carry them."""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from stat import S_ISREG
from typing import Any


class SkilljurorError(Exception):
    """Anything we raise on purpose; `exit_code` is what the command line exits with."""

    exit_code = 2

    def __init__(self, message: str, *, file: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(type(self), file=self.file, field=self.field), (self.message,))


class UsageError(SkilljurorError):
    """The caller's request is invalid."""


class AgentMissing(UsageError):
    """An agent's program that is not installed on this machine."""


class BundleError(UsageError):
    """A Skill bundle that cannot be read safely."""


class StudyError(UsageError):
    """A study file, plan or folder that is wrong."""


class TransformError(UsageError):
    """A variant that cannot be built from this source."""


class GateError(UsageError):
    """A gate that cannot be run on this pair."""


class TrajectoryError(UsageError):
    """A log that a format claims and that cannot be read."""


class QueryError(UsageError):
    """An unknown question or SQL that fails."""


class HarnessError(SkilljurorError):
    """The machine could not run a trial; the run stops rather than recording a false failure."""


class WorkerError(SkilljurorError):
    """A worker process that died, so that its share of the work is missing."""


class JudgeError(SkilljurorError):
    """A judge that gave no usable verdict."""


class ModelError(SkilljurorError):
    """A language model that could not be reached or paid."""


class UnusableAnswer(ModelError):
    """A model answered, and in no form that can be used."""


class QuestionRefused(ModelError):
    """A server does not take this one question: it is too long, or against a policy. Others it may."""


class StoreError(SkilljurorError):
    """The database is foreign or damaged."""


class InUseError(StoreError):
    """Another process has the database open: the same command does its work later."""

    exit_code = 75


class MissingDependency(SkilljurorError):
    """An optional part that is not installed; the message carries the install line."""


class NeedsDecision(SkilljurorError):
    """A person must decide before going on."""

    exit_code = 3


# Redact keys and passwords of the environment in output and files.


SECRET_NAME = re.compile(r"(?:API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""Names of variables and parameters with secrets, in litellm and at providers."""
MIN_SECRET = 8
"""Minimum length of a secret; a shorter value may be a common word."""
_PATH = re.compile(
    r"""'(?:[A-Za-z]:[/\\]|[/~\\])[^']*'|(?<![\w./:])(?:[A-Za-z]:(?=[/\\])|~(?=/))?[/\\][^\s/\\'"]+[/\\][^\s'",;)]*"""
)
"""An absolute path of two names or more, or any in quotes."""


def without_paths(text: str) -> str:
    """Replace every absolute path by `[path]`."""
    return _PATH.sub("[path]", text)


def redact(text: str, further: Iterable[str] = ()) -> str:
    """Replace the value of every such variable by `[redacted NAME]`, and `further` values by
    `[redacted]`."""
    secrets = dict.fromkeys(further, "[redacted]")
    secrets |= {
        value: f"[redacted {name}]"
        for name, value in os.environ.items()
        if SECRET_NAME.search(name)
    }
    for value in sorted(secrets, key=len, reverse=True):
        if len(value) >= MIN_SECRET:
            text = text.replace(value, secrets[value])
    return text


def redact_files(folder: Path, values: Collection[str]) -> int:
    """Redact values in the regular files below a folder and in names; return the number of files changed."""
    wanted = sorted({value for value in values if len(value) >= MIN_SECRET}, key=len, reverse=True)
    found = 0
    for base, folders, names in os.walk(folder, topdown=False) if wanted else ():
        for path in (Path(base, name) for name in names):
            if not S_ISREG(path.lstat().st_mode):
                continue
            data = clean = path.read_bytes()
            for value in wanted:
                clean = clean.replace(value.encode(), b"[redacted]")
            if clean != data:
                path.write_bytes(clean)
                found += 1
        for path in (Path(base, name) for name in (*folders, *names)):
            if (name := redact(path.name, wanted)) != path.name:
                path.rename(path.with_name(name))
    return found


# Libraries that not everybody installs: which extra brings them, and what is said where they are missing.


EXTRAS = {
    "models": ("litellm",),
    "report": ("matplotlib",),
    "notebook": ("pandas", "pyarrow"),
    "review": ("starlette", "uvicorn"),
}
"""Extra of pyproject.toml -> the libraries that it installs."""


def installed(library: str) -> bool:
    """Whether a library can be imported; it is not imported here."""
    return find_spec(library) is not None


def require(extra: str, user: str, *libraries: str) -> None:
    """Raise MissingDependency, with the command that installs it, where one of `libraries`, by default
    all of `extra`, is missing. `user` is what needs it, as the message names it."""
    missing = [library for library in libraries or EXTRAS[extra] if not installed(library)]
    if missing:
        raise MissingDependency(
            f"{user} needs {' and '.join(missing)}: pip install 'skilljuror[{extra}]'"
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question for the nearest known name, with a space after it; "" if none is near."""
    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}? " if near else ""


# Plugins are registered in plain dicts, `name -> "module:attribute"`, one for each kind.


def resolve(table: Mapping[str, str], name: str, what: str, protocol: Any = None) -> Any:
    """Return the plugin for `name`: a name in the table, or a `module:attribute`.

    `what` is the kind of plugin, for errors. Raises UsageError for an unknown plugin, and for one that
    lacks a member of `protocol`.
    """
    choices = f"choose one of {', '.join(sorted(table))}, or name your own as module:attribute"
    module, colon, attribute = table.get(name, name).partition(":")
    if not colon:
        raise UsageError(f"unknown {what} {name!r}; {choices}")
    try:
        plugin = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise UsageError(f"{what} {name!r} cannot be loaded: {error}; {choices}") from error
    names = {**protocol.__annotations__, **vars(protocol)} if protocol else {}
    public = [name for name in names if name == "__call__" or not name.startswith("_")]
    if missing := [name for name in public if not hasattr(plugin, name)]:
        raise UsageError(f"{what} {name!r} is not valid: missing {', '.join(missing)}; {choices}")
    return plugin

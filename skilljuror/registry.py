"""Plugins are named in plain dicts, `name -> "module:attribute"`, one for each kind.

Wherever such a name is asked for, on the command line, in a study file or in a worker process, a
`module:attribute` of another package will do as well: it needs no registration.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from skilljuror.errors import UsageError


def resolve(table: Mapping[str, str], name: str, what: str, protocol: Any = None) -> Any:
    """The object that `name` stands for: a name in the table, or a `module:attribute`.

    `what` names the kind of plugin in errors; an object that lacks a member of its `protocol` is
    refused. Raises UsageError.
    """
    choices = f"choose one of {', '.join(sorted(table))}, or name your own as module:attribute"
    module, colon, attribute = table.get(name, name).partition(":")
    if not colon:
        raise UsageError(f"unknown {what} {name!r}; {choices}")
    try:
        plugin = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise UsageError(f"{what} {name!r} cannot be loaded: {error}; {choices}") from error
    missing = [member for member in _members(protocol) if not hasattr(plugin, member)]
    if missing:
        raise UsageError(f"{what} {name!r} is none: it has no {', '.join(missing)}; {choices}")
    return plugin


def _members(protocol: Any) -> list[str]:
    """The members that a plugin must have."""
    names = {**protocol.__annotations__, **vars(protocol)} if protocol else {}
    return [name for name in names if name == "__call__" or not name.startswith("_")]

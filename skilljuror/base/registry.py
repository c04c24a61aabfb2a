"""Plugins are registered in plain dicts, `name -> "module:attribute"`, one for each kind.

The command line, study files and worker processes accept a `module:attribute` of another package
instead of a name, without registration.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from skilljuror.base.errors import UsageError


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
    missing = [member for member in _members(protocol) if not hasattr(plugin, member)]
    if missing:
        raise UsageError(f"{what} {name!r} is not valid: missing {', '.join(missing)}; {choices}")
    return plugin


def _members(protocol: Any) -> list[str]:
    names = {**protocol.__annotations__, **vars(protocol)} if protocol else {}
    return [name for name in names if name == "__call__" or not name.startswith("_")]

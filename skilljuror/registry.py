"""Plugins are named in plain dicts: `name -> "module:attribute"`.

A name that holds a colon is taken as such a path itself, so that another package
needs no registration.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from skilljuror.errors import UsageError


def resolve(table: Mapping[str, str], name: str, what: str) -> Any:
    """The object that `name` stands for; `what` names the kind of plugin in the error."""
    target = table.get(name, name)
    module, colon, attribute = target.partition(":")
    if not colon:
        raise UsageError(f"unknown {what} {name!r}; choose one of {', '.join(sorted(table))}")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise UsageError(f"{what} {name!r} cannot be loaded from {target!r}: {error}") from error

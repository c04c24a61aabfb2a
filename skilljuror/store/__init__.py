"""The DuckDB store.

The database is disposable: it can be regenerated from the files of a study. Names are imported on first
use, because workers create rows with modules of this package without loading DuckDB.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skilljuror.store.connect import QueryResult, Reader, open_read, open_write
    from skilljuror.store.writer import Store

__all__ = ["QueryResult", "Reader", "Store", "open_read", "open_write"]

_MODULES = {
    "QueryResult": "connect",
    "Reader": "connect",
    "Store": "writer",
    "open_read": "connect",
    "open_write": "connect",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

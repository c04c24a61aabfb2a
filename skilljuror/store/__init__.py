"""The DuckDB store: the only door to the database.

The database is disposable: everything in it can be made again from the files of a study.
Names are brought when asked for: workers shape rows with modules of this package and never load
the database.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skilljuror.store.connect import open_read, open_write
    from skilljuror.store.reader import QueryResult, Reader
    from skilljuror.store.writer import Store

__all__ = ["QueryResult", "Reader", "Store", "open_read", "open_write"]

_THREADS = "OPENBLAS_NUM_THREADS"
_HOMES = {
    "Reader": "reader",
    "QueryResult": "reader",
    "Store": "writer",
    "open_read": "connect",
    "open_write": "connect",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _one_thread():
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Arrow loads numpy, whose linear algebra would start a thread for each processor, which
    turn idly for a while; nothing here multiplies matrices."""
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]

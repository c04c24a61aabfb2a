"""Limits of time and memory for one question."""

from mmap import PAGESIZE
from pathlib import Path
from typing import NamedTuple

from skilljuror.base.errors import QueryError


class Limits(NamedTuple):
    """Limits of one question; None is no limit."""

    seconds: float | None = None
    """Seconds for the whole answer."""
    memory: int | None = None
    """Bytes for the database, without temporary files, and for the rows of the answer."""

    def too_slow(self) -> QueryError:
        """Return the error for a timeout."""
        return QueryError(
            f"the query takes longer than {self.seconds:g} s: add a LIMIT or a filter, or raise --timeout SECONDS",
            field="timeout",
        )

    def too_big(self) -> QueryError:
        """Return the error for too much memory."""
        limit = f"{self.memory >> 20} MB" if self.memory else "this machine has"
        return QueryError(
            f"the query needs more memory than {limit}: add a LIMIT or a filter, or raise --memory SIZE",
            field="memory",
        )


UNLIMITED = Limits()


def held_memory() -> int:
    """Return the bytes of data of this process; 0 if unknown."""
    status = Path("/proc/self/statm")
    return int(status.read_bytes().split()[5]) * PAGESIZE if status.exists() else 0

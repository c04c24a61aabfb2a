"""How long an answer may take and how much memory it may need."""

from mmap import PAGESIZE
from pathlib import Path
from typing import NamedTuple

from skilljuror.errors import QueryError


class Limits(NamedTuple):
    """Limits of one question; None is no limit."""

    seconds: float | None = None
    """Seconds until the answer is there."""
    memory: int | None = None
    """Bytes that the database may use for it, without a file on disk, and its rows may take."""

    def too_slow(self) -> QueryError:
        """The error of a question that takes too long."""
        return QueryError(
            f"the answer takes longer than {self.seconds:g} s: ask for less, or give it more with"
            " --timeout SECONDS",
            field="timeout",
        )

    def too_big(self) -> QueryError:
        """The error of a question that needs too much memory."""
        limit = f"{self.memory >> 20} MB" if self.memory else "this machine has"
        return QueryError(
            f"the answer needs more memory than {limit}: ask for less, or give it more with"
            " --memory SIZE",
            field="memory",
        )


UNLIMITED = Limits()


def held_memory() -> int:
    """Bytes of data that this process holds; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_bytes().split()[5]) * PAGESIZE if status.exists() else 0

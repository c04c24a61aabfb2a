"""Counted work: what reading one log may take, whatever somebody wrote into it.

Loops whose length is a product (lines of an output by files that a command names, globs by known
files) say beforehand how many turns they will take. Turns are counted and not timed, so that the same
log comes to the same end on any machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from skilljuror.errors import TrajectoryError

LEAST_TURNS = 10_000_000
"""Turns that any log may take, some seconds of a core; real logs take at most 70,000."""
TURNS_PER_BYTE = 2
"""Turns that every byte of a log adds; real logs take at most 0.06."""

FEW_TURNS = 64
"""Turns of a loop that may go uncounted: to count them would take longer."""


class TooMuchWork(TrajectoryError):
    """A log that takes far more work than others of its size."""


class _Allowance:
    """The turns that are left of what was allowed."""

    __slots__ = ("allowed", "left")

    def __init__(self, allowed: int) -> None:
        self.allowed = self.left = allowed


_current: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowed_work(size: int) -> Iterator[None]:
    """Inside, `charge` raises TooMuchWork once a log of `size` bytes has taken more than its share."""
    token = _current.set(_Allowance(LEAST_TURNS + TURNS_PER_BYTE * size))
    try:
        yield
    finally:
        _current.reset(token)


def charge(turns: int) -> None:
    """Count turns that are about to be taken; outside of `allowed_work` nothing is counted.

    Raises TooMuchWork where they are more than are left.
    """
    allowance = _current.get()
    if allowance is None:
        return
    allowance.left -= turns
    if allowance.left < 0:
        raise TooMuchWork(
            f"reading it takes more than {allowance.allowed:,} steps of work, far more than logs "
            "of its size do: such a run is not counted"
        )

"""A budget for the work of reading one log, against logs written to exhaust it.

Loops whose length is a product (output lines by files that a command names, globs by known files)
charge their turns in advance. Turns are counted, not timed, so that the result is the same on any
machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from skilljuror.base.errors import TrajectoryError

LEAST_TURNS = 10_000_000
"""Budget of any log, some seconds of a core; real logs use at most 70,000 turns."""
TURNS_PER_BYTE = 2
"""Additional budget for every byte of a log; real logs use at most 0.06 turns."""

FEW_TURNS = 64
"""Turns that need no charge: counting them would take longer."""


class WorkBudgetExceeded(TrajectoryError):
    """A log needs far more work than others of its size."""


class _Budget:
    __slots__ = ("allowed", "left")

    def __init__(self, allowed: int) -> None:
        self.allowed = self.left = allowed


_current: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def work_budget(size: int) -> Iterator[None]:
    """Limit the turns that `charge` accepts in the block, for a log of `size` bytes."""
    token = _current.set(_Budget(LEAST_TURNS + TURNS_PER_BYTE * size))
    try:
        yield
    finally:
        _current.reset(token)


def charge(turns: int) -> None:
    """Charge turns in advance; without a `work_budget` this does nothing.

    Raises WorkBudgetExceeded if the budget is too small.
    """
    budget = _current.get()
    if budget is None:
        return
    budget.left -= turns
    if budget.left < 0:
        raise WorkBudgetExceeded(
            f"reading it takes more than {budget.allowed:,} steps of work, far more than other logs "
            "of its size; the run is skipped"
        )

"""One wall for the work of reading one log: seconds of the processor."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from skilljuror.base.errors import TrajectoryError

LEAST_SECONDS = 60.0
"""Wall of any log; real logs take at most some seconds."""
BYTES_A_SECOND = 100_000
"""Bytes of a log that allow it a second more."""


class WorkBudgetExceeded(TrajectoryError):
    """A log needs far more work than others of its size."""


@contextmanager
def work_budget(size: int) -> Iterator[None]:
    """Raise WorkBudgetExceeded if the block takes more seconds of this process's processor time than
    a log of `size` bytes may.

    Seconds are those of user code, so that a busy machine fails no log. Outside the main thread, and
    on systems without such a timer, there is no wall.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return
    seconds = LEAST_SECONDS + size / BYTES_A_SECOND

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise WorkBudgetExceeded(
            f"reading it takes more than {seconds:,.0f} seconds, far more than other logs of its "
            "size; the run is skipped"
        )

    handler = signal.signal(signal.SIGVTALRM, stop)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
        signal.signal(signal.SIGVTALRM, handler)

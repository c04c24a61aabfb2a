"""Worker processes with a common way to stop, and progress reports.

Ctrl-C reaches the whole process group, but only the parent handles it. Workers hold the end of a pipe to
the parent: when it closes, because the parent stops or dies, they stop, clean up and exit.
"""

import atexit
import gc
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from skilljuror.base.errors import TrajectoryError, WorkerError
from skilljuror.base.platforms import mask_signals

Item = TypeVar("Item")
Result = TypeVar("Result")

QUEUED = 3
"""Queued items per worker; a limit, so results do not accumulate behind a slow item."""
FEW = 8
"""Items, such as logs, that are read faster than a worker starts."""
STOPPED = 130
"""Exit status of a stopped worker."""
GC_THRESHOLD = 100_000
"""Allocations between garbage collections: reading logs creates many objects and few cycles."""
_HELD = {signal.SIGINT, signal.SIGTERM}
"""Signals that stop a worker."""
_INTERRUPT_SECONDS = 1.0
"""Seconds that interrupted work gets to clean up."""


class Progress(Struct, frozen=True):
    """A progress report."""

    stage: str
    """build, assay, run, ingest, judge or report."""
    done: int
    total: int
    note: str = ""
    """The last finished item."""


Listener = Callable[[Progress], None]
"""Progress callback."""


def silent(progress: Progress) -> None:
    """Ignore progress."""


# In a worker process.


class _Worker:
    """State of this process as a worker."""

    idle = threading.Event()
    """Set while no item is running."""
    interrupted = False
    """Whether the next SIGINT interrupts the running item."""


_Worker.idle.set()


def wait_until_idle(seconds: float) -> None:
    """Wait, in the thread that stops this worker, until no item is running."""
    _Worker.idle.wait(seconds)


def interrupt_work() -> None:
    """Interrupt the running item by a KeyboardInterrupt, and wait while it cleans up."""
    main = threading.main_thread().ident
    if not _Worker.idle.is_set() and main:
        _Worker.interrupted = True
        kill = getattr(signal, "pthread_kill", lambda _, number: signal.raise_signal(number))
        kill(main, signal.SIGINT)
        wait_until_idle(_INTERRUPT_SECONDS)


def _become_worker(orders: Connection, stop: Callable[[], None]) -> None:
    """Make this process a worker; run once, before its first item."""
    gc.set_threshold(GC_THRESHOLD)
    warnings.simplefilter("ignore")  # a warning about code in a log would reach the terminal raw
    atexit.register(os._exit, 0)  # skip the slow module teardown
    leaving = threading.Lock()

    def leave(until_told: bool = False) -> None:
        if until_told:
            orders.poll(None)  # until the pipe is closed
        if leaving.acquire(blocking=False):  # once, so the cleanup is not interrupted
            stop()
            os._exit(STOPPED)

    def on_sigterm(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=leave, daemon=True).start()

    def on_sigint(number: int, frame: FrameType | None) -> None:
        """Ignore Ctrl-C of the process group; handle only the signal of `interrupt_work`."""
        if not _Worker.interrupted:
            return
        if _Worker.idle.is_set():
            os._exit(STOPPED)
        _Worker.interrupted = False
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_sigint)
    signal.signal(signal.SIGTERM, on_sigterm)
    mask_signals("SIG_UNBLOCK", _HELD)
    threading.Thread(target=leave, args=(True,), daemon=True).start()


def _do(work: Callable[[Item], Result], item: Item) -> Result:
    """Process one item in a worker."""
    try:
        _Worker.idle.clear()
        return work(item)
    except KeyboardInterrupt:
        os._exit(STOPPED)
    finally:
        _Worker.idle.set()


# In the parent process.


class WorkerPool(NamedTuple):
    """Workers that stop if the block fails or this process dies; without an executor, this process."""

    executor: ProcessPoolExecutor | None
    jobs: int

    def map_unordered(
        self, work: Callable[[Item], Result], items: Iterable[Item], queued: int = QUEUED
    ) -> Iterator[tuple[Item, Result]]:
        """Yield (item, result) as each is done, with `queued` items per worker at a time.

        Exceptions of `work` propagate. Raises WorkerError if a worker dies.
        """
        if self.executor is None:
            for item in items:
                yield item, work(item)
            return
        waiting: dict[Future[Result], Item] = {}
        for item in items:
            waiting[_submit(self.executor, work, item)] = item
            if len(waiting) >= queued * self.jobs:
                yield from _finished(waiting)
        while waiting:
            yield from _finished(waiting)


def _finished(waiting: "dict[Future[Result], Item]") -> Iterator[tuple[Item, Result]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def map_unordered(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Run `WorkerPool.map_unordered` in a new pool."""
    with worker_pool(jobs) as pool:
        yield from pool.map_unordered(work, items)


def map_ordered(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Yield (item, result) in the order of the items, from a new pool."""
    with worker_pool(jobs) as pool:
        if pool.executor is None:
            yield from pool.map_unordered(work, items)
            return
        waiting = deque[tuple[Item, Future[Result]]]()
        for item in items:
            waiting.append((item, _submit(pool.executor, work, item)))
            if len(waiting) >= QUEUED * jobs:
                first, future = waiting.popleft()
                yield first, future.result()
        for item, future in waiting:
            yield item, future.result()


def workers_for(items: Sized, jobs: int) -> int:
    """Return at most `jobs` workers, one per `FEW` quick items: a worker takes long to start."""
    return min(jobs, -(-len(items) // FEW))


@contextmanager
def worker_pool(
    jobs: int,
    *,
    stop: Callable[[], None] = interrupt_work,
    in_process: bool = True,
) -> Iterator[WorkerPool]:
    """Spawn `jobs` workers; leaving the block early drops queued items.

    `stop` ends the work of a stopped worker, in a separate thread.
    One job runs in this process unless `in_process` is False. Raises WorkerError if a worker dies.
    """
    if jobs <= 1 and in_process:
        yield WorkerPool(None, 1)
        return
    reader, writer = Pipe(duplex=False)
    before = os.environ.get("PYTHONSAFEPATH", "")
    os.environ["PYTHONSAFEPATH"] = "1"  # no file of the working directory is taken for a module
    executor = ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_become_worker, initargs=(reader, stop)
    )
    try:
        yield WorkerPool(executor, jobs)
    except BaseException as error:
        writer.close()
        if not isinstance(error, BrokenProcessPool):
            raise
        raise WorkerError(
            "a worker process died (out of memory?); finished work is saved: rerun to resume, with"
            " -j 1 if memory is short"
        ) from error
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        reader.close()
        writer.close()
        os.environ["PYTHONSAFEPATH"] = before


def _submit(
    executor: ProcessPoolExecutor, work: Callable[[Item], Result], item: Item
) -> "Future[Result]":
    """Queue an item. Signals wait until the process that is spawned for it has its orders, which they
    would make fail with a traceback; those that another thread takes are deferred."""
    before = mask_signals("SIG_BLOCK", _HELD)
    handlers = dict[signal.Signals, Any]()
    taken: list[int] = []
    try:
        if threading.current_thread() is threading.main_thread():
            for held in _HELD:
                handlers[held] = signal.signal(held, lambda number, _: taken.append(number))
        return executor.submit(_do, work, item)
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler or signal.SIG_DFL)
        mask_signals("SIG_SETMASK", before)
        for number in taken:
            signal.raise_signal(number)


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Collect garbage as rarely as a worker does."""
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)


# One wall for the work of reading one log: seconds of the processor.


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

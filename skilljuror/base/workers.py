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
from itertools import islice
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from skilljuror.base.errors import WorkerError

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
"""Signals blocked while a process is spawned, which would otherwise fail with a traceback."""
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
        signal.pthread_kill(main, signal.SIGINT)
        wait_until_idle(_INTERRUPT_SECONDS)


def _become_worker(orders: Connection, stop: Callable[[], None]) -> None:
    """Make this process a worker; run once, before its first item."""
    gc.set_threshold(GC_THRESHOLD)
    warnings.simplefilter("ignore")  # a warning about code in a log would reach the terminal raw
    atexit.register(os._exit, 0)  # skip the slow module teardown

    leaving = threading.Lock()

    def leave() -> None:
        if leaving.acquire(blocking=False):  # once, so the cleanup is not interrupted
            stop()
            os._exit(STOPPED)

    def leave_at_the_end_of_the_pipe() -> None:
        orders.poll(None)
        leave()

    def on_sigterm(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=leave, daemon=True).start()

    signal.signal(signal.SIGINT, _on_sigint)
    signal.signal(signal.SIGTERM, on_sigterm)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
    threading.Thread(target=leave_at_the_end_of_the_pipe, daemon=True).start()


def _on_sigint(number: int, frame: FrameType | None) -> None:
    """Ignore Ctrl-C of the process group; handle only the signal of `interrupt_work`."""
    if not _Worker.interrupted:
        return
    if _Worker.idle.is_set():
        os._exit(STOPPED)
    _Worker.interrupted = False
    raise KeyboardInterrupt


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

    def map_ordered(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """Yield (item, result) in the order of the items; the first items are queued at once."""
        if self.executor is None:
            return self.map_unordered(work, items)
        rest, waiting = iter(items), deque[tuple[Item, Future[Result]]]()
        for item in islice(rest, QUEUED * self.jobs):
            waiting.append((item, _submit(self.executor, work, item)))
        return _in_turn(self.executor, work, rest, waiting)


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
    with reader, writer, _executor(jobs, reader, stop) as executor:
        try:
            yield WorkerPool(executor, jobs)
        except BrokenProcessPool as error:
            writer.close()
            raise WorkerError(
                "a worker process died (out of memory?); finished work is saved: rerun to resume, with"
                " -j 1 if memory is short"
            ) from error
        except BaseException:
            writer.close()
            raise


@contextmanager
def _executor(
    jobs: int, orders: Connection, stop: Callable[[], None]
) -> Iterator[ProcessPoolExecutor]:
    with _safe_path():
        executor = ProcessPoolExecutor(
            jobs, get_context("spawn"), initializer=_become_worker, initargs=(orders, stop)
        )
        try:
            yield executor
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the working directory off the import path of spawned interpreters."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def map_unordered(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Run `WorkerPool.map_unordered` in a new pool."""
    with worker_pool(jobs) as pool:
        yield from pool.map_unordered(work, items)


def map_ordered(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Run `WorkerPool.map_ordered` in a new pool."""
    with worker_pool(jobs) as pool:
        yield from pool.map_ordered(work, items)


def _submit(
    executor: ProcessPoolExecutor, work: Callable[[Item], Result], item: Item
) -> "Future[Result]":
    """Queue an item; a signal waits until the process spawned for it has its orders."""
    with _signals_held():
        return executor.submit(_do, work, item)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Block signals, for a spawned process too, and defer those that another thread takes."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    handlers = dict[signal.Signals, Any]()
    taken: list[int] = []
    try:
        if threading.current_thread() is threading.main_thread():
            for held in _HELD:
                handlers[held] = signal.signal(held, lambda number, _: taken.append(number))
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in taken:
            signal.raise_signal(number)


def _in_turn(
    executor: ProcessPoolExecutor,
    work: Callable[[Item], Result],
    rest: Iterable[Item],
    waiting: deque[tuple[Item, "Future[Result]"]],
) -> Iterator[tuple[Item, Result]]:
    for item in rest:
        waiting.append((item, _submit(executor, work, item)))
        first, future = waiting.popleft()
        yield first, future.result()
    for item, future in waiting:
        yield item, future.result()


def _finished(waiting: dict[Future[Result], Item]) -> Iterator[tuple[Item, Result]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Collect garbage as rarely as a worker does."""
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)

"""Worker processes that stop in one way, and the progress that work reports.

A Ctrl-C reaches the whole process group, and only the parent decides what it means. Workers hold
the end of a pipe whose other end is the parent's alone: when it closes, because the parent stops
or dies, they break off what they do, clean up and are gone.
"""

import atexit
import gc
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from types import FrameType
from typing import NamedTuple, TypeVar

from msgspec import Struct

from skilljuror.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")

QUEUED = 3
"""Items handed out per worker, so that results never pile up while one item is slow."""
STOPPED = 130
"""Exit status of a worker that was stopped."""
GC_THRESHOLD = 100_000
"""Objects that a worker makes before it looks for cycles among them: reading logs makes many and
hardly a cycle, so that looking costs much and frees nothing."""
_HELD = {signal.SIGINT, signal.SIGTERM}
"""Signals that wait while a process is spawned: one broken off half way complains of what it was not told."""
_INTERRUPT_SECONDS = 1.0
"""Seconds that interrupted work gets to clean up."""


class Progress(Struct, frozen=True):
    """One sign of life; the command line draws it, libraries ignore it."""

    stage: str
    """What is going on: build, assay, run, ingest, judge, report."""
    done: int
    """Things finished."""
    total: int
    """Things in all."""
    note: str = ""
    """What was finished last."""


Listener = Callable[[Progress], None]
"""Who is told of progress."""


def silent(progress: Progress) -> None:
    """The listener that tells nobody."""


# In a worker process.


class _Worker:
    """What this process is at, where it is a worker."""

    idle = threading.Event()
    """Set while no item is under way."""
    interrupted = False
    """Whether the next SIGINT breaks off the item under way."""


_Worker.idle.set()


def wait_until_idle(seconds: float) -> None:
    """Wait, in the thread that stops this worker, until no item is under way."""
    _Worker.idle.wait(seconds)


def interrupt_work() -> None:
    """Break off the item under way by a KeyboardInterrupt, and give it a moment to clean up."""
    main = threading.main_thread().ident
    if not _Worker.idle.is_set() and main:
        _Worker.interrupted = True
        signal.pthread_kill(main, signal.SIGINT)
        wait_until_idle(_INTERRUPT_SECONDS)


def _become_worker(orders: Connection, stop: Callable[[], None]) -> None:
    """Make this process a worker; run once, before its first item."""
    gc.set_threshold(GC_THRESHOLD)
    warnings.simplefilter(
        "ignore"
    )  # Python's on code in a log would go to the terminal as it stands
    atexit.register(os._exit, 0)  # nothing is left to do: taking the modules down costs time

    leaving = threading.Lock()

    def leave() -> None:
        if leaving.acquire(blocking=False):  # once, so that cleaning up is not broken off
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
    """A Ctrl-C of the group means nothing here; only the signal of `interrupt_work` does."""
    if not _Worker.interrupted:
        return
    if _Worker.idle.is_set():
        os._exit(STOPPED)
    _Worker.interrupted = False
    raise KeyboardInterrupt


def _do(work: Callable[[Item], Result], item: Item) -> Result:
    """One item of work, in a worker."""
    try:
        _Worker.idle.clear()
        return work(item)
    except KeyboardInterrupt:
        os._exit(STOPPED)
    finally:
        _Worker.idle.set()


def _call(action: Callable[[], None]) -> None:
    action()


# In the process that has the work done.


class WorkerPool(NamedTuple):
    """Workers that stop at once when the block ends badly or this process dies; without an
    executor, this process itself."""

    executor: ProcessPoolExecutor | None
    jobs: int
    """Number of workers."""

    def map_unordered(
        self, work: Callable[[Item], Result], items: Iterable[Item], queued: int = QUEUED
    ) -> Iterator[tuple[Item, Result]]:
        """(item, result) of each as it is done; `queued` items per worker are handed out at a time.

        An exception of `work` is raised here and ends the iteration; WorkerError is raised when
        a worker dies.
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
        """The same in the order of the items, so that what is made of it does not hang on chance.

        The first items are handed out at once, before anybody asks for a result.
        """
        if self.executor is None:
            return self.map_unordered(work, items)
        rest, waiting = iter(items), deque[tuple[Item, Future[Result]]]()
        for item in islice(rest, QUEUED * self.jobs):
            waiting.append((item, _submit(self.executor, work, item)))
        return _in_turn(self.executor, work, rest, waiting)


@contextmanager
def worker_pool(
    jobs: int,
    *,
    preload: Callable[[], None] | None = None,
    stop: Callable[[], None] = interrupt_work,
    in_process: bool = True,
) -> Iterator[WorkerPool]:
    """`jobs` spawned workers; leaving the block early drops what was not begun.

    `preload` makes each worker load what its work takes while nothing is asked of it yet. `stop` ends
    the work of a worker that is told to go, in a thread of its own. One job needs no worker and is done
    in this process, unless `in_process` is False. Raises WorkerError when a worker dies.
    """
    if jobs <= 1 and in_process:
        yield WorkerPool(None, 1)
        return
    reader, writer = Pipe(duplex=False)
    with reader, writer, _executor(jobs, reader, stop) as executor:
        try:
            for action in [preload] * jobs if preload else ():
                _submit(executor, _call, action)
            yield WorkerPool(executor, jobs)
        except BrokenProcessPool as error:
            writer.close()
            raise WorkerError(
                "a worker process died (out of memory?); what was finished is kept: run the same"
                " command again, with -j 1 if memory is short"
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
    """Spawned interpreters do not put the working directory on their import path."""
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
    """`WorkerPool.map_unordered` with workers of its own."""
    with worker_pool(jobs) as pool:
        yield from pool.map_unordered(work, items)


def map_ordered(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """`WorkerPool.map_ordered` with workers of its own."""
    with worker_pool(jobs) as pool:
        yield from pool.map_ordered(work, items)


def _submit(
    executor: ProcessPoolExecutor, work: Callable[[Item], Result], item: Item
) -> "Future[Result]":
    """Hand an item out; a process spawned for it is told all it needs, and sees no signal before it is
    ready for one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        return executor.submit(_do, work, item)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
    """Look for cycles as rarely as a worker does: many small objects live until the work is done."""
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)

"""The worker pools: spawned processes with a safe import path.

A Ctrl-C reaches the whole process group, and only the parent decides what it means. Workers hold
the end of a pipe whose other end is the parent's alone: when it closes, because the parent stops
or dies, they break off what they do, clean up and are gone.
"""

import atexit
import gc
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from skilljuror.errors import WorkerError

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AHEAD = 3
"""Items handed out per worker, so that results never pile up while one item is slow."""
STOPPED = 130
"""Exit status of a worker that was stopped."""
COLLECT = 100_000
"""Objects that a worker makes before it looks for cycles among them: reading logs makes many and
hardly a cycle, so that looking costs much and frees nothing."""
_PATIENCE = 1.0
"""Seconds that a stopped worker gets to clean up."""


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


@contextmanager
def ctrl_c_later() -> Iterator[None]:
    """A process spawned in here never sees a Ctrl-C before it is ready for it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def workers(
    jobs: int, setup: Callable[..., None] | None = None, args: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool of `jobs` spawned processes; leaving the block early drops what was not begun."""
    with _safe_path():
        pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=setup, initargs=args)
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _State:
    """What the one worker of this process is at."""

    busy = False
    stopped = False
    leaving = False


_state = _State()


def _enter(orders: Connection) -> None:
    """Make this process a worker; run once, before its first item."""
    gc.set_threshold(COLLECT)
    atexit.register(os._exit, 0)  # nothing is left to do: taking the modules down costs time
    signal.signal(signal.SIGINT, _heed)
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_obey, args=(orders,), daemon=True).start()


def _obey(orders: Connection) -> None:
    """Leave at the end of the pipe; what is under way gets a moment to clean up."""
    orders.poll(None)
    _state.stopped = True
    if _state.busy and (main := threading.main_thread().ident):
        signal.pthread_kill(main, signal.SIGINT)
        time.sleep(_PATIENCE)
    os._exit(STOPPED)


def _heed(number: int, frame: FrameType | None) -> None:
    """A Ctrl-C of the group means nothing here; the one that follows the order does."""
    if _state.stopped:
        _leave(number, frame)


def _leave(number: int, frame: FrameType | None) -> None:
    """Break off what is under way, once, so that cleaning up is not broken off in its turn."""
    if not _state.busy:
        os._exit(STOPPED)
    if not _state.leaving:
        _state.leaving = True
        raise KeyboardInterrupt


def _worked(work: Callable[[Item], Answer], item: Item) -> Answer:
    try:
        _state.busy = True
        return work(item)
    except KeyboardInterrupt:
        os._exit(STOPPED)
    finally:
        _state.busy = False


class Crew(NamedTuple):
    """Workers that stop at once when the block ends badly or this process dies; or, where one
    is enough, this process itself."""

    pool: ProcessPoolExecutor | None
    jobs: int

    def each(
        self, work: Callable[[Item], Answer], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Answer]]:
        """(item, answer) as they are done.

        An exception of `work` is raised here and ends the iteration; WorkerError is raised when
        a worker dies.
        """
        if self.pool is None:
            for item in items:
                yield item, work(item)
            return
        waiting: dict[Future[Answer], Item] = {}
        for item in items:
            waiting[_handed(self.pool, work, item)] = item
            if len(waiting) >= AHEAD * self.jobs:
                yield from _finished(waiting)
        while waiting:
            yield from _finished(waiting)

    def in_order(
        self, work: Callable[[Item], Answer], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Answer]]:
        """The same in the order of the items, so that what is made of it does not hang on chance.

        The first items are handed out at once, before anybody asks for an answer.
        """
        if self.pool is None:
            return self.each(work, items)
        rest, waiting = iter(items), deque[tuple[Item, Future[Answer]]]()
        for item in islice(rest, AHEAD * self.jobs):
            waiting.append((item, _handed(self.pool, work, item)))
        return _in_turn(self.pool, work, rest, waiting)


@contextmanager
def crew(jobs: int, ready: Callable[[], None] | None = None) -> Iterator[Crew]:
    """Workers, which `ready` makes load what their work takes while nothing is asked of them yet."""
    if jobs <= 1:
        yield Crew(None, 1)
        return
    reader, writer = Pipe(duplex=False)
    with reader, writer, workers(jobs, _enter, (reader,)) as pool:
        try:
            for work in [ready] * jobs if ready else ():
                _handed(pool, _called, work)
            yield Crew(pool, jobs)
        except BrokenProcessPool as error:
            writer.close()
            raise WorkerError(
                "a worker process died (out of memory?); what was finished is kept: run the same"
                " command again, with -j 1 if memory is short"
            ) from error
        except BaseException:
            writer.close()
            raise


def each(
    work: Callable[[Item], Answer], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Answer]]:
    """`Crew.each` with workers of its own."""
    with crew(jobs) as own:
        yield from own.each(work, items)


def in_order(
    work: Callable[[Item], Answer], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Answer]]:
    """`Crew.in_order` with workers of its own."""
    with crew(jobs) as own:
        yield from own.in_order(work, items)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for cycles as rarely as a worker does: many small objects live until the work is done."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _called(work: Callable[[], None]) -> None:
    work()


def _handed(
    pool: ProcessPoolExecutor, work: Callable[[Item], Answer], item: Item
) -> "Future[Answer]":
    with ctrl_c_later():
        return pool.submit(_worked, work, item)


def _in_turn(
    pool: ProcessPoolExecutor,
    work: Callable[[Item], Answer],
    rest: Iterable[Item],
    waiting: deque[tuple[Item, "Future[Answer]"]],
) -> Iterator[tuple[Item, Answer]]:
    for item in rest:
        waiting.append((item, _handed(pool, work, item)))
        first, future = waiting.popleft()
        yield first, future.result()
    for item, future in waiting:
        yield item, future.result()


def _finished(waiting: dict[Future[Answer], Item]) -> Iterator[tuple[Item, Answer]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()

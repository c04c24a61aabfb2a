"""The one worker pool: spawned processes with a safe import path."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AHEAD = 3
"""Items handed out per worker, so that results never pile up while one item is slow."""


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


def each(
    work: Callable[[Item], Answer], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Answer]]:
    """(item, answer) as they are done; in this process when one worker is enough.

    An exception of `work` is raised here and ends the iteration.
    """
    if jobs <= 1:
        for item in items:
            yield item, work(item)
        return
    with workers(jobs) as pool:
        waiting: dict[Future[Answer], Item] = {}
        for item in items:
            waiting[pool.submit(work, item)] = item
            if len(waiting) >= AHEAD * jobs:
                yield from _finished(waiting)
        while waiting:
            yield from _finished(waiting)


def in_order(
    work: Callable[[Item], Answer], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Answer]]:
    """The same in the order of the items, so that what is made of it does not hang on chance."""
    if jobs <= 1:
        yield from each(work, items, 1)
        return
    with workers(jobs) as pool:
        waiting: deque[tuple[Item, Future[Answer]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > AHEAD * jobs:
                first, future = waiting.popleft()
                yield first, future.result()
        for item, future in waiting:
            yield item, future.result()


def _finished(waiting: dict[Future[Answer], Item]) -> Iterator[tuple[Item, Answer]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()

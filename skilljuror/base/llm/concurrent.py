"""Concurrent calls in threads: a call spends nearly all of its time waiting for its server."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Items per thread taken in advance, so that no thread waits for the caller."""


def in_flight(
    work: Iterable[T], do: Callable[[T], R], threads: int
) -> Generator[tuple[T, R], None, None]:
    """Yield (item, result) of all work as it is done, `threads` items at a time.

    The first exception stops items that have not begun; running ones are awaited, so that their
    answers are logged, and it is raised. Ctrl-C and a caller that stops do not wait. Work is taken
    lazily, in the caller's thread.
    """
    todo: SimpleQueue[tuple[T] | None] = SimpleQueue()
    done: SimpleQueue[tuple[T, Future[R]]] = SimpleQueue()
    for _ in range(threads):
        Thread(target=_serve, args=(todo, do, done), daemon=True).start()
    source, taken = iter(work), 0
    try:
        while True:
            for item in islice(source, AHEAD * threads - taken):
                todo.put((item,))
                taken += 1
            if not taken:
                return
            item, future = done.get()
            taken -= 1
            if future.exception():
                _ = [done.get() for _ in range(taken - _cancelled(todo))]
            yield item, future.result()
    finally:
        _cancelled(todo)
        for _ in range(threads):
            todo.put(None)


def _serve(
    todo: SimpleQueue[tuple[T] | None],
    do: Callable[[T], R],
    done: SimpleQueue[tuple[T, Future[R]]],
) -> None:
    while task := todo.get():
        future: Future[R] = Future()
        try:
            future.set_result(do(*task))
        except BaseException as error:  # noqa: BLE001  raised by the thread that waits
            future.set_exception(error)
        done.put((*task, future))


def _cancelled(todo: SimpleQueue[tuple[T] | None]) -> int:
    """Cancel items that have not begun; return their number."""
    count = 0
    while True:
        try:
            todo.get_nowait()
        except Empty:
            return count
        count += 1

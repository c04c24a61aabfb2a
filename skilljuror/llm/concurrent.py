"""Calls side by side, in threads: a call waits for its server nearly all of its time."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Items per thread that are taken from the work before they are done: no thread waits for the caller."""


def in_flight(
    work: Iterable[T], do: Callable[[T], R], threads: int
) -> Generator[tuple[T, R], None, None]:
    """(item, what was done) of all the work, as they come, `threads` of them at a time.

    The first that raises stops what has not begun; what has is waited for, so that its answers are in
    the log, and the error is raised. Ctrl-C and a caller that stops wait for nothing. The work is
    taken bit by bit, in the caller's own thread.
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
    """How many items had not begun; now they will not."""
    count = 0
    while True:
        try:
            todo.get_nowait()
        except Empty:
            return count
        count += 1

"""Work side by side: all of it, bit by bit, and no more after the first error."""

import threading
import time

import pytest

from skilljuror.base.errors import ModelError
from skilljuror.base.llm import in_flight


def test_all_the_work_is_done_that_many_at_a_time():
    lock, running, most = threading.Lock(), [0], [0]

    def do(item):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.01)
        with lock:
            running[0] -= 1
        return item * 2

    assert sorted(in_flight(range(40), do, 8)) == [(n, 2 * n) for n in range(40)]
    assert most == [8]


def test_the_first_error_stops_what_has_not_begun_and_waits_for_what_has():
    begun, ended = [], []

    def do(item):
        begun.append(item)
        if item == 3:
            raise ModelError("no answer")
        time.sleep(0.05)
        ended.append(item)

    with pytest.raises(ModelError, match="no answer"):
        list(in_flight(range(1000), do, 4))
    assert sorted(ended) == sorted(set(begun) - {3})
    assert len(begun) <= 8
    time.sleep(0.1)
    assert len(begun) == len(ended) + 1


def test_work_is_taken_in_the_callers_thread_and_not_all_at_once():
    taken = []

    def work():
        for n in range(1000):
            taken.append(threading.get_ident())
            yield n

    results = in_flight(work(), str, 2)
    assert next(results)[1] in {"0", "1", "2", "3"}
    results.close()
    assert set(taken) == {threading.get_ident()}
    assert len(taken) <= 5


def test_no_work_is_no_result():
    assert list(in_flight([], str, 3)) == []

"""Work counted in lines of Python that ran: the same on any machine, however busy."""

import sys
from typing import Any


class TooLong(Exception):
    """More lines ran than the test waits for."""


def lines_run(work, most=40_000_000):
    """How many lines run while some work is done; at most `most` of them."""
    count = 0

    def inside(frame: Any, event: str, _: Any):
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise TooLong(f"more than {most} lines")
        return inside

    before = sys.gettrace()
    sys.settrace(inside)
    try:
        work()
    finally:
        sys.settrace(before)
    return count

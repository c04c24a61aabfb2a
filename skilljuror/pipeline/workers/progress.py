"""How long work tells a person where it is."""

from collections.abc import Callable

from msgspec import Struct


class Progress(Struct, frozen=True):
    """One sign of life; the command line draws it, libraries ignore it."""

    stage: str
    """What is going on: build, run, ingest, judge, report."""
    done: int
    """Things finished."""
    total: int
    """Things in all."""
    note: str = ""
    """What was finished last."""


Listener = Callable[[Progress], None]
"""Who is told."""


def silent(progress: Progress) -> None:
    """Tell nobody."""

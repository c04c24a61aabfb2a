"""What the workers of a stage do; loaded by them alone."""

from collections.abc import Callable, Iterator
from pathlib import Path

from skilljuror.base.trajectory import Trajectory
from skilljuror.base.workers import map_ordered
from skilljuror.events.attribute import attribute
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from skilljuror.store.logs import LogGroup, group_captures, portions

Portion = tuple[LogGroup, ...]


def read_all(work: Callable[[Portion], int], folder: Path, jobs: int) -> int:
    """Do something to all logs below a folder, shared out as ingest does; the sum of the answers."""
    found = [one for one in discover([folder]) if one.format is not None]
    shared = portions(group_captures(found))
    return sum(answer for _, answer in map_ordered(work, shared, jobs))


def parsed(portion: Portion) -> int:
    """Parse; the number of runs."""
    return sum(1 for _ in _runs(portion))


def attributed(portion: Portion) -> int:
    """Parse and attribute; the number of runs."""
    return sum(1 for run in _runs(portion) if attribute(run, None))


def counted(portion: Portion) -> int:
    """Parse and count tokens; the number of runs."""
    from skilljuror.store.rows import step_tokens

    return sum(1 for run in _runs(portion) if step_tokens(run) is not None)


def _runs(portion: Portion) -> Iterator[Trajectory]:
    for group in portion:
        for found in group.found:
            yield from read(found.source, found.format or "")

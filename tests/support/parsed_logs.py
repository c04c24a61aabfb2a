"""Logs read by one format, and calls of what was read."""

import json
from pathlib import Path

from skilljuror.base.trajectory import Trajectory
from skilljuror.logs.base import Source
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read


def read_one(path, format: str, siblings=()) -> Trajectory:
    """The one run of a log, read with a format."""
    (run,) = read(Source(path, siblings=tuple(siblings)), format)
    return run


def calls_of(run: Trajectory, action: str):
    """Every call of a run of that kind."""
    return [call for step in run.steps for call in step.calls if call.action == action]


def compacted_at(run: Trajectory):
    """(agent, steps before) of every compaction."""
    return tuple((one.agent, one.step) for one in run.compactions)


def write_json(path: Path, value) -> Path:
    """A file of a text, or of a value as JSON, in folders that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def read_claimed(folder, value, format: str):
    """The one run of a value written as a log, which that format has to claim."""
    (found,) = discover([write_json(folder / "log.json", value)])
    assert found.format == format
    (run,) = read(found.source, format)
    return run

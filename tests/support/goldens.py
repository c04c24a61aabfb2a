"""The golden logs: where they lie, and a trajectory as the plain data of expected.json.

`python -m tests.support.goldens FORMAT/CASE ...` writes expected.json anew; read the
difference before committing it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from skilljuror.base.trajectory import Trajectory
from skilljuror.logs.base import FoundSource
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support.places import GOLDENS


def cases() -> list[str]:
    """`format/case` of every golden folder, sorted."""
    return sorted(
        f"{path.parent.parent.name}/{path.parent.name}" for path in GOLDENS.glob("*/*/SOURCE.md")
    )


def raw(case: str) -> Path:
    """The raw file of a case, or the folder that holds its files."""
    return next(path for path in sorted((GOLDENS / case).iterdir()) if path.name.startswith("raw"))


def sources(case: str) -> list[FoundSource]:
    """What discovery makes of the raw part of a case."""
    return discover([raw(case)])


def trajectories(case: str) -> list[Trajectory]:
    """The runs of a case, in order."""
    return [
        run
        for found in sources(case)
        if found.format is not None
        for run in read(found.source, found.format)
    ]


def plain(trajectory: Trajectory, base: Path) -> dict[str, Any]:
    """A trajectory as JSON data: paths relative to the case, defaults left out."""
    shown: dict[str, Any] = msgspec.to_builtins(trajectory)
    shown["files"] = [str(Path(file).relative_to(base)) for file in trajectory.files]
    short: dict[str, Any] = _short(shown)
    return short


_ONLY_TRUE = {"inherited", "unknown", "partial"}
"""Flags of calls and results that are said only where they hold."""


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _short(item)
            for key, item in value.items()
            if not _empty(item) and (item or key not in _ONLY_TRUE)
        }
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    return value


def _empty(value: Any) -> bool:
    """Unknown, or an empty object; False, 0, "" and an empty list are said, but for `inherited`."""
    return value is None or value == {}


def expected(case: str) -> Any:
    """The data of expected.json."""
    return json.loads((GOLDENS / case / "expected.json").read_text(encoding="utf-8"))


def observed(case: str) -> Any:
    """What the parsers say now, in the form of expected.json."""
    shown = [plain(run, GOLDENS / case) for run in trajectories(case)]
    return json.loads(json.dumps(shown))


if __name__ == "__main__":
    for name in sys.argv[1:] or cases():
        target = GOLDENS / name / "expected.json"
        target.write_text(json.dumps(observed(name), indent=1, ensure_ascii=False) + "\n", "utf-8")

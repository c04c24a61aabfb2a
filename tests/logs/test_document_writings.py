"""A log that is one JSON document says the same however it is written."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skilljuror.base.skill import MappedUnit, Unit, UnitLocation
from skilljuror.base.trajectory import SkillManifest, Trajectory
from skilljuror.events.attribute import attribute
from skilljuror.events.exposure import expose
from skilljuror.judge.tracing import TracingJudge
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support import goldens

FEWEST_FORMATS = {
    "atif", "gemini-chat", "harbor-trial", "mini-swe-agent", "opencode", "openhands-v1", "terminus-2"
}  # fmt: skip
Writer = Callable[[Any], str]


def documents(folder: Path) -> list[Path]:
    """The files below a folder, or the file, that are one JSON value."""
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    return [path for path in paths if path.is_file() and parsed(path) is not None]


def parsed(path: Path) -> Any:
    if not path.suffix.startswith(".json"):
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    lines = path.suffix == ".jsonl" and not {"messages", "history"} & set(value)
    return None if lines else value


CASES = [case for case in goldens.cases() if documents(goldens.raw(case))]


def turned(value: Any) -> Any:
    """The value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


WRITERS: dict[str, Writer] = {
    "indented": lambda value: json.dumps(value, indent=2, ensure_ascii=False) + "\n",
    "tabs": lambda value: json.dumps(value, indent="\t"),
    "not indented": lambda value: json.dumps(value, indent=0),
    "compact": lambda value: json.dumps(value, separators=(",", ":")),
    "reordered": lambda value: json.dumps(turned(value), indent=4),
    "reordered and compact": lambda value: json.dumps(turned(value), ensure_ascii=False),
}


def written(case: str, write: Writer, folder: Path) -> Path:
    """A copy of a golden log with its documents written otherwise."""
    raw = goldens.raw(case)
    folder.mkdir()
    copy = folder / raw.name
    (shutil.copytree if raw.is_dir() else shutil.copyfile)(raw, copy)
    for path in documents(copy):
        path.write_text(write(parsed(path)), encoding="utf-8")
    return copy


def rows(log: Path) -> list[dict[str, Any]]:
    """All that is said of the runs of a log, without the digests that name files without an id."""
    runs = [
        run
        for found in discover([log])
        if found.format is not None
        for run in read(found.source, found.format)
    ]
    return [said(run, log.parent) for run in sorted(runs, key=lambda run: run.files)]


def said(run: Trajectory, base: Path) -> dict[str, Any]:
    found = attribute(run, None)
    verdicts = list(TracingJudge().judge("trial", run, found.events, found.manifest))
    exposure = expose(run, found.events, units(found.manifest), "given")
    parts = {
        "run": msgspec.structs.replace(run, files=()),
        "events": found.events, "verdicts": verdicts, "exposure": exposure,
    }  # fmt: skip
    text = json.dumps(msgspec.to_builtins(parts)).replace(str(base), "BASE")
    plain: dict[str, Any] = json.loads(re.sub("file-[0-9a-f]{16}", "DIGEST", text))
    return plain


def units(manifest: SkillManifest) -> list[MappedUnit]:
    """One unit for each of the first lines of every resource."""
    return [
        MappedUnit(
            Unit(f"{resource.skill}/{resource.path}:{line}", "statement", resource.path, line, line, (), ""),
            {"given": UnitLocation(f"{resource.skill}/{resource.path}", line, line)},
        )
        for resource in manifest.resources
        for line in range(1, 6)
    ]  # fmt: skip


def test_the_goldens_hold_every_format_of_documents():
    formats = {case.split("/")[0] for case in CASES}
    assert formats >= FEWEST_FORMATS
    found = [one for case in CASES for one in rows(goldens.raw(case))]
    assert sum(len(one["events"]) for one in found) > 10
    assert any(verdict["label"] == "yes" for one in found for verdict in one["verdicts"])
    assert any(one["exposure"]["seen"] for one in found)


@pytest.mark.parametrize("case", CASES)
def test_every_writing_says_the_same(case, tmp_path):
    original = rows(written(case, lambda value: json.dumps(value, indent=1), tmp_path / "one"))
    for name, writer in WRITERS.items():
        assert rows(written(case, writer, tmp_path / name)) == original, name

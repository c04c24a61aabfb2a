"""Logs of Claude Code made by hand, and what is read of them."""

import json
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import Trajectory
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read

SESSION = "5e551000-0000-4000-8000-00000000000a"
Row = dict[str, Any]


def row(number: int, type: str, **more: Any) -> Row:
    """A record of a session, written in that minute."""
    head = {"parentUuid": None, "isSidechain": False, "cwd": "/w", "sessionId": SESSION, "version": "2.1.0"}  # fmt: skip
    stamp = f"2026-03-02T10:{number:02}:00.000Z"
    return {**head, "type": type, "uuid": f"u{number}", "timestamp": stamp, **more}


def assistant(
    number: int, *blocks: Any, id: str | None = None, usage: Any = None, **more: Any
) -> Row:
    """A record of an API message."""
    message = {"id": id or f"msg_{number}", "role": "assistant", "model": "claude-x", "content": list(blocks)}  # fmt: skip
    return row(number, "assistant", message={**message, "usage": usage or {}}, **more)


def tool_use(id: str, name: str = "Bash", **arguments: Any) -> Row:
    """A call, as a block of a message."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def tool_result(id: str, shown: Any = "done") -> Row:
    """The answer to a call, as a block of a user message."""
    return {"type": "tool_result", "tool_use_id": id, "content": shown}


def user(number: int, content: Any, **more: Any) -> Row:
    """A record of a user message."""
    return row(number, "user", message={"role": "user", "content": content}, **more)


def write_lines(path: Path, *rows: Row) -> Path:
    """A log of these records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(one, separators=(",", ":")) for one in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def runs(path: Path) -> list[Trajectory]:
    """Every run under a path."""
    return [run for one in discover([path]) if one.format for run in read(one.source, one.format)]


def parsed(tmp_path: Path, *rows: Row) -> Trajectory:
    """The run of a session of these records."""
    (run,) = runs(write_lines(tmp_path / "projects" / "-w" / f"{SESSION}.jsonl", *rows))
    return run


def results_by_call(run: Trajectory) -> dict[str | None, str | None]:
    """Id of a call -> the text of its result; None for a call without one."""
    calls = [one for step in run.steps for one in step.calls]
    return {one.call_id: one.result.text if one.result else None for one in calls}


SNAPSHOT = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}

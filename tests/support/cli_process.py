"""The command line as a process of its own, as a user meets it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests.support.cli_server import called

SKILL = """---
name: csv-report
description: Summarise a CSV of sales. Use when a report is asked for.
---
# CSV report

1. Read `references/format.md` for the output format.

## Limits

Never round below 0.01.
"""


def call(*words: Any, cwd: Path | None = None, under: Sequence[str] = (), **more: Any) -> Any:
    """A finished `skilljuror WORDS…`, as subprocess.run tells of it; `under` are the words of a command that
    runs it. Without further settings it is forked from a process that has imported the command line."""
    if not under and not more:
        with (
            TemporaryFile("w+", encoding="utf-8") as out,
            TemporaryFile("w+", encoding="utf-8") as err,
        ):
            texts = [*map(str, words)]
            status = called(texts, str(cwd or Path.cwd()), out.fileno(), err.fileno())
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(texts, status, out.read(), err.read())
    command = [*under, sys.executable, "-m", "skilljuror", *map(str, words)]
    more.setdefault(
        "env", dict(os.environ)
    )  # with no COLUMNS, which readline sets for children alone
    more.setdefault("timeout", 60)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **more)


def complaint(done: Any, status: int = 2) -> str:
    """The one line on stderr of a command that refused."""
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("skilljuror: ")
    return str(line)


def error(done: Any) -> dict[str, Any]:
    """The one JSON document on stdout of a command that refused with --json."""
    found: dict[str, Any] = json.loads(done.stdout)["error"]
    assert found["exit_code"] == done.returncode
    return found


def write_skill(folder: Path) -> Path:
    """A small source of one skill."""
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "references" / "format.md").write_text("# Format\n\n`total` is a number.\n")
    return folder

"""Read what the verifier, or a solution, printed in a trial."""

import os
import stat
from pathlib import Path

OUTPUT = Path("verifier", "test-stdout.txt")
"""Path of the verifier's output below the raw artifacts of local and Harbor trials."""
SOLUTION = (Path("agent-stdout.txt"), Path("agent-stderr.txt"), Path("agent", "oracle.txt"))
"""Paths of a solution's output: two of local trials, one of Harbor's."""


def verifier_output(raw: Path, limit: int) -> str | None:
    """Return up to `limit` last bytes of a verifier's output, starting at a line; None if missing."""
    return _tail(raw / OUTPUT, limit)


def solution_output(raw: Path, limit: int) -> str | None:
    """Return the same of a solution's output; None if it printed nothing."""
    return "".join(filter(None, (_tail(raw / path, limit) for path in SOLUTION))) or None


def _tail(path: Path, limit: int) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        file.seek(max(0, status.st_size - limit))
        text = file.read(limit).decode("utf-8", errors="replace")
    if status.st_size <= limit:
        return text
    return "…\n" + text.partition("\n")[2]


def last_lines(text: str, lines: int) -> str:
    """Return the last lines of a text, after "…" if earlier ones are omitted."""
    found = text.rstrip("\n").split("\n")
    return "\n".join(found if len(found) <= lines else ["…", *found[-lines:]])

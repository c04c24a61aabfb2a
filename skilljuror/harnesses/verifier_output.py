"""Read the verifier's output of a trial."""

import os
import stat
from pathlib import Path

OUTPUT = Path("verifier", "test-stdout.txt")
"""Path below the raw artifacts of local and Harbor trials."""


def verifier_output(raw: Path, limit: int) -> str | None:
    """Return up to `limit` last bytes of a verifier's output, starting at a line; None if missing."""
    try:
        handle = os.open(raw / OUTPUT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
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

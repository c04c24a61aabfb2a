"""What a trial's verifier printed: the first place to look when a reward is missing or surprising."""

import os
import stat
from pathlib import Path

OUTPUT = Path("verifier", "test-stdout.txt")
"""Where local trials and those of Harbor keep it, below their raw artifacts."""


def verifier_output(raw: Path, limit: int) -> str | None:
    """The last `limit` bytes at most of what the verifier of a trial printed, from the beginning of a
    line; None where it left no such file."""
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
    """The last lines of a text, with a mark where earlier ones are left out."""
    found = text.rstrip("\n").split("\n")
    return "\n".join(found if len(found) <= lines else ["…", *found[-lines:]])

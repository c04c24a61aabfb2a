"""Redact keys and passwords of the environment in output and files.

A server may echo the key that it was sent, and a library may put it into an error.
"""

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from stat import S_ISREG

SECRET_NAME = re.compile(r"(?:API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""Names of variables and parameters with secrets, in litellm and at providers."""
MIN_SECRET = 8
"""Minimum length of a secret; a shorter value may be a common word."""
_PATH = re.compile(
    r"""'(?:[A-Za-z]:[/\\]|[/~\\])[^']*'|(?<![\w./:])(?:[A-Za-z]:(?=[/\\])|~(?=/))?[/\\][^\s/\\'"]+[/\\][^\s'",;)]*"""
)
"""An absolute path of two names or more, or any in quotes."""


def without_paths(text: str) -> str:
    """Replace every absolute path by `[path]`."""
    return _PATH.sub("[path]", text)


def redact(text: str, further: Iterable[str] = ()) -> str:
    """Replace the value of every such variable by `[redacted NAME]`, and `further` values by
    `[redacted]`."""
    secrets = dict.fromkeys(further, "[redacted]")
    secrets |= {
        value: f"[redacted {name}]"
        for name, value in os.environ.items()
        if SECRET_NAME.search(name)
    }
    for value in sorted(secrets, key=len, reverse=True):
        if len(value) >= MIN_SECRET:
            text = text.replace(value, secrets[value])
    return text


def redact_files(folder: Path, values: Collection[str]) -> int:
    """Redact values in the regular files below a folder and in names; return the number of files changed."""
    wanted = sorted({value for value in values if len(value) >= MIN_SECRET}, key=len, reverse=True)
    found = 0
    for base, folders, names in os.walk(folder, topdown=False) if wanted else ():
        for path in (Path(base, name) for name in names):
            if not S_ISREG(path.lstat().st_mode):
                continue
            data = clean = path.read_bytes()
            for value in wanted:
                clean = clean.replace(value.encode(), b"[redacted]")
            if clean != data:
                path.write_bytes(clean)
                found += 1
        for path in (Path(base, name) for name in (*folders, *names)):
            if (name := redact(path.name, wanted)) != path.name:
                path.rename(path.with_name(name))
    return found

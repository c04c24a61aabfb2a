"""Commits in repositories of their own, by nobody."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str | Path) -> None:
    """A finished `git WORDS…` in a folder."""
    named = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)

"""Copying what a trial left behind, as it lies: plain files only, links and pipes never followed."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_LOG_BYTES = 500_000_000
"""Bytes of logs kept of one trial."""
MAX_LISTED = 2_000
"""Files of the working directory that are listed."""


def copy_logs(source: Path, target: Path) -> list[str]:
    """Copy a log folder; the answer names what was left out, and why."""
    left_out: list[str] = []
    room = MAX_LOG_BYTES
    target.mkdir(parents=True, exist_ok=True)
    for path, info in plain_files(source, left_out):
        name = path.relative_to(source)
        if info.st_size > room:
            left_out.append(f"{name}: {info.st_size} bytes are more than the {room} left")
            continue
        room -= info.st_size
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / name, follow_symlinks=False)
    return left_out


def plain_files(folder: Path, others: list[str]) -> Iterator[tuple[Path, os.stat_result]]:
    """Every plain file below `folder` in path order; anything else is named in `others`."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        linked = [name for name in folders if Path(base, name).is_symlink()]
        for name in sorted([*names, *linked]):
            path = Path(base, name)
            info = path.lstat()
            if stat.S_ISREG(info.st_mode):
                yield path, info
            else:
                others.append(f"{path.relative_to(folder)}: no plain file")


def list_files(folder: Path) -> dict[str, Any]:
    """Path, size and digest of every file the agent left in its working directory."""
    files: list[dict[str, Any]] = []
    others: list[str] = []
    for path, info in plain_files(folder, others):
        if len(files) == MAX_LISTED:
            others.append(f"more than {MAX_LISTED} files")
            break
        with path.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
        name = str(path.relative_to(folder))
        files.append({"path": name, "size": info.st_size, "sha256": digest})
    return {"files": files, "others": others[:MAX_LISTED]}

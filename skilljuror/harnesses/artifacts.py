"""Copying what a trial left behind, as it lies: plain files only, links and pipes never followed."""

import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from skilljuror.errors import StudyError
from skilljuror.files import digest_tree

GONE = "gone"
"""In place of a digest: what there was is no tree of plain files any more."""
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
        try:
            shutil.copyfile(path, target / name, follow_symlinks=False)
        except PermissionError:
            left_out.append(f"{name}: not readable")
    return left_out


def plain_files(folder: Path, others: list[str]) -> Iterator[tuple[Path, os.stat_result]]:
    """Every plain file below `folder` in path order; anything else is named in `others`."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for path in (Path(base, name) for name in sorted([*names, *folders])):
            name = str(path.relative_to(folder))
            try:
                info = path.lstat()
            except OSError as error:  # such as a path of too many characters
                others.append(f"{name[:200]}: {error.strerror}")
                continue
            if stat.S_ISREG(info.st_mode):
                yield path, info
            elif not stat.S_ISDIR(info.st_mode):
                others.append(f"{name}: no plain file")


def list_files(folder: Path) -> dict[str, Any]:
    """Path, size and digest of every file the agent left in its working directory."""
    files: list[dict[str, Any]] = []
    others: list[str] = []
    for path, info in plain_files(folder, others):
        if len(files) == MAX_LISTED:
            others.append(f"more than {MAX_LISTED} files")
            break
        name = str(path.relative_to(folder))
        try:
            with path.open("rb") as data:
                digest = hashlib.file_digest(data, "sha256").hexdigest()
        except PermissionError:
            others.append(f"{name}: not readable")
            continue
        files.append({"path": name, "size": info.st_size, "sha256": digest})
    return {"files": files, "others": others[:MAX_LISTED]}


def digest_left(root: Path, guest: str, without: Collection[str] = ()) -> str:
    """Tree digest of the folder `guest` below `root` after programs of others ran there, without the
    files named (relative to it); "gone" when it is no readable folder of plain files and links any
    more. Links to folders are not followed."""
    path = plain_folder(root, guest)
    try:
        return digest_tree(path, without=without) if path else GONE
    except (OSError, StudyError):
        return GONE


def plain_folder(root: Path, guest: str) -> Path | None:
    """The folder `guest` below `root` after programs of others ran there; None where there is none, or
    a link or a locked folder on the way to it."""
    path = root
    with suppress(PermissionError):
        for part in guest.strip("/").split("/"):
            path /= part
            if path.is_symlink():
                return None
        return path if path.is_dir() else None
    return None

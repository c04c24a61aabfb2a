"""Copy and list a trial's files: regular files only; links and pipes are never followed."""

import errno
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from skilljuror.errors import StudyError
from skilljuror.files import digest_tree
from skilljuror.harnesses.inside_harbor.skilljuror_bwrap import (
    MAX_BYTES,
    MAX_FILES,
    MAX_SECONDS,
    walk,
)

GONE = "gone"
"""Replaces the digest of a folder that is not a readable tree of regular files."""
MACHINE_FAULTS = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO,
})  # fmt: skip
"""File errors caused by the machine."""
_MAX_LEFT_OUT = 20
"""Skipped files that are listed; the rest are counted."""
_Read = TypeVar("_Read")
MAX_LISTED = 2_000
"""Listed files of the working directory."""


class Reading:
    """A budget for reading a trial's files, and the list of skipped ones."""

    def __init__(self) -> None:
        self.bytes, self.files, self.end = MAX_BYTES, MAX_FILES, time.monotonic() + MAX_SECONDS
        self.left_out: list[str] = []
        """Skipped files with reasons, for the trial's record."""
        self.more = 0
        """Number of further skipped files."""

    def leave_out(self, what: str) -> None:
        """Note a skipped file."""
        if len(self.left_out) < _MAX_LEFT_OUT:
            self.left_out.append(what[:300])
        else:
            self.more += 1

    def summary(self) -> tuple[str, ...]:
        """Summarize the skipped files."""
        return (*self.left_out, *([f"{self.more} more"] if self.more else []))

    def spent(self) -> str | None:
        """Describe the exhausted budget, or return None."""
        if self.files <= 0:
            return f"more than {MAX_FILES} files and folders"
        return f"reading took {MAX_SECONDS:g} s" if time.monotonic() > self.end else None

    def takes(self, name: str, size: int) -> bool:
        """Reserve bytes for a file; return False if too few are left."""
        if size > self.bytes:
            self.leave_out(f"{name}: {size} bytes are more than the {self.bytes} left")
            return False
        self.bytes -= size
        return True

    def of(self, what: str, reader: Callable[[], _Read], otherwise: _Read) -> _Read:
        """Return the reader's result, or `otherwise` with a note if it fails: an agent's output must not
        break a trial. Faults of the machine are raised."""
        try:
            return reader()
        except Exception as error:
            if isinstance(error, OSError) and error.errno in MACHINE_FAULTS:
                raise
            self.leave_out(f"{what}: {type(error).__name__}: {error}")
            return otherwise


def copy_logs(source: Path, target: Path, reading: Reading) -> list[str]:
    """Copy a log folder; return the entries that are not regular files or not readable."""
    left_out: list[str] = []
    target.mkdir(parents=True, exist_ok=True)
    for path, info in plain_files(source, left_out, reading):
        name = path.relative_to(source)
        if not reading.takes(str(name), info.st_size):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, target / name, follow_symlinks=False)
        except PermissionError:
            left_out.append(f"{name}: not readable")
    return left_out


def plain_files(
    folder: Path, others: list[str], reading: Reading
) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every regular file below `folder` in path order; append other entries to `others`."""
    for base, folders, names in walk(folder):
        folders.sort()
        for path in (Path(base, name) for name in sorted([*names, *folders])):
            name = str(path.relative_to(folder))
            if why := reading.spent():
                reading.leave_out(f"{name} and everything after it: {why}")
                return
            reading.files -= 1
            try:
                info = path.lstat()
            except OSError as error:  # such as a path that is too long
                others.append(f"{name[:200]}: {error.strerror}")
                continue
            if stat.S_ISREG(info.st_mode):
                yield path, info
            elif not stat.S_ISDIR(info.st_mode):
                others.append(f"{name}: not a regular file")


def list_files(folder: Path, reading: Reading) -> dict[str, Any]:
    """List path, size and digest of every file in the agent's working directory."""
    files: list[dict[str, Any]] = []
    others: list[str] = []
    for path, info in plain_files(folder, others, reading):
        if len(files) == MAX_LISTED:
            others.append(f"more than {MAX_LISTED} files")
            break
        name = str(path.relative_to(folder))
        if not reading.takes(name, info.st_size):
            continue
        try:
            with path.open("rb") as data:
                digest = hashlib.file_digest(data, "sha256").hexdigest()
        except PermissionError:
            others.append(f"{name}: not readable")
            continue
        files.append({"path": name, "size": info.st_size, "sha256": digest})
    return {"files": files, "others": others[:MAX_LISTED]}


def digest_left(root: Path, guest: str, reading: Reading, without: Collection[str] = ()) -> str:
    """Digest the folder `guest` below `root` after untrusted programs ran, excluding `without` (relative
    paths). Return "gone" if it is not a readable tree of regular files and links, or exceeds the
    budget. Links to folders are not followed."""
    path = plain_folder(root, guest)
    if (
        path is None
        or not all(
            reading.takes(str(file.relative_to(root)), info.st_size)
            for file, info in plain_files(path, [], reading)
        )
        or reading.spent()
    ):
        return GONE
    try:
        return digest_tree(path, without=without)
    except (OSError, StudyError):
        return GONE


def plain_folder(root: Path, guest: str) -> Path | None:
    """Return the folder `guest` below `root` after untrusted programs ran; None if it is missing, or if
    its path has a link or an unreadable folder."""
    path = root
    with suppress(PermissionError):
        for part in guest.strip("/").split("/"):
            path /= part
            if path.is_symlink():
                return None
        return path if path.is_dir() else None
    return None

"""Copy and list a trial's files: regular files only; links and pipes are never followed."""

import errno
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from skilljuror.base.errors import StudyError
from skilljuror.base.files import digest_tree
from skilljuror.harness.inside_harbor.skilljuror_bwrap import (
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
Unchanged = Callable[[str, os.stat_result], bool]
"""Says of a path and a file's state whether the file is as the agent found it."""
MAX_LISTED = 2_000
"""Listed files of the working directory."""
LISTING = "artifacts.json"
"""List of the files that an agent left, in a trial's raw folder."""
WORK = "work"
"""Folder in a trial's raw folder with the text files that are kept of them."""
MAX_KEPT, MAX_KEPT_TOTAL = 256 * 1024, 4 * 1024 * 1024
"""Bytes of a kept file, and of all kept files of a trial."""
_BULK = frozenset({".git", ".venv", "__pycache__", "node_modules"})
"""Folders that programs fill; kept only if the study names their files."""


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


def copy_logs(source: Path, target: Path, reading: Reading, skip: Path | None = None) -> list[str]:
    """Copy a log folder without the folder `skip`; return the entries that are not regular files or not
    readable."""
    left_out: list[str] = []
    target.mkdir(parents=True, exist_ok=True)
    for path, info in plain_files(source, left_out, reading, skip):
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
    folder: Path, others: list[str], reading: Reading, skip: Path | None = None
) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every regular file below `folder` in path order, without the folder `skip`; append other
    entries to `others`."""
    for base, folders, names in walk(folder):
        folders[:] = sorted(name for name in folders if Path(base, name) != skip)
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


def unchanged_since(folder: Path) -> Unchanged:
    """Note the files below `folder`; return what tells which of them still have their size and time."""
    states = {
        str(path.relative_to(folder)): (info.st_size, info.st_mtime_ns)
        for path, info in plain_files(folder, [], Reading())
    }
    return lambda name, info: states.get(name) == (info.st_size, info.st_mtime_ns)


def keep_work(
    folder: Path,
    target: Path,
    patterns: Collection[str] | None,
    unchanged: Unchanged,
) -> list[str]:
    """Copy an agent's text files below `folder` to `target`: those that match a pattern, or, without
    patterns, those that it changed.

    Files near the root go first. Return what matches and is not kept, with the reason.
    """
    reading, not_kept = Reading(), []
    reading.bytes = MAX_KEPT_TOTAL
    target.mkdir(parents=True, exist_ok=True)
    found = [(path.relative_to(folder), info) for path, info in plain_files(folder, [], reading)]
    for name, info in sorted(found, key=lambda one: (len(one[0].parts), one[0])):
        if patterns is None:
            wanted = _BULK.isdisjoint(name.parts) and not unchanged(str(name), info)
        else:
            wanted = any(fnmatchcase(name.as_posix(), pattern) for pattern in patterns)
        if wanted and (why := _not_kept(folder / name, target / name, info.st_size, reading)):
            not_kept.append(f"{name}: {why}")
    return [*not_kept[:MAX_LISTED], *(one for one in reading.left_out if "everything after" in one)]


def _not_kept(path: Path, target: Path, size: int, reading: Reading) -> str | None:
    """Copy a text file; return why it is not kept, or None."""
    if size > MAX_KEPT:
        return f"{size} bytes, more than {MAX_KEPT}"
    if size > reading.bytes:
        return f"all kept files together are limited to {MAX_KEPT_TOTAL} bytes"
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"not readable: {error.strerror}"
    if b"\0" in data or not _is_text(data):
        return "not text"
    reading.bytes -= size
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return None


def _is_text(data: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        return data.decode() is not None
    return False


def write_listing(raw: Path, listing: dict[str, Any]) -> None:
    """Write a trial's list of files."""
    text = json.dumps(listing, indent=1, ensure_ascii=False)
    (raw / LISTING).write_text(text, encoding="utf-8", errors="replace")


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

"""Facts that show, without opening a file, whether it changed."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from skilljuror.base.files import path_of


class FileFacts(NamedTuple):
    """Facts from the folder entry of a file, or of a folder read as a whole."""

    size: int
    """Bytes; for a folder, the sum of its files."""
    mtime_ns: int
    """Last change, nanoseconds since the epoch; for a folder, the latest of its files."""
    inode: int
    content: str | None = None
    """Digest of a folder's tree (names and facts of its files); for a file, of its bytes if
    requested."""


def facts_of(status: os.stat_result) -> FileFacts:
    return FileFacts(status.st_size, status.st_mtime_ns, status.st_ino)


def facts_at(path: Path | str) -> FileFacts | None:
    """Facts of a path's target, or None if inaccessible."""
    try:
        place = str(path_of(path)) if isinstance(path, str) else str(path)
        status = os.stat(place)  # noqa: PTH116  a hundred thousand times
    except OSError:
        return None
    return _tree_facts(place, status) if stat.S_ISDIR(status.st_mode) else facts_of(status)


def is_gone(path: str) -> bool:
    """Whether a path no longer exists; False if access is denied."""
    try:
        os.lstat(path_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def with_content(path: str, facts: FileFacts) -> FileFacts:
    """Add a digest of the file's content, or of all files of a folder."""
    place = path_of(path)
    if facts.content is not None and (":" in facts.content or not place.is_dir()):
        return facts
    digest = hashlib.sha256()
    try:
        for file in _files_below(str(place)) if facts.content is not None else [str(place)]:
            with Path(file).open("rb") as data:
                digest.update(hashlib.file_digest(data, "sha256").digest())
    except OSError:
        return facts
    tree = "" if facts.content is None else f"{facts.content}:"
    return facts._replace(content=tree + digest.hexdigest())


def _tree_facts(folder: str, status: os.stat_result) -> FileFacts:
    size, latest = 0, status.st_mtime_ns
    digest = hashlib.sha256()
    for file in _files_below(folder):
        try:
            facts = facts_of(os.stat(file, follow_symlinks=False))  # noqa: PTH116
        except OSError:
            facts = FileFacts(0, 0, 0)
        size, latest = size + facts.size, max(latest, facts.mtime_ns)
        digest.update(f"{os.fsencode(file)!r} {facts[:3]}\n".encode())
    return FileFacts(size, latest, status.st_ino, digest.hexdigest())


def _files_below(folder: str) -> Iterator[str]:
    for base, folders, names in os.walk(folder):
        folders.sort()
        yield from (f"{base}{os.sep}{name}" for name in sorted(names))

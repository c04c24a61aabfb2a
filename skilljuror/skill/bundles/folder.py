"""Read a folder without following links, even if it changes meanwhile; write a new one."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob, BundleIssue
from skilljuror.skill.bundles.limits import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    ReadBudget,
    check_name,
    check_path,
    is_skipped,
    odd_mode,
    skipped_file,
)

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_folder(root: Path) -> tuple[dict[str, Blob], list[BundleIssue]]:
    """Return every regular file below `root`. Raises BundleError for links, devices, invalid names
    and anything over the limits."""
    budget, issues = ReadBudget(str(root)), list[BundleIssue]()
    try:
        handle = os.open(root.resolve(), _DIRECTORY)
    except OSError as error:
        raise BundleError(
            f"{str(root)!r} cannot be opened as a folder: {error.strerror}"
        ) from error
    try:
        files = dict(_walk(handle, "", 1, budget, issues))
    finally:
        os.close(handle)
    return files, issues


def _walk(
    folder: int, prefix: str, depth: int, budget: ReadBudget, issues: list[BundleIssue]
) -> Iterator[tuple[str, Blob]]:
    if depth > MAX_DEPTH:
        raise BundleError(f"{prefix!r} is deeper than {MAX_DEPTH} folders", file=prefix)
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = f"{prefix}{name}"
        if is_skipped(name):
            issues.append(skipped_file(path))
            continue
        check_name(name, path)
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            inner = _open(name, path, folder, _DIRECTORY)
            try:
                yield from _walk(inner, f"{path}/", depth + 1, budget, issues)
            finally:
                os.close(inner)
        elif stat.S_ISREG(mode):
            yield path, _read(name, path, folder, budget, issues)
        else:
            raise BundleError(
                f"{path!r} is {'a symbolic link' if stat.S_ISLNK(mode) else 'a device, a socket or a pipe'};"
                " use only files and folders",
                file=path,
            )


def _open(name: str, path: str, folder: int, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise BundleError(f"{path!r} cannot be opened: {error.strerror}", file=path) from error


def _read(name: str, path: str, folder: int, budget: ReadBudget, issues: list[BundleIssue]) -> Blob:
    handle = _open(name, path, folder, _FILE)
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise BundleError(f"{path!r} changed while it was read", file=path)
        budget.add(path, status.st_size)
        data = opened.read(MAX_FILE_BYTES + 1)
    budget.add(path, len(data) - status.st_size) if len(data) > status.st_size else None
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH):
        issues.append(odd_mode(path))
    return Blob(data, bool(status.st_mode & stat.S_IXUSR))


def write_bundle(files: dict[str, Blob], target: Path) -> None:
    """Write every file below `target`; nothing is overwritten.

    Modes are 0644, or 0755 for executables. Raises BundleError for a path that would leave
    `target` or that is both a file and a folder.
    """
    target.mkdir(parents=True, exist_ok=True)
    for path, blob in files.items():
        check_path(path)
        mode = 0o755 if blob.executable else 0o644
        try:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target / path, _NEW, mode)
        except OSError as error:
            raise BundleError(f"{path!r} cannot be written: {error.strerror}", file=path) from error
        with os.fdopen(handle, "wb") as opened:
            opened.write(blob.data)
            os.fchmod(handle, mode)

"""Remove from an agent's files what could mislead its verifier."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from skilljuror.harness.artifacts import Reading
from skilljuror.harness.inside_harbor.skilljuror_bwrap import walk

_MAX_LINKS = 40
"""Links of one path, as in the kernel."""


def drop_traps(
    root: Path, base: Path, work: Iterable[str], places: Iterable[str], reading: Reading
) -> None:
    """Remove links below `root` that leave the folders `work` or touch `places` (paths below `base`, which
    is / for them), and everything but files, folders and links. Note each in `reading`."""
    kept, others = [*map(Path, work)], [*map(Path, places)]
    for folder, folders, names in walk(root):
        for path in (Path(folder, name) for name in folders):
            if not os.access(path, os.R_OK | os.X_OK):  # it could hide a trap
                _allow(path, stat.S_IRUSR | stat.S_IXUSR)
        for path in (Path(folder, name) for name in names):
            if why := _trap(path, base, kept, others):
                _allow(path.parent, stat.S_IRWXU)
                path.unlink()
                reading.leave_out(f"{path.relative_to(root)}: {why}; the verifier did not get it")


def _trap(path: Path, base: Path, kept: list[Path], others: list[Path]) -> str | None:
    try:
        mode = path.lstat().st_mode
    except OSError:  # such as a path that is too long, which is not copied either
        return None
    if not stat.S_ISLNK(mode):
        return None if stat.S_ISREG(mode) else "not a regular file"
    end = _end(base, path)
    if end and _below(end, kept) and not _touches(end, others):
        return None
    return f"a link out of the work, to {str(path.readlink())!r}"


def _allow(folder: Path, what: int) -> None:
    with suppress(OSError):
        folder.chmod(folder.stat().st_mode | what)


def _below(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _touches(path: Path, places: list[Path]) -> bool:
    return any(path.is_relative_to(one) or one.is_relative_to(path) for one in places)


def _end(base: Path, path: Path) -> Path | None:
    """Where a path below `base` ends if `base` is /; None for a circle."""
    end, links = Path("/"), 0
    waiting = [*reversed(path.relative_to(base).parts)]
    while waiting:
        part = waiting.pop()
        here = base / end.relative_to("/") / part
        if part == "..":
            end = end.parent
        elif here.is_symlink():
            links += 1
            if links > _MAX_LINKS:
                return None
            target = here.readlink()
            end = Path("/") if target.is_absolute() else end
            waiting += reversed(target.parts[target.is_absolute() :])
        else:
            end /= part
    return end

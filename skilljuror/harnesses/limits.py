"""Resource limits of a trial.

The kernel limits the number of processes and the size of a file (`bind`). Total memory and storage are
polled (`Usage`): control groups require privileges, and a limit on address space breaks runtimes that
reserve more than they use (JavaScript, Java).
"""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from skilljuror.harnesses.inside_harbor.skilljuror_bwrap import walk

MEGABYTE = 1_000_000
_LOOK_SECONDS = 0.05
"""Minimum seconds between memory checks."""
_WALK_SECONDS = 1.0
"""Minimum seconds between file checks."""
_WALK_SHARE = 20
"""File checks take at most 1/20 of the time."""


class Limits(Struct, frozen=True):
    """Limits of one sandbox."""

    memory: int = 4_096 * MEGABYTE
    """Bytes of memory of all processes together."""
    storage: int = 4_096 * MEGABYTE
    """Bytes of all files together, and of any one."""
    processes: int = 512
    """Processes and threads."""


def bind(process: int, limits: Limits) -> None:
    """Set the kernel's limits on a process and its future children."""
    for kind, value in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.storage),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(process, kind, (value, value))


class Usage:
    """Memory and storage of a process tree and its root folder."""

    def __init__(self, process: int, root: Path, limits: Limits) -> None:
        self.process, self.root, self.limits = process, root, limits
        self.next_look = self.next_walk = time.monotonic()

    def exceeded(self) -> str | None:
        """Describe an exceeded limit, or return None. Most calls return early."""
        now = time.monotonic()
        if now < self.next_look:
            return None
        self.next_look = now + _LOOK_SECONDS
        if memory_above(self.process, self.limits.memory):
            return f"it used more than {self.limits.memory // MEGABYTE} MB of memory"
        if now < self.next_walk:
            return None
        stored = disk_usage(self.root) + held_without_name(self.process)
        spent = time.monotonic() - now
        self.next_walk = now + max(_WALK_SECONDS, _WALK_SHARE * spent)
        if stored > self.limits.storage:
            return f"its files took more than {self.limits.storage // MEGABYTE} MB"
        return None


def memory_above(process: int, limit: int) -> bool:
    """Whether a process tree uses more than `limit` bytes; shared memory counts once."""
    family = descendants(process)
    if sum(_resident(one) for one in family) <= limit:
        return False
    return sum(_proportional(one) for one in family) > limit


def descendants(process: int) -> list[int]:
    """List a process tree; orphans of a namespace are below its process 1."""
    found, waiting = [], [process]
    while waiting:
        found.append(one := waiting.pop())
        with suppress(OSError):
            for thread in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def _resident(process: int) -> int:
    with suppress(OSError, IndexError):
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize()
    return 0


def _proportional(process: int) -> int:
    """Proportional set size, or resident size if it is not readable."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _resident(process)


def disk_usage(folder: Path) -> int:
    """Disk usage of a folder in bytes; unreadable files are skipped."""
    total = 0
    for base, _, names in walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(base, name).lstat().st_blocks * 512
    return total


def held_without_name(process: int) -> int:
    """Bytes of deleted files that a process tree still has open, including in-memory files."""
    held: dict[tuple[int, int], int] = {}
    for one in descendants(process):
        for info in _open_files(one):
            if not info.st_nlink:
                held[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(held.values())


def _open_files(process: int) -> Iterator[os.stat_result]:
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                yield entry.stat()

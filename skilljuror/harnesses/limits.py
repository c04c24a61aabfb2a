"""How much a trial may hold, and a look at how much it does.

The kernel refuses one process too many and a file that grows too large (`bind`). What all processes
hold together is added up while they run (`Usage`): a control group would do that too, but few
people may make one, and a limit on the address space of a process breaks runtimes that reserve
more than they use (JavaScript, Java).
"""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

MEGABYTE = 1_000_000
_LOOK_SECONDS = 0.05
"""Least seconds between looks at memory."""
_WALK_SECONDS = 1.0
"""Least seconds between walks over the files."""
_WALK_SHARE = 20
"""A walk takes at most about one in so many seconds."""


class Limits(Struct, frozen=True):
    """What the programs of one sandbox may hold at a time."""

    memory: int = 4_096 * MEGABYTE
    """Bytes of memory of all processes together."""
    storage: int = 4_096 * MEGABYTE
    """Bytes of all files together, and of any one."""
    processes: int = 512
    """Processes and threads."""


def bind(process: int, limits: Limits) -> None:
    """Put the limits that the kernel keeps on a process, and so on all that it will start."""
    for kind, value in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.storage),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ProcessLookupError):  # it has ended, and says why itself
            resource.prlimit(process, kind, (value, value))


class Usage:
    """What a process with all below it, and the files of its root, hold."""

    def __init__(self, process: int, root: Path, limits: Limits) -> None:
        self.process, self.root, self.limits = process, root, limits
        self.next_look = self.next_walk = time.monotonic()

    def exceeded(self) -> str | None:
        """The limit that is exceeded, in words. Cheap: most calls do not look."""
        now = time.monotonic()
        if now < self.next_look:
            return None
        self.next_look = now + _LOOK_SECONDS
        if memory_above(self.process, self.limits.memory):
            return f"it held more than {self.limits.memory // MEGABYTE} MB of memory"
        if now < self.next_walk:
            return None
        stored = disk_usage(self.root) + held_without_name(self.process)
        spent = time.monotonic() - now
        self.next_walk = now + max(_WALK_SECONDS, _WALK_SHARE * spent)
        if stored > self.limits.storage:
            return f"its files held more than {self.limits.storage // MEGABYTE} MB"
        return None


def memory_above(process: int, limit: int) -> bool:
    """Whether a process and all below it hold more than `limit` bytes; what they share counts once."""
    family = descendants(process)
    if sum(_resident(one) for one in family) <= limit:
        return False
    return sum(_proportional(one) for one in family) > limit


def descendants(process: int) -> list[int]:
    """A process and all below it; orphans of a namespace come below its process 1."""
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
    """Its share of what it holds with others, or all of it where nobody may look."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _resident(process)


def disk_usage(folder: Path) -> int:
    """Bytes that the files below a folder take on its own disk; what cannot be read counts nothing."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(base, name).lstat().st_blocks * 512
    return total


def held_without_name(process: int) -> int:
    """Bytes of the files that a process and all below it hold open though no folder names them any
    more, those in memory too; each file once."""
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

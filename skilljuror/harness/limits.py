"""Resource limits of a trial.

The kernel limits processes, open files, the size of a file (`bind`), and the bytes of all files, which are in a
file system in memory. Files and folders are counted and memory is added up by polling (`Usage`): control groups
require privileges, and a limit on address space breaks runtimes that reserve more than they use (JavaScript,
Java). No check takes longer for what a program did, beyond these limits.
"""

import os
import resource
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from skilljuror.base.errors import HarnessError

MEGABYTE = 1_000_000
_LOOK_SECONDS = 0.05
"""Minimum seconds between checks."""
_COUNT_SECONDS = 0.5
"""The same of open files."""
_BYTES_PER_FILE = 16_384
"""One file or folder per so many bytes of storage, as on a new ext4 disk."""
_OPEN_FILES = 32_768
"""Open files of all processes together."""
_SPARE = 200 * MEGABYTE
"""Memory of the machine that trials leave free: buffers of sockets and the like are in no other sum."""


class Limits(Struct, frozen=True):
    """Limits of one sandbox."""

    memory: int = 4_096 * MEGABYTE
    """Bytes of memory of all processes together, page tables included."""
    storage: int = 4_096 * MEGABYTE
    """Bytes of all files together, and of any one."""
    processes: int = 512
    """Processes and threads."""

    @property
    def files(self) -> int:
        """Files and folders together."""
        return self.storage // _BYTES_PER_FILE


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
    """Memory and files of a process tree; `mounts` are its file systems in memory, root first."""

    def __init__(self, process: int, mounts: tuple[int, ...], limits: Limits) -> None:
        self.process, self.mounts, self.limits = process, mounts, limits
        self.next_look = self.next_count = time.monotonic()

    def exceeded(self) -> str | None:
        """Describe an exceeded limit, or return None. Most calls return early. Raises HarnessError if the
        machine runs out of memory."""
        if time.monotonic() < self.next_look:
            return None
        said = self._exceeded()
        self.next_look = time.monotonic() + _LOOK_SECONDS
        return said

    def _exceeded(self) -> str | None:
        if _fields(Path("/proc/meminfo")).get("MemAvailable", _SPARE) < _SPARE:
            raise HarnessError(
                "this machine is out of memory, which holds the files of trials, too; run fewer at once (--jobs)"
            )
        limits, disks = self.limits, [os.fstatvfs(mount) for mount in self.mounts]
        if sum(disk.f_files - disk.f_ffree for disk in disks) > limits.files:
            return f"it made more than {limits.files} files and folders"
        family = descendants(self.process)
        if memory_above(family, limits.memory):
            return f"it used more than {limits.memory // MEGABYTE} MB of memory"
        full = not disks[0].f_bfree
        if time.monotonic() >= self.next_count:
            opened = unnamed(family, os.fstat(self.mounts[0]).st_dev)
            if opened is None:
                return f"it opened more than {_OPEN_FILES} files at once"
            used = (disks[0].f_blocks - disks[0].f_bfree) * disks[0].f_frsize
            full = full or used + opened > limits.storage
            self.next_count = time.monotonic() + _COUNT_SECONDS
        return f"its files took more than {limits.storage // MEGABYTE} MB" if full else None


def memory_above(family: list[int], limit: int) -> bool:
    """Whether processes use more than `limit` bytes; shared memory counts once, page tables in full."""
    sizes = [_status(one) for one in family]
    tables = sum(tables for _, tables in sizes)
    if sum(resident for resident, _ in sizes) + tables <= limit:
        return False
    if tables > limit:
        return True
    return tables + sum(map(_proportional, family)) > limit


def descendants(process: int) -> list[int]:
    """List a process tree; orphans of a namespace are below its process 1."""
    found, waiting = [], [process]
    while waiting:
        found.append(one := waiting.pop())
        with suppress(OSError):
            for thread in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def _status(process: int) -> tuple[int, int]:
    """(resident bytes, bytes of page tables)."""
    sizes = _fields(Path(f"/proc/{process}/status"))
    return sizes.get("VmRSS", 0), sizes.get("VmPTE", 0)


def _proportional(process: int) -> int:
    """Proportional set size, or resident size if it is not readable."""
    return _fields(Path(f"/proc/{process}/smaps_rollup")).get("Pss") or _status(process)[0]


def _fields(path: Path) -> dict[str, int]:
    """The sizes in a file of /proc, in bytes; empty if it cannot be read."""
    sizes = {}
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                sizes[name] = int(value.split()[0]) * 1024
    return sizes


def unnamed(family: list[int], counted: int) -> int | None:
    """Bytes of files without a name that processes have open, but for those of the device `counted`; None
    for too many open files."""
    held: dict[tuple[int, int], int] = {}
    for count, info in enumerate(info for one in family for info in _open_files(one)):
        if count >= _OPEN_FILES:
            return None
        if stat.S_ISREG(info.st_mode) and not info.st_nlink and info.st_dev != counted:
            held[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(held.values())


def _open_files(process: int) -> Iterator[os.stat_result]:
    with suppress(OSError), os.scandir(f"/proc/{process}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                yield entry.stat()

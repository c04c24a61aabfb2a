"""What Windows lacks: flock, signal masks, flushing of folders. Reading logs and Skills does without; a run of trials
needs Linux, macOS or WSL."""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from skilljuror.base.errors import HarnessError


def optional(name: str) -> Any:
    """Return a module of the standard library, or None on a system without it."""
    try:
        return import_module(name)
    except ImportError:
        return None


_FCNTL, _MSVCRT = optional("fcntl"), optional("msvcrt")
_LOCKED_BYTE = 0x4000_0000  # on Windows, behind any text: nobody can read or write a locked one


def require_posix(user: str) -> None:
    """Raise HarnessError on a system that cannot run trials."""
    if _FCNTL is None:
        raise HarnessError(f"{user} needs Linux, macOS or WSL; logs and Skills can be read here")


def lock(file: IO[bytes], *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file until it is closed; return False if another process holds it and `wait` is False. A system
    without flock has no `shared` locks (HarnessError), and loses the position in the file."""
    if _FCNTL:
        kind = _FCNTL.LOCK_SH if shared else _FCNTL.LOCK_EX
        with suppress(BlockingIOError):
            _FCNTL.flock(file, kind if wait else kind | _FCNTL.LOCK_NB)
            return True
        return False
    if shared:
        require_posix("a run of trials")
    while _MSVCRT:
        with suppress(OSError):
            file.seek(_LOCKED_BYTE)
            _MSVCRT.locking(file.fileno(), _MSVCRT.LK_NBLCK, 1)
            return True
        if not wait:
            return False
        time.sleep(0.02)
    return True


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk; Windows flushes no folder, and only files open for writing."""
    if _FCNTL or not path.is_dir():
        handle = os.open(path, os.O_RDONLY if _FCNTL else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def mask_signals(how: str, signals: Iterable[int]) -> Iterable[int]:
    """Call `pthread_sigmask` with SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK, where there is one."""
    mask = getattr(signal, "pthread_sigmask", None)
    return mask(getattr(signal, how), signals) if mask else ()

"""A Python without what Linux has and Windows lacks. Copied as `sitecustomize.py` into a folder of PYTHONPATH, it is
run by every process below, workers included; each leaves a file named by its id in SEEN_BY."""

import concurrent.futures.process  # noqa: F401
import getpass  # noqa: F401
import multiprocessing.resource_tracker
import os
import select
import shutil
import signal
import socketserver
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import types
from multiprocessing import popen_spawn_posix, queues  # noqa: F401
from pathlib import Path
from typing import Any

# What is imported so far is the standard library's own way on this system, and stays.
USES = (
    (multiprocessing.resource_tracker, "_HAVE_SIGMASK"),
    (shutil, "_use_fd_functions"),
    (shutil, "_USE_CP_SENDFILE"),
)
for module, name in USES:
    assert hasattr(module, name)
    setattr(module, name, False)

missing: Any = None
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "pyseccomp"):
    sys.modules[name] = missing

LACKS = {
    os: (
        "O_NOFOLLOW O_DIRECTORY O_PATH O_CLOEXEC O_NONBLOCK fork forkpty getuid geteuid getgid getegid setuid setsid"
        " killpg getpgid chown lchown fchown fchmod mkfifo mknod memfd_create pidfd_open sched_getaffinity"
        " openpty posix_fadvise posix_fallocate getloadavg copy_file_range sendfile preadv pwritev"
    ),
    signal: (
        "SIGKILL SIGHUP SIGALRM SIGVTALRM SIGQUIT SIGUSR1 SIGUSR2 SIGCHLD ITIMER_VIRTUAL setitimer alarm"
        " pthread_kill pthread_sigmask sigwait sigpending"
    ),
    select: "poll epoll",
    socketserver: "UnixStreamServer UnixDatagramServer ThreadingUnixStreamServer",
}  # fmt: skip
lockf, F_TLOCK = os.lockf, os.F_TLOCK
for module, names in LACKS.items():
    for name in names.split():
        vars(module).pop(name, None)


def locking(handle: int, mode: int, size: int) -> None:
    """As in msvcrt: bytes from the file's position on are locked, or it is an error at once."""
    lockf(handle, F_TLOCK, size)


msvcrt = types.ModuleType("msvcrt")
vars(msvcrt).update(locking=locking, LK_NBLCK=2)
sys.modules["msvcrt"] = msvcrt

if folder := os.environ.get("SEEN_BY"):
    Path(folder, str(os.getpid())).touch()

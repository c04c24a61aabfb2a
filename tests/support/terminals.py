"""A command at a terminal, as a person meets it."""

import os
import pty
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from struct import pack
from typing import Any


def at_terminal(*words: Any, cwd: Path, columns: int = 80, **env: str) -> tuple[int, str]:
    """(exit status, all that came to the terminal) of `skilljuror WORDS…`; its line ends are left as
    the command wrote them."""
    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    ioctl(theirs, termios.TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "skilljuror", *map(str, words)],
        cwd=cwd, env={**os.environ, "TERM": "xterm-256color", **env},
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while some := os.read(ours, 1 << 16):
            shown += some
    except OSError:  # the last one closed it
        pass
    finally:
        os.close(ours)
    return process.wait(60), shown.decode("utf-8")

"""A machine that refuses: folders without access, full disks, little memory."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

DROPPED = "--bounding-set=-dac_override,-dac_read_search"


def ordinary_user(folder: Path) -> Sequence[str]:
    """What to put before a command so that access rights hold for it, as they do not for root.

    Skips the test where that cannot be had.
    """
    if os.geteuid() != 0:
        return ()
    prefix = (shutil.which("setpriv") or "setpriv", DROPPED)
    with locked(folder / "probe") as probe:
        try:
            done = subprocess.run([*prefix, "ls", probe], capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("root without setpriv: access rights cannot be tried")
        if done.returncode == 0:
            pytest.skip("access rights do not hold for root here, even without capabilities")
    return prefix


@contextmanager
def locked(path: Path) -> Iterator[Path]:
    """The file or folder at `path`, made where it is missing, that nobody may open in the block."""
    if not path.exists():
        path.mkdir(parents=True)
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        yield path
    finally:
        path.chmod(mode)


def room_for(kilobytes: int) -> Sequence[str]:
    """What to put before a command so that no file of its grows past a size, as on a full disk."""
    return ("bash", "-c", f'ulimit -f {kilobytes}; exec "$@"', "room")

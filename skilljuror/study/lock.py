"""Lock a study's folder for one run, and clean up after a killed run."""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.harness.sandbox import remove_tree
from skilljuror.study.trial import STAGING

SCRATCH = "skilljuror-run-"
_WAIT_SECONDS = 12.0
"""Seconds to wait for the workers of a killed run."""


@contextmanager
def exclusive_run(folder: StudyFolder) -> Iterator[Path]:
    """Lock the study's folder and yield a scratch folder for sandboxes.

    Raises StudyError while another run is active.
    """
    folder.trials.mkdir(parents=True, exist_ok=True)
    with (folder.root / ".run.lock").open("a+b") as lock:
        if not _acquire(lock):
            raise StudyError(
                f"another run of {str(folder.root)!r} is active (process {_owner(lock)}); wait for it,"
                " or stop it and rerun",
                file=str(folder.root),
            )
        _remove_leftovers(folder, lock)
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH)).resolve()
        _write(lock, {"pid": os.getpid(), "scratch": str(scratch)})
        try:
            yield scratch
        finally:
            remove_tree(scratch)
            _write(lock, {})


def workers_lock(folder: StudyFolder) -> Path:
    """Path of the file that every running worker locks."""
    return folder.root / ".workers.lock"


def _acquire(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_leftovers(folder: StudyFolder, lock: IO[bytes]) -> None:
    """Wait for the workers of a killed run to end, then remove its unfinished folders."""
    _await_workers(folder)
    for entry in folder.trials.iterdir():
        if entry.name.startswith(STAGING):
            remove_tree(entry)
    scratch = Path(str(_read(lock).get("scratch", "")))
    if scratch.name.startswith(SCRATCH) and scratch.is_dir() and not scratch.is_symlink():
        remove_tree(scratch)


def _await_workers(folder: StudyFolder) -> None:
    until = time.monotonic() + _WAIT_SECONDS
    with workers_lock(folder).open("ab") as lock:
        while not _acquire(lock):
            if time.monotonic() > until:
                raise StudyError(
                    f"workers of an earlier run of {str(folder.root)!r} are still running; end them and"
                    " rerun",
                    file=str(folder.root),
                )
            time.sleep(0.02)


def _owner(lock: IO[bytes]) -> object:
    return _read(lock).get("pid", "unknown")


def _read(lock: IO[bytes]) -> dict[str, object]:
    lock.seek(0)
    try:
        value = json.loads(lock.read() or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _write(lock: IO[bytes], value: dict[str, object]) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(json.dumps(value).encode())
    lock.flush()

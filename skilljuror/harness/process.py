"""Run one program with limits on time and captured output, and end all its processes."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from skilljuror.base.errors import HarnessError

MAX_OUTPUT = 4_000_000
"""Saved bytes of stdout and of stderr."""
_CHUNK = 65_536
_POLL_SECONDS = 0.05
"""Polling interval of a running process."""
_DRAIN_SECONDS = 0.5
"""Seconds that other processes may keep the output open after the program ended."""
_TIME = "time"
STOPPED = 143
"""Exit status of a stopped program."""
OVER_LIMIT = 137
"""Exit status of a program over its limits, as for a container out of memory."""


class _Stop:
    requested = False


def request_stop() -> None:
    """End the running process group and start no other; its waiter gets SystemExit.

    Thread-safe. The stop is polled, because an exception during a start would orphan a process.
    """
    _Stop.requested = True


def raise_if_stopped() -> None:
    """Raise SystemExit once a stop was requested."""
    if _Stop.requested:
        raise SystemExit(STOPPED)


class Command(Struct, frozen=True):
    """A command to run, with paths of its sandbox."""

    argv: tuple[str, ...]
    env: dict[str, str]
    """The complete environment."""
    cwd: str
    network: bool = False
    """Allow the host's network."""
    socket: str | None = None
    """Path of a socket that the host listens on."""


class OutputFiles(Struct, frozen=True):
    """Files for captured output; may be the same file."""

    stdout: Path
    stderr: Path


class ProcessOutcome(Struct, frozen=True):
    """Result of a process."""

    exit_code: int | None
    """Exit status, 128 + n after signal n; None after a timeout."""
    seconds: float
    """Wall clock."""
    limit: str | None = None
    """Description of the exceeded limit, if any."""

    @property
    def timed_out(self) -> bool:
        """The process exceeded its time limit."""
        return self.exit_code is None


class _BoundedFile:
    """A file that saves the first MAX_OUTPUT bytes and counts the rest."""

    def __init__(self, path: Path) -> None:
        self.file: BinaryIO = path.open("wb")
        self.size = 0

    def write(self, data: bytes) -> None:
        room = max(MAX_OUTPUT - self.size, 0)
        self.size += len(data)
        self.file.write(data[:room])

    def close(self) -> None:
        if self.size > MAX_OUTPUT:
            self.file.write(f"\n[cut here: {self.size - MAX_OUTPUT} more bytes]\n".encode())
        self.file.close()


class RunningProcess:
    """A started process in its own process group."""

    def __init__(self, command: Command, cwd: str | None, keep_open: tuple[int, ...] = ()) -> None:
        raise_if_stopped()
        self.started = time.monotonic()
        try:
            self.process = subprocess.Popen(
                command.argv,
                env=command.env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=keep_open,
            )
        except OSError as error:
            raise HarnessError(f"cannot start {command.argv[0]!r}: {error}") from error

    def finish(
        self, timeout: float, output: OutputFiles, exceeded: Callable[[], str | None] | None = None
    ) -> ProcessOutcome:
        """Wait for the end, write the output, and kill the whole group.

        `exceeded` is polled; a limit that it returns ends the program.
        """
        deadline = self.started + timeout
        try:
            with _opened(output) as files:
                early = self._copy_output(files, deadline, exceeded or (lambda: None))
        finally:
            self.kill()
        seconds = time.monotonic() - self.started
        if early == _TIME:
            return ProcessOutcome(None, seconds)
        if early:
            return ProcessOutcome(OVER_LIMIT, seconds, early)
        code = self.process.returncode
        return ProcessOutcome(128 - code if code < 0 else code, seconds)

    def restart_clock(self) -> None:
        """Count time from now: the program has only been prepared."""
        self.started = time.monotonic()

    def kill(self) -> None:
        """Kill the whole group and wait for the process."""
        self._end_group()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _copy_output(
        self,
        files: tuple[_BoundedFile, _BoundedFile],
        deadline: float,
        exceeded: Callable[[], str | None],
    ) -> str | None:
        """Copy output until the process ends; return _TIME or a limit if that ended it."""
        with selectors.DefaultSelector() as selector:
            for stream, file in zip((self.process.stdout, self.process.stderr), files, strict=True):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, file)
            while self.process.poll() is None:
                raise_if_stopped()
                left = min(deadline - time.monotonic(), _POLL_SECONDS)
                if left <= 0:
                    return _TIME
                if limit := exceeded():
                    return limit
                if selector.get_map():
                    _copy_once(selector, left)
                else:
                    self._wait(left)
            self._end_group()
            _drain(selector)
        return None

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def _end_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


def _drain(selector: selectors.BaseSelector) -> None:
    until = time.monotonic() + _DRAIN_SECONDS
    while selector.get_map() and (left := until - time.monotonic()) > 0:
        _copy_once(selector, left)


def _copy_once(selector: selectors.BaseSelector, timeout: float) -> None:
    for key, _ in selector.select(timeout):
        data = os.read(key.fd, _CHUNK)
        if data:
            key.data.write(data)
        else:
            selector.unregister(key.fileobj)


@contextlib.contextmanager
def _opened(output: OutputFiles) -> Iterator[tuple[_BoundedFile, _BoundedFile]]:
    out = _BoundedFile(output.stdout)
    err = out if output.stderr == output.stdout else _BoundedFile(output.stderr)
    try:
        yield out, err
    finally:
        out.close()
        if err is not out:
            err.close()

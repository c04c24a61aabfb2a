"""Run one program bounded: by a wall clock, by a limit on captured output, and with no process left."""

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

from skilljuror.errors import HarnessError

MAX_OUTPUT = 4_000_000
"""Bytes kept of each of stdout and stderr."""
_CHUNK = 65_536
_POLL_SECONDS = 0.05
"""Seconds between looks at a process that keeps its output open."""
_DRAIN_SECONDS = 0.5
"""Seconds that other processes may hold the output open after the program ended."""
_TIME = "time"
STOPPED = 143
"""Exit status of a program that was told to stop."""
OVER_LIMIT = 137
"""Exit status of a program that held too much, as that of a container which ran out of memory."""


class _Stop:
    """Whether this process was told to stop."""

    requested = False


def request_stop() -> None:
    """End the running process within moments, its whole group with it, and start no other.

    The one who waits for it gets SystemExit. May be called from any thread; an exception
    thrown into the middle of a start would leave a process that nobody knows.
    """
    _Stop.requested = True


def raise_if_stopped() -> None:
    """Raise SystemExit once a stop was requested."""
    if _Stop.requested:
        raise SystemExit(STOPPED)


class Command(Struct, frozen=True):
    """A command to run."""

    argv: tuple[str, ...]
    """Command, as its own machine sees the paths."""
    env: dict[str, str]
    """The whole environment."""
    cwd: str
    """Working directory, as its own machine sees it."""
    network: bool = False
    """Whether it may use the network of this machine."""


class OutputFiles(Struct, frozen=True):
    """Where captured output goes."""

    stdout: Path
    """File for stdout."""
    stderr: Path
    """File for stderr; may be the same file."""


class ProcessOutcome(Struct, frozen=True):
    """How a process ended."""

    exit_code: int | None
    """Exit status, 128 + n after signal n; None after a timeout."""
    seconds: float
    """Wall clock."""
    limit: str | None = None
    """The limit that ended it, in words; None when none did."""

    @property
    def timed_out(self) -> bool:
        """Whether the wall clock ended it."""
        return self.exit_code is None


class _BoundedFile:
    """A file that takes the first MAX_OUTPUT bytes and counts the rest."""

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
    """A started process in a process group of its own."""

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
        """Wait for the end, write the output, and leave no member of its group alive.

        `exceeded` is asked again and again; the limit that it names ends the program.
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

    def kill(self) -> None:
        """End the whole group and wait for the process."""
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
        """Copy output until the process is gone; what ended it before that, _TIME or a limit."""
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

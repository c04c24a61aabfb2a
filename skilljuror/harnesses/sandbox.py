"""The sandbox of one trial: a folder with all its files, and a way to run programs in it.

`BubblewrapSandbox` mounts the folder as `/`, with the host's programs read-only, in new namespaces that end
with the program, under `Limits`. `PlainSandbox` is a temporary folder and a process group: programs see all
host paths, and only time and output are limited.

Programs in bubblewrap have an unprivileged user id and no capability. A normal user gets a user namespace
for that. Root creates the other namespaces itself and drops its privileges before the program starts: the
kernel does not limit root's processes, and files below root's home (a Python of pyenv or uv) are mounted
for the trial, but another user could not open them.
"""

import contextlib
import functools
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, TextIO

from msgspec.structs import replace

from skilljuror.errors import HarnessError
from skilljuror.harnesses.inside_harbor.skilljuror_bwrap import (
    become,
    bwrap_words,
    is_root,
    lay_out,
    namespaces,
    next_user,
    sealed,
    walk,
)
from skilljuror.harnesses.limits import Limits, Usage, bind
from skilljuror.harnesses.process import Command, OutputFiles, ProcessOutcome, RunningProcess
from skilljuror.harnesses.seal import seal_problem, syscall_filter

HOME = "/root"
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Program folders besides /usr; links into it on most systems."""
RESERVED = ("/usr", "/proc", "/dev", "/sys", *SYSTEM)
"""Host folders that are read-only for tasks."""
_HOST_ETC = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/mime.types", "/etc/os-release",
    "/etc/pki/ca-trust", "/etc/pki/tls/certs",
)  # fmt: skip
_ETC = {
    "passwd": "agent:x:{user}:{user}:agent:/root:/bin/sh\n",
    "group": "agent:x:{user}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_COPY_SECONDS = 300.0
"""Time limit for copying a trial's files."""
_DISK_FULL = re.compile(rb": No space left on device$", re.MULTILINE)
"""Message of `cp` after an untrusted file name."""
_SETTLE_SECONDS = 5.0
"""Seconds to wait for the last process of a namespace."""
INSTALL = "install it: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap"
ALLOW = (
    "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Ubuntu also"
    " kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it privileged"
)


_Bounds = tuple[float, OutputFiles]
"""(time limit in seconds, output files)."""


class Sandbox(Protocol):
    """Runs programs over the files of one trial."""

    name: ClassVar[str]
    """Name in trial records."""
    root: Path
    """Host folder with the files."""

    def visible_path(self, guest: str) -> str:
        """Return the path of `guest` for programs in the sandbox."""
        ...

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run a program until it ends or times out; kill all its processes."""
        ...

    def fresh(self, root: Path) -> "Sandbox":
        """Return another sandbox with a copy of all files, in the empty folder `root`."""
        ...


def host_path(root: Path, guest: str) -> Path:
    """Return the host path of an absolute sandbox path."""
    return root / guest.lstrip("/")


def host_parts(shown: Iterable[Path] = ()) -> dict[str, Any]:
    """Describe what every sandbox mounts from the host, as JSON values for Harbor's other Python.
    `shown` are further files and folders."""
    folders = [Path("/usr"), *filter(Path.is_dir, map(Path, SYSTEM)), *shown]
    if not python_home().is_relative_to("/usr"):
        folders.append(python_home())
    return {
        "show": [str(folder) for folder in folders],
        "host_etc": list(_HOST_ETC),
        "etc": _ETC,
        "path": search_path(),
        "filter": syscall_filter(),
    }


def python_home() -> Path:
    """Return the prefix of the interpreter that trials get as python3."""
    return Path(sys.base_prefix)


def search_path() -> str:
    """Return PATH for programs in a sandbox."""
    return f"{python_home() / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


class PlainSandbox:
    """A temporary folder without isolation."""

    name: ClassVar[str] = "none"

    def __init__(self, root: Path) -> None:
        self.root = root

    def visible_path(self, guest: str) -> str:
        """Return the host path."""
        return str(host_path(self.root, guest))

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in a process group; a program that leaves its group is not caught."""
        return RunningProcess(command, command.cwd).finish(timeout, output)

    def fresh(self, root: Path) -> "PlainSandbox":
        """Return this sandbox: programs write host paths into their files."""
        return self


class BubblewrapSandbox:
    """bubblewrap: new root, process, ipc, network and host-name namespaces, under limits.

    `hidden` are host folders below the system's that appear empty; `shown` are further files and
    folders mounted read-only at their own paths.
    """

    name: ClassVar[str] = "bwrap"

    def __init__(
        self,
        root: Path,
        limits: Limits | None = None,
        hidden: tuple[Path, ...] = (),
        shown: tuple[Path, ...] = (),
    ) -> None:
        self.root, self.limits, self.hidden = root, limits or Limits(), hidden
        self.host = host_parts(shown)
        try:
            self.user = next_user()
        except (OSError, ValueError) as error:
            raise HarnessError(f"no separate user id for a trial is available: {error}") from error

    def visible_path(self, guest: str) -> str:
        """Return the path itself."""
        return guest

    def fresh(self, root: Path) -> "BubblewrapSandbox":
        """Return another sandbox with a copy of all files.

        A separate sandbox copies them regardless of permissions; files that cannot be copied, such as
        paths that are too long, are skipped. Raises HarnessError for a full disk or a failed copy,
        TimeoutError for a slow one.
        """
        words = ["--bind", str(self.root), "/from", "--bind", str(root), "/to"]
        for path in host_parts()["show"]:
            words += ["--ro-bind", path, path]
        words += [] if is_root() else ["--uid", "0", "--gid", "0"]
        for capability in ("DAC_OVERRIDE", "FOWNER", "CHOWN"):
            words += ["--cap-add", f"CAP_{capability}"]
        copy = ("sh", "-c", "cp -a --reflink=auto /from/. /to; [ $? -le 1 ]")
        env = {"PATH": search_path(), "LC_ALL": "C"}
        log = root.with_suffix(".copy")
        argv = (*namespaces(network=False), *words, "--", *copy)
        copying = RunningProcess(Command(argv, env, "/"), None)
        output = OutputFiles(log, log)
        outcome = copying.finish(_COPY_SECONDS, output)
        if _DISK_FULL.search(log.read_bytes()):
            raise HarnessError("no space left on the disk to copy a trial's files; free some space")
        if outcome.timed_out:
            raise TimeoutError(f"copying the trial's files took more than {_COPY_SECONDS:g} s")
        if outcome.exit_code != 0:
            why = _tail(output)
            raise HarnessError(f"copying a trial's files for its verifier failed: {why}")
        limits = replace(self.limits, storage=2 * self.limits.storage)  # one half for the copy
        return BubblewrapSandbox(root, limits, self.hidden)

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in fresh namespaces. Raises HarnessError if they cannot be created."""
        self._refuse_missing(command)
        lay_out(self.root, self.user, self.host, network=command.network)
        reading, writing = os.pipe()
        held, release = os.pipe()
        with (
            os.fdopen(reading, encoding="utf-8", errors="replace") as status,
            os.fdopen(release, "wb", buffering=0) as start,
        ):
            try:
                argv = (*self._command(command, writing, held), *command.argv)
                process = RunningProcess(
                    Command(argv, command.env, "/"), None, keep_open=(writing, held)
                )
            finally:
                os.close(writing)
                os.close(held)
            with _until_all_ended(process, status) as first:
                outcome = self._finish(process, first, start, (timeout, output))
            early = outcome.timed_out or outcome.limit
            if not early and "exit-code" not in status.read():
                raise HarnessError(
                    f"the sandbox could not start {command.argv[0]!r}: {_tail(output)}"
                )
        return outcome

    def _finish(
        self, process: RunningProcess, first: int | None, start: IO[bytes], bounds: _Bounds
    ) -> ProcessOutcome:
        """Set limits on process 1, then let it start the program."""
        if first is None:
            return process.finish(*bounds)
        bind(first, self.limits)
        with contextlib.suppress(BrokenPipeError):
            start.write(b"1")
        return process.finish(*bounds, Usage(first, self.root, self.limits).exceeded)

    def _refuse_missing(self, command: Command) -> None:
        program = command.argv[0]
        folders = [""] if "/" in program else command.env["PATH"].split(":")
        for place in (Path(command.cwd, folder, program) for folder in folders):
            shown = any(place.is_relative_to(folder) for folder in self.host["show"])
            if os.access(place if shown else host_path(self.root, str(place)), os.X_OK):
                return
        raise HarnessError(
            f"the sandbox could not start {program!r}: not found on its PATH"
            f" ({command.env['PATH']})"
        )

    def _command(self, command: Command, status: int, held: int) -> list[str]:
        hidden = map(str, self.hidden)
        words = bwrap_words(self.root, self.user, self.host, network=command.network, hide=hidden)
        words += ["--json-status-fd", str(status), "--block-fd", str(held), "--chdir", command.cwd]
        if is_root():  # required to change the user id inside
            for capability in ("SETUID", "SETGID", "SETPCAP"):
                words += ["--cap-add", f"CAP_{capability}"]
        return sealed([*words, "--", *(become(self.user) if is_root() else [])], self.host)


@contextlib.contextmanager
def _until_all_ended(process: RunningProcess, status: TextIO) -> Iterator[int | None]:
    """Yield process 1 of the new namespace or None; wait at exit until all its processes have ended."""
    handle: int | None = None
    try:
        first = _first_process(status.readline())
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(first) if first else None
        yield first
    finally:
        process.kill()
        if handle is not None:
            waiter = select.poll()
            waiter.register(handle, select.POLLIN)
            waiter.poll(_SETTLE_SECONDS * 1000)
            os.close(handle)


def _first_process(line: str) -> int | None:
    """Parse bubblewrap's first status line."""
    try:
        return int(json.loads(line)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return None


def _tail(output: OutputFiles) -> str:
    lines = output.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"


@functools.cache
def bwrap_problem() -> str | None:
    """Describe why bubblewrap is unavailable, found by a probe, or return None."""
    if shutil.which("bwrap") is None:
        return f"bwrap is not installed; {INSTALL}"
    with tempfile.TemporaryDirectory(prefix="skilljuror-probe-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        output = OutputFiles(Path(folder, "out"), Path(folder, "err"))
        env = {"PATH": search_path()}
        try:
            probe = ("python3", "-c", "print(1)")
            outcome = BubblewrapSandbox(root).run(Command(probe, env, "/"), 20.0, output)
        except HarnessError as error:
            return f"{error.message}; {ALLOW}"
        return (
            None if outcome.exit_code == 0 else f"a probe ended with {outcome.exit_code}; {ALLOW}"
        )


def sandbox_class(choice: str) -> type[BubblewrapSandbox] | type[PlainSandbox]:
    """Return the class for isolation = auto | bwrap | sealed | none. Raises HarnessError if unavailable."""
    if choice == "none":
        return PlainSandbox
    problem = bwrap_problem() or (seal_problem() if choice == "sealed" else None)
    if problem is None:
        return BubblewrapSandbox
    if choice != "auto":
        weaker = "bwrap" if choice == "sealed" else "none"
        raise HarnessError(
            f"isolation {choice!r} is unavailable: {problem}; or set harness.options.isolation: {weaker}"
        )
    return PlainSandbox


def remove_tree(folder: Path) -> None:
    """Delete a folder regardless of permissions and depth; ignore errors."""
    for base, folders, _ in walk(folder):
        for path in (Path(base, name) for name in folders):
            _open_up(path)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        for words in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            subprocess.run([*words, "--", folder], stderr=subprocess.DEVNULL, check=False)


def _open_up(path: Path) -> None:
    with contextlib.suppress(OSError):
        if not path.is_symlink():
            path.chmod(0o700)

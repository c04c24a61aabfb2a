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
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, TextIO

from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, StudyError
from skilljuror.harness.inside_harbor.skilljuror_bwrap import (
    become,
    bwrap_words,
    is_root,
    lay_out,
    masked,
    namespaces,
    next_user,
    sealed,
    walk,
)
from skilljuror.harness.limits import MEGABYTE, Limits, Usage, bind
from skilljuror.harness.process import (
    Command,
    OutputFiles,
    ProcessOutcome,
    RunningProcess,
    raise_if_stopped,
)
from skilljuror.harness.seal import seal_problem, syscall_filter

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
_SETUP_SECONDS, _LOOK_SECONDS = 20.0, 0.002
"""Time limit and polling interval of bubblewrap's setup."""
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
    """Host folder with the files; after a program, those that it left."""
    host: dict[str, Any]
    """See `host_parts`."""

    @property
    def base(self) -> Path:
        """Host folder that programs see as /."""
        ...

    def visible_path(self, guest: str) -> str:
        """Return the path of `guest` for programs in the sandbox."""
        ...

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run a program until it ends or times out; kill all its processes."""
        ...

    def fresh(self, root: Path) -> "Sandbox":
        """Return another sandbox with a copy of all files, and those of `root` over them."""
        ...

    def close(self) -> None:
        """Delete files that are in memory."""
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


def _private(shown: Iterable[Path]) -> str | None:
    """Say which of these folders holds the files of this user, if any."""
    with contextlib.suppress(RuntimeError):  # no HOME
        for folder in shown:
            if (Path.home() / ".local").is_relative_to(folder.resolve()):
                return f"trials would see {str(folder)!r}, which holds your own files"
    return None


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
        self.root, self.base, self.host = root.resolve(), Path("/"), host_parts()

    def visible_path(self, guest: str) -> str:
        """Return the host path."""
        return str(host_path(self.root, guest))

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in a process group; a program that leaves its group is not caught."""
        return RunningProcess(command, command.cwd).finish(timeout, output)

    def fresh(self, root: Path) -> "PlainSandbox":
        """Return this sandbox with the files of `root`: programs write host paths into their files."""
        shutil.copytree(root, self.root, symlinks=True, dirs_exist_ok=True)
        return self

    def close(self) -> None:
        """Files are in a folder."""


class BubblewrapSandbox:
    """bubblewrap: new root, process, ipc, network and host-name namespaces, under limits.

    Files are in memory, so that the kernel bounds their bytes and their number is known at any time.
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
        self.root = self.disk = root
        self.below: Path | None = None
        """Files that another sandbox left, below those of `disk`."""
        self.handle: int | None = None
        """Keeps the file system of `root` after its programs."""
        self.limits, self.hidden, self.host = limits or Limits(), hidden, host_parts(shown)
        if private := _private(shown):
            raise StudyError(f"{private}; show a folder inside it instead")
        try:
            masked(self.host, map(str, hidden))
        except ValueError as error:
            raise StudyError(f"{error}; move the study to another folder") from error
        try:
            self.user = next_user()
        except (OSError, ValueError) as error:
            raise HarnessError(f"no separate user id for a trial is available: {error}") from error

    @property
    def base(self) -> Path:
        """The trial's own files."""
        return self.root

    def visible_path(self, guest: str) -> str:
        """Return the path itself."""
        return guest

    def fresh(self, root: Path) -> "BubblewrapSandbox":
        """Return another sandbox, for as much again: with a copy of all files, and those of `root` over
        them."""
        shutil.copytree(self.disk / "etc", root / "etc", symlinks=True, dirs_exist_ok=True)
        limits = replace(self.limits, storage=2 * self.limits.storage)
        other = BubblewrapSandbox(root, limits, self.hidden)
        other.user, other.below = self.user, self.root
        other.handle, self.handle = self.handle, None
        return other

    def close(self) -> None:
        """Delete the files that programs left."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in fresh namespaces on a copy of the files in memory, which is `root` from then on. Raises
        HarnessError if they cannot be created, TimeoutError if copying is slow."""
        self._refuse_missing(command)
        lay_out(self.disk, self.user, self.host, network=command.network)
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
        """Set limits on process 1 and fill its file system, then let it start the program."""
        handle = _root_of(process, first, self.limits.storage) if first else None
        if first is None or handle is None:
            return process.finish(*bounds)
        try:
            for source in filter(None, (self.below, self.disk)):
                self._copy(source, handle)
        finally:
            self.close()
            self.handle, self.root = handle, Path(f"/proc/self/fd/{handle}")
        bind(first, self.limits)
        shared = os.open(f"/proc/{first}/root/dev/shm", os.O_PATH)
        try:
            process.restart_clock()
            with contextlib.suppress(BrokenPipeError):
                start.write(b"1")
            usage = Usage(first, (handle, shared), self.limits)
            return process.finish(*bounds, usage.exceeded)
        finally:
            os.close(shared)

    def _copy(self, source: Path, target: int) -> None:
        """Copy all files of a folder, whatever its programs locked; skip those that cannot be copied, such
        as paths that are too long. Raises HarnessError for too many bytes or a failed copy, TimeoutError
        for a slow one."""
        words = ["--proc", "/proc", *([] if is_root() else ["--uid", "0", "--gid", "0"])]
        for path in host_parts()["show"]:
            words += ["--ro-bind", path, path]
        for capability in ("DAC_OVERRIDE", "FOWNER", "CHOWN"):
            words += ["--cap-add", f"CAP_{capability}"]
        folder = os.open(source, os.O_PATH | os.O_DIRECTORY)
        script = f"cd /proc/self/fd/{folder} && cp -a . /proc/self/fd/{target}/; [ $? -le 1 ]"
        argv = (*namespaces(network=False), *words, "--", "sh", "-c", script)
        env = {"PATH": search_path(), "LC_ALL": "C"}
        log = self.disk.with_suffix(".copy")
        output = OutputFiles(log, log)
        try:
            copying = RunningProcess(Command(argv, env, "/"), None, keep_open=(folder, target))
            outcome = copying.finish(_COPY_SECONDS, output)
        finally:
            os.close(folder)
        if _DISK_FULL.search(log.read_bytes()):
            raise HarnessError(
                f"the files of a trial take more than {self.limits.storage // MEGABYTE} MB; set"
                " storage_mb in [environment] of its task.toml"
            )
        if outcome.timed_out:
            raise TimeoutError(f"copying the trial's files took more than {_COPY_SECONDS:g} s")
        if outcome.exit_code != 0:
            why = _tail(output)
            raise HarnessError(f"copying a trial's files failed: {why}")

    def _refuse_missing(self, command: Command) -> None:
        program = command.argv[0]
        folders = [""] if "/" in program else command.env["PATH"].split(":")
        for place in (Path(command.cwd, folder, program) for folder in folders):
            shown = any(place.is_relative_to(folder) for folder in self.host["show"])
            if os.access(place if shown else host_path(self.disk, str(place)), os.X_OK):
                return
        raise HarnessError(
            f"the sandbox could not start {program!r}: not found on its PATH"
            f" ({command.env['PATH']})"
        )

    def _command(self, command: Command, status: int, held: int) -> list[str]:
        hidden = map(str, self.hidden)
        words = bwrap_words(
            self.disk,
            self.user,
            self.host,
            network=command.network,
            hide=hidden,
            size=self.limits.storage,
        )
        if command.socket:
            words += ["--bind", str(host_path(self.disk, command.socket)), command.socket]
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


def _root_of(process: RunningProcess, first: int, size: int) -> int | None:
    """Open the root of a new sandbox, once bubblewrap waits to start its program; None if it ended."""
    blocks, until = -(-size // resource.getpagesize()), time.monotonic() + _SETUP_SECONDS
    while process.process.poll() is None:
        raise_if_stopped()
        if time.monotonic() > until:
            raise HarnessError(f"the files of a sandbox, /proc/{first}/root, cannot be reached")
        with contextlib.suppress(OSError):
            handle = os.open(f"/proc/{first}/root", os.O_PATH | os.O_DIRECTORY)
            if os.fstatvfs(handle).f_blocks == blocks:
                return handle
            os.close(handle)
        time.sleep(_LOOK_SECONDS)
    return None


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
    if private := _private([] if python_home().is_relative_to("/usr") else [python_home()]):
        return f"{private}; use a Python in another folder"
    with tempfile.TemporaryDirectory(prefix="skilljuror-probe-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        output = OutputFiles(Path(folder, "out"), Path(folder, "err"))
        env = {"PATH": search_path()}
        try:
            probe = ("python3", "-c", "print(1)")
            sandbox = BubblewrapSandbox(root)
            outcome = sandbox.run(Command(probe, env, "/"), 20.0, output)
            sandbox.close()
        except HarnessError as error:
            return f"{error.message}; {ALLOW}"
        return (
            None if outcome.exit_code == 0 else f"a probe ended with {outcome.exit_code}; {ALLOW}"
        )


def isolation_problem(choice: str) -> str | None:
    """Describe why isolation = bwrap or sealed is unavailable, or return None."""
    return bwrap_problem() or (seal_problem() if choice == "sealed" else None)


def sandbox_class(choice: str) -> type[BubblewrapSandbox] | type[PlainSandbox]:
    """Return the class for isolation = auto | bwrap | sealed | none. Raises HarnessError if unavailable."""
    if choice == "none":
        return PlainSandbox
    problem = isolation_problem(choice)
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

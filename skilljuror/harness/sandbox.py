"""The sandbox of one trial: a folder with all its files, and a way to run programs in it.

`BubblewrapSandbox` mounts the folder as `/`, with the host's programs read-only, in new namespaces that end
with the program, under `Limits` and the seal. `PlainSandbox` is a temporary folder and a process group: programs
see all host paths, and only time and output are limited.

Programs in bubblewrap have an unprivileged user id and no capability. A normal user gets a user namespace
for that. Root creates the other namespaces itself and drops its privileges before the program starts: the
kernel does not limit root's processes, and files below root's home (a Python of pyenv or uv) are mounted
for the trial, but another user could not open them.

A trial's files are untrusted: a task or an agent may have replaced any folder or file by a link to the host, or
locked a folder.
"""

import contextlib
import errno
import functools
import json
import os
import platform
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar, TextIO

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, StudyError
from skilljuror.base.platforms import optional

HOME = "/root"
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Program folders besides /usr; links into it on most systems."""
RESERVED = ("/usr", "/proc", "/dev", "/sys", *SYSTEM)
"""Host folders that are read-only for tasks."""
MEGABYTE = 1_000_000
MAX_OUTPUT = 4_000_000
"""Saved bytes of stdout and of stderr."""
STOPPED = 143
"""Exit status of a stopped program."""
OVER_LIMIT = 137
"""Exit status of a program over its limits, as for a container out of memory."""
INSTALL = "install it: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap"
HARBOR = "use Docker through Harbor (harness: {name: harbor})"
ALLOW = (
    "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Ubuntu also"
    " kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it privileged"
)
_HOST_ETC = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/mime.types", "/etc/os-release",
    "/etc/pki/ca-trust", "/etc/pki/tls/certs",
)  # fmt: skip
_RESOURCE = optional("resource")
_ETC = {
    "passwd": "agent:x:{user}:{user}:agent:/root:/bin/sh\n",
    "group": "agent:x:{user}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_FIRST_USER, _USERS = 61_184, 4_336
"""User ids reserved by systemd for temporary service users; no person has one."""
_SHARED_MEMORY = 64_000_000
"""Bytes of /dev/shm."""
_UNSEEN = ("/proc/keys", "/proc/key-users")
"""Files of /proc that list the keys of all sandboxes of a user."""
_COPY_SECONDS = 300.0
"""Time limit for copying a trial's files."""
_SETUP_SECONDS, _SETUP_POLL = 20.0, 0.002
"""Time limit and polling interval of bubblewrap's setup."""
_SETTLE_SECONDS = 5.0
"""Seconds to wait for the last process of a namespace."""
_POLL_SECONDS = 0.05
"""Polling interval of a running process and of its limits."""
_DRAIN_SECONDS = 0.5
"""Seconds that other processes may keep the output open after the program ended."""
_SPARE = 200 * MEGABYTE
"""Memory of the machine that trials leave free: buffers, page tables and files without a name are in no other
sum."""


class Limits(Struct, frozen=True):
    """Limits of one sandbox.

    The kernel limits processes, the size of a file, and the bytes of all files, which are in a file system in
    memory. Memory is added up by polling: control groups require privileges, and a limit on address space breaks
    runtimes that reserve more than they use (JavaScript, Java).
    """

    memory: int = 4_096 * MEGABYTE
    """Bytes of memory of all processes together."""
    storage: int = 4_096 * MEGABYTE
    """Bytes of all files together, and of any one."""
    processes: int = 512
    """Processes and threads."""


class Command(Struct, frozen=True):
    """A command to run, with paths of its sandbox."""

    argv: tuple[str, ...]
    env: dict[str, str]
    """Its whole environment."""
    cwd: str
    network: bool = False
    """Whether it has the host's network."""
    socket: str | None = None
    """A Unix socket that the host listens on."""


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


def host_path(root: Path, guest: str) -> Path:
    """Return the host path of an absolute sandbox path."""
    return root / guest.lstrip("/")


def own_folder(root: Path, guest: str) -> Path:
    """Return the folder `guest` below `root`, made of real, accessible folders. Anything else in
    the path is replaced."""
    path = root
    path.chmod(path.stat().st_mode | 0o755)
    for part in guest.strip("/").split("/"):
        path /= part
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            path.unlink()
        path.mkdir(exist_ok=True)
        path.chmod(path.stat().st_mode | 0o755)
    return path


def own_file(root: Path, guest: str) -> Path:
    """Return where to write the file `guest` below `root`: in such folders, with nothing in its
    place."""
    folder, _, name = guest.rpartition("/")
    path = own_folder(root, folder) / name
    path.unlink(missing_ok=True)
    return path


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk like os.walk, top down, over folders of any depth; links to folders count as files."""
    waiting = [str(folder)]
    while waiting:
        base = waiting.pop()
        folders: list[str] = []
        names: list[str] = []
        with suppress(OSError), os.scandir(base) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
        yield base, folders, names
        waiting += [f"{base}/{name}" for name in reversed(folders)]


def remove_tree(folder: Path) -> None:
    """Delete a folder regardless of permissions and depth; ignore errors."""
    for base, folders, _ in walk(folder):
        for name in folders:
            with suppress(OSError):
                Path(base, name).chmod(0o700)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)


# A running program


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


class RunningProcess:
    """A started process in its own process group, whose output threads save."""

    def __init__(
        self,
        command: Command,
        cwd: str | None,
        output: OutputFiles,
        keep_open: tuple[int, ...] = (),
    ) -> None:
        raise_if_stopped()
        self.started = time.monotonic()
        self.over = False
        one = output.stdout == output.stderr
        try:
            self.process = subprocess.Popen(
                command.argv,
                env=command.env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if one else subprocess.PIPE,
                start_new_session=True,
                pass_fds=keep_open,
            )
        except OSError as error:
            raise HarnessError(f"cannot start {command.argv[0]!r}: {error}") from error
        streams = ((self.process.stdout, output.stdout), (self.process.stderr, output.stderr))
        self.copies = [
            threading.Thread(target=self._copy, args=(stream, path), daemon=True)
            for stream, path in streams
            if stream
        ]
        for copy in self.copies:
            copy.start()

    def _copy(self, stream: IO[bytes], path: Path) -> None:
        """Save the first MAX_OUTPUT bytes of a stream, and how many more there were."""
        size = 0
        with stream, path.open("wb", buffering=0) as file:
            while (data := os.read(stream.fileno(), 65_536)) and not self.over:
                file.write(data[: max(MAX_OUTPUT - size, 0)])
                size += len(data)
            if size > MAX_OUTPUT:
                file.write(f"\n[cut here: {size - MAX_OUTPUT} more bytes]\n".encode())

    def finish(
        self, timeout: float, exceeded: Callable[[], str | None] = lambda: None
    ) -> ProcessOutcome:
        """Wait for the end and kill the whole group. `exceeded` is polled; a limit that it returns ends the
        program."""
        deadline, limit, code = self.started + timeout, None, None
        try:
            while (code := self.process.poll()) is None and limit is None:
                raise_if_stopped()
                left = min(deadline - time.monotonic(), _POLL_SECONDS)
                if left <= 0:
                    break
                limit = exceeded()
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(left)
        finally:
            self.kill()
        seconds = time.monotonic() - self.started
        if limit:
            return ProcessOutcome(OVER_LIMIT, seconds, limit)
        return ProcessOutcome(128 - code if code and code < 0 else code, seconds)

    def restart_clock(self) -> None:
        """Count time from now: the program has only been prepared."""
        self.started = time.monotonic()

    def kill(self) -> None:
        """Kill the whole group, and wait for the process and what it printed."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        until = time.monotonic() + _DRAIN_SECONDS
        for copy in self.copies:
            copy.join(max(until - time.monotonic(), 0))
        self.over = True


def _tail(output: OutputFiles) -> str:
    lines = output.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"


# Memory and files of a sandbox


class _Usage:
    """Memory and files of a process tree; `root` is its file system in memory."""

    def __init__(self, process: int, root: int, limits: Limits) -> None:
        self.process, self.root, self.limits = process, root, limits
        self.next_look = time.monotonic()

    def exceeded(self) -> str | None:
        """Describe an exceeded limit, or return None. Most calls return early. Raises HarnessError if the
        machine runs out of memory."""
        if time.monotonic() < self.next_look:
            return None
        if _sizes("/proc/meminfo").get("MemAvailable", _SPARE) < _SPARE:
            raise HarnessError(
                "this machine is out of memory, which holds the files of trials, too; run fewer at once (--jobs)"
            )
        if not os.fstatvfs(self.root).f_bfree:
            return f"its files took more than {self.limits.storage // MEGABYTE} MB"
        family = _descendants(self.process)
        resident = sum(_sizes(f"/proc/{number}/status").get("VmRSS", 0) for number in family)
        if resident > self.limits.memory and sum(map(_proportional, family)) > self.limits.memory:
            return f"it used more than {self.limits.memory // MEGABYTE} MB of memory"
        self.next_look = time.monotonic() + _POLL_SECONDS
        return None


def _descendants(process: int) -> list[int]:
    """List a process tree; orphans of a namespace are below its process 1."""
    family, waiting = [], [process]
    while waiting:
        family.append(number := waiting.pop())
        with suppress(OSError):
            for thread in Path(f"/proc/{number}/task").iterdir():
                waiting += map(int, (thread / "children").read_text(encoding="ascii").split())
    return family


def _proportional(process: int) -> int:
    """Proportional set size, in which shared memory counts once; resident size if it is not readable."""
    size = _sizes(f"/proc/{process}/smaps_rollup").get("Pss")
    return size or _sizes(f"/proc/{process}/status").get("VmRSS", 0)


def _sizes(path: str) -> dict[str, int]:
    """The sizes in a file of /proc, in bytes; empty if it cannot be read."""
    sizes = {}
    with suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                sizes[name] = int(value.split()[0]) * 1024
    return sizes


# The seal: what namespaces leave open

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
"""System call number of `keyctl` by machine."""
_NEW_KEYRING = """\
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(int(sys.argv[1]), 1, None) < 0 and ctypes.get_errno() not in (1, 38):
    sys.exit(f"no session keyring of its own: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Starts a command with a session keyring of its own: keyrings belong to users and sessions, and outlive a program.
Two errors are no fault: a kernel without keyrings (ENOSYS), a container that lets nobody use them (EPERM)."""
_DENIED = (
    "add_key", "keyctl", "request_key", "syslog",
    "io_uring_setup", "io_uring_enter", "io_uring_register",
)  # fmt: skip
_NEW_USER_NAMESPACE = 0x1000_0000
"""Flag of `clone` and `unshare`; a filter cannot read the flags of `clone3`."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_ROUTE = 0
"""Netlink protocol for addresses and routes."""
GET_FILTER = "pip install pyseccomp, and apt install libseccomp2 or dnf install libseccomp"


def unsealed() -> tuple[str, ...]:
    """List the parts of the seal that are unavailable on this machine."""
    parts = {
        "syscall_filter": bool(syscall_filter()),
        "session_keyring": platform.machine() in _KEYCTL,
    }
    return tuple(name for name, there in parts.items() if not there)


@functools.cache
def syscall_filter() -> bytes:
    """Return the BPF filter of system calls; empty without the library.

    Denied: kernel keys, the kernel log, user namespaces (uncounted memory), io_uring (invisible to filters), and
    all sockets except files, internet and routes.
    """
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):  # the package or its C library
        return b""
    arg, rules = pyseccomp.Arg, pyseccomp.SyscallFilter(pyseccomp.ALLOW)

    def deny(code: int, name: str, *arguments: Any) -> None:
        rules.add_rule(pyseccomp.ERRNO(code), name, *arguments)

    for name in _DENIED:
        deny(errno.EPERM, name)
    deny(errno.ENOSYS, "clone3")  # libraries fall back to `clone`
    for name in ("clone", "unshare"):
        flag = arg(0, pyseccomp.MASKED_EQ, _NEW_USER_NAMESPACE, _NEW_USER_NAMESPACE)
        deny(errno.EPERM, name, flag)
    for name in ("socket", "socketpair"):
        for family in set(range(_NETLINK)) - {_UNIX, _INET, _INET6}:
            deny(errno.EAFNOSUPPORT, name, arg(0, pyseccomp.EQ, family))
        deny(errno.EAFNOSUPPORT, name, arg(0, pyseccomp.GT, _NETLINK))
        netlink, other = arg(0, pyseccomp.EQ, _NETLINK), arg(2, pyseccomp.NE, _ROUTE)
        deny(errno.EPROTONOSUPPORT, name, netlink, other)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


# Sandboxes


def shown_paths() -> list[Path]:
    """List the host's programs, which every sandbox mounts."""
    folders = [Path("/usr"), *filter(Path.is_dir, map(Path, SYSTEM))]
    return folders if python_home().is_relative_to("/usr") else [*folders, python_home()]


def python_home() -> Path:
    """Return the prefix of the interpreter that trials get as python3."""
    return Path(sys.base_prefix)


def search_path() -> str:
    """Return PATH for programs in a sandbox."""
    return f"{python_home() / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


def _private(shown: Iterable[Path]) -> str | None:
    """Say which of these folders holds the files of this user, if any."""
    with suppress(RuntimeError):  # no HOME
        for folder in shown:
            if (Path.home() / ".local").is_relative_to(folder.resolve()):
                return f"trials would see {str(folder)!r}, which holds your own files"
    return None


class PlainSandbox:
    """A temporary folder without isolation."""

    name: ClassVar[str] = "none"
    """Name in trial records."""

    def __init__(self, root: Path) -> None:
        self.root, self.base, self.shown = root.resolve(), Path("/"), shown_paths()

    def visible_path(self, guest: str) -> str:
        """Return the host path."""
        return str(host_path(self.root, guest))

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in a process group; a program that leaves its group is not caught."""
        return RunningProcess(command, command.cwd, output).finish(timeout)

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
        self.limits, self.shown = limits or Limits(), [*shown_paths(), *shown]
        if private := _private(shown):
            raise StudyError(f"{private}; show a folder inside it instead")
        self.masked = self._places_of(hidden)
        self.user = _FIRST_USER + (random.randrange(_USERS) if _is_root() else 0)

    def _places_of(self, hidden: Iterable[Path]) -> list[Path]:
        """Where hidden folders are seen through the shown ones, by any link: the outermost places. Raises
        StudyError for a folder that holds a shown one, or one of PATH."""
        reals = {place: place.resolve() for place in self.shown}
        needs = [*reals.values(), *map(Path, search_path().split(":"))]
        places: set[Path] = set()
        for folder in filter(Path.is_dir, (path.resolve() for path in hidden)):
            inside = [place for place, real in reals.items() if folder.is_relative_to(real)]
            needed = next((path for path in needs if path.is_relative_to(folder)), None)
            if inside and needed:
                raise StudyError(
                    f"{str(folder)!r} holds {str(needed)!r}, which trials need; move the study to another folder"
                )
            places |= {place / folder.relative_to(reals[place]) for place in inside}
        return sorted(path for path in places if not places & {*path.parents})

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
        other = BubblewrapSandbox(root, replace(self.limits, storage=2 * self.limits.storage))
        other.user, other.below, other.masked = self.user, self.root, self.masked
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
        self._lay_out(network=command.network)
        reading, writing = os.pipe()
        held, release = os.pipe()
        rules = os.memfd_create("filter", 0)
        with (
            os.fdopen(reading, encoding="utf-8", errors="replace") as status,
            os.fdopen(release, "wb", buffering=0) as start,
        ):
            try:
                os.write(rules, syscall_filter())
                os.lseek(rules, 0, os.SEEK_SET)
                argv = (*self._words(command, writing, held, rules), *command.argv)
                inside = Command(argv, command.env, "/")
                process = RunningProcess(inside, None, output, keep_open=(writing, held, rules))
            finally:
                for handle in (writing, held, rules):
                    os.close(handle)
            with _until_all_ended(process, status) as first:
                outcome = self._finish(process, first, start, timeout)
            early = outcome.timed_out or outcome.limit
            if not early and "exit-code" not in status.read():
                raise HarnessError(
                    f"the sandbox could not start {command.argv[0]!r}: {_tail(output)}"
                )
        return outcome

    def _refuse_missing(self, command: Command) -> None:
        program = command.argv[0]
        folders = [""] if "/" in program else command.env["PATH"].split(":")
        for place in (Path(command.cwd, folder, program) for folder in folders):
            shown = any(place.is_relative_to(folder) for folder in self.shown)
            if os.access(place if shown else host_path(self.disk, str(place)), os.X_OK):
                return
        raise HarnessError(
            f"the sandbox could not start {program!r}: not found on its PATH"
            f" ({command.env['PATH']})"
        )

    def _lay_out(self, *, network: bool) -> None:
        """Create real folders for mounts whatever a task or program put there, write /etc, and give all
        files to the user."""
        paths = (Path("/etc"), Path("/proc"), Path("/dev"), *self.shown, *map(Path, _HOST_ETC))
        for path in filter(Path.exists, paths):
            own_folder(self.disk, str(path if path.is_dir() else path.parent))
        for name, text in _ETC.items():
            file = own_file(self.disk, f"/etc/{name}")
            file.write_text(text.format(user=self.user), encoding="utf-8")
        if network:
            shutil.copyfile("/etc/resolv.conf", own_file(self.disk, "/etc/resolv.conf"))
        for base, folders, names in walk(self.disk) if _is_root() else ():
            for name in ("", *folders, *names):
                with suppress(OSError):  # such as a path of too many characters
                    os.chown(Path(base, name), self.user, self.user, follow_symlinks=False)

    def _words(self, command: Command, status: int, held: int, rules: int) -> list[str]:
        """bubblewrap's command line, up to the program's: over an empty file system in memory with /etc of
        `disk`."""
        words = [*_namespaces(network=command.network), "--hostname", "sandbox"]
        words += ["--size", str(self.limits.storage), "--tmpfs", "/"]
        for path in self.shown:
            link = path.is_symlink() and not path.is_dir()
            words += ["--symlink", str(path.readlink())] if link else ["--ro-bind-try", str(path)]
            words.append(str(path))
        words += ["--bind", str(self.disk / "etc"), "/etc"]
        for name in _HOST_ETC:
            words += ["--ro-bind-try", name, name]
        words += ["--remount-ro", "/etc"]
        for folder in self.masked:
            words += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
        words += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        for path in filter(Path.exists, map(Path, _UNSEEN)):
            words += ["--ro-bind", "/dev/null", str(path)]
        words += ["--perms", "1777", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]
        words += ["--remount-ro", "/dev"]
        if command.socket:
            words += ["--bind", str(host_path(self.disk, command.socket)), command.socket]
        words += ["--json-status-fd", str(status), "--block-fd", str(held), "--chdir", command.cwd]
        words += ["--seccomp", str(rules)] if syscall_filter() else []
        user = str(self.user)
        if not _is_root():
            words += ["--uid", user, "--gid", user, "--"]
        else:  # drop every privilege inside, which requires some
            for capability in ("SETUID", "SETGID", "SETPCAP"):
                words += ["--cap-add", f"CAP_{capability}"]
            words += ["--", "setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
            words += ["--reuid", user, "--regid", user, "--clear-groups", "--"]
        number = _KEYCTL.get(platform.machine())
        keyring = [sys.executable, "-I", "-S", "-c", _NEW_KEYRING, str(number)] if number else []
        return [*keyring, *words]

    def _finish(
        self,
        process: RunningProcess,
        first: int | None,
        start: IO[bytes],
        timeout: float,
    ) -> ProcessOutcome:
        """Set limits on process 1 and fill its file system, then let it start the program."""
        handle = _root_of(process, first, self.limits.storage) if first else None
        if first is None or handle is None:
            return process.finish(timeout)
        try:
            for source in filter(None, (self.below, self.disk)):
                self._copy(source, handle)
        finally:
            self.close()
            self.handle, self.root = handle, Path(f"/proc/self/fd/{handle}")
        for kind, value in (
            (_RESOURCE.RLIMIT_NPROC, self.limits.processes),
            (_RESOURCE.RLIMIT_FSIZE, self.limits.storage),
            (_RESOURCE.RLIMIT_CORE, 0),
        ):
            with suppress(ProcessLookupError):  # it has ended
                _RESOURCE.prlimit(first, kind, (value, value))
        process.restart_clock()
        with suppress(BrokenPipeError):
            start.write(b"1")
        return process.finish(timeout, _Usage(first, handle, self.limits).exceeded)

    def _copy(self, source: Path, target: int) -> None:
        """Copy all files of a folder, whatever its programs locked; skip those that cannot be copied, such
        as paths that are too long. Raises HarnessError for too many bytes or a failed copy, TimeoutError
        for a slow one."""
        words = ["--proc", "/proc", *([] if _is_root() else ["--uid", "0", "--gid", "0"])]
        for path in map(str, shown_paths()):
            words += ["--ro-bind", path, path]
        for capability in ("DAC_OVERRIDE", "FOWNER", "CHOWN"):
            words += ["--cap-add", f"CAP_{capability}"]
        folder = os.open(source, os.O_PATH | os.O_DIRECTORY)
        script = f"cd /proc/self/fd/{folder} && cp -a . /proc/self/fd/{target}/; [ $? -le 1 ]"
        argv = (*_namespaces(network=False), *words, "--", "sh", "-c", script)
        env = {"PATH": search_path(), "LC_ALL": "C"}
        log = self.disk.with_suffix(".copy")
        output = OutputFiles(log, log)
        try:
            copying = RunningProcess(Command(argv, env, "/"), None, output, (folder, target))
            outcome = copying.finish(_COPY_SECONDS)
        finally:
            os.close(folder)
        if b": No space left on device\n" in log.read_bytes():
            raise HarnessError(
                f"the files of a trial take more than {self.limits.storage // MEGABYTE} MB; set"
                " storage_mb in [environment] of its task.toml"
            )
        if outcome.timed_out:
            raise TimeoutError(f"copying the trial's files took more than {_COPY_SECONDS:g} s")
        if outcome.exit_code != 0:
            raise HarnessError(f"copying a trial's files failed: {_tail(output)}")


Sandbox = PlainSandbox | BubblewrapSandbox
"""Runs programs over the files of one trial: `root` has the files, and after a program those that it left; `base` is
the host folder that programs see as /; `shown` are the host's files that they see at their own paths."""


def _is_root() -> bool:
    """Whether root runs the sandbox; root needs no user namespace."""
    return os.geteuid() == 0


def _namespaces(*, network: bool) -> list[str]:
    """Command line of bubblewrap with new namespaces and no capability."""
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    return words if _is_root() else [*words, "--unshare-user"]


@contextlib.contextmanager
def _until_all_ended(process: RunningProcess, status: TextIO) -> Iterator[int | None]:
    """Yield process 1 of the new namespace or None; wait at exit until all its processes have ended."""
    handle: int | None = None
    try:
        try:
            first = int(json.loads(status.readline())["child-pid"])
        except (ValueError, KeyError, TypeError):
            first = None
        with suppress(OSError):
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
    blocks, until = -(-size // _RESOURCE.getpagesize()), time.monotonic() + _SETUP_SECONDS
    while process.process.poll() is None:
        raise_if_stopped()
        if time.monotonic() > until:
            raise HarnessError(f"the files of a sandbox, /proc/{first}/root, cannot be reached")
        with suppress(OSError):
            handle = os.open(f"/proc/{first}/root", os.O_PATH | os.O_DIRECTORY)
            if os.fstatvfs(handle).f_blocks == blocks:
                return handle
            os.close(handle)
        time.sleep(_SETUP_POLL)
    return None


# What this machine has


@functools.cache
def bwrap_problem() -> str | None:
    """Describe why bubblewrap is unavailable, found by a probe, or return None."""
    if shutil.which("bwrap") is None:
        linux = sys.platform.startswith("linux")
        return (
            f"bwrap is not installed; {INSTALL}, or {HARBOR}"
            if linux
            else f"bwrap needs Linux; {HARBOR}"
        )
    if private := _private([] if python_home().is_relative_to("/usr") else [python_home()]):
        return f"{private}; use a Python in another folder"
    with tempfile.TemporaryDirectory(prefix="skilljuror-probe-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        output = OutputFiles(Path(folder, "out"), Path(folder, "err"))
        probe = Command(("python3", "-c", "print(1)"), {"PATH": search_path()}, "/")
        try:
            sandbox = BubblewrapSandbox(root)
            outcome = sandbox.run(probe, 20.0, output)
            sandbox.close()
        except HarnessError as error:
            return f"{error.message}; {ALLOW}"
        return (
            None if outcome.exit_code == 0 else f"a probe ended with {outcome.exit_code}; {ALLOW}"
        )


def sandbox_class(choice: str) -> type[Sandbox]:
    """Return the class for isolation = auto | bwrap | sealed | none. Raises HarnessError if unavailable."""
    if choice == "none":
        return PlainSandbox
    problems = {
        "syscall_filter": f"system call filters are unavailable: {GET_FILTER}",
        "session_keyring": f"session keyrings are unsupported on {platform.machine()}",
    }
    missing = [problems[part] for part in unsealed()] if choice == "sealed" else []
    problem = bwrap_problem() or "; ".join(missing)
    if not problem:
        return BubblewrapSandbox
    if choice != "auto":
        weaker = "bwrap" if choice == "sealed" else "none"
        raise HarnessError(
            f"isolation {choice!r} is unavailable: {problem}; or set harness.options.isolation: {weaker}"
        )
    return PlainSandbox

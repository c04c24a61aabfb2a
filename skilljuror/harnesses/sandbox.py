"""The machine of one trial: a folder that holds all its files, and a way to run programs in it.

`BubblewrapSandbox` shows the folder as `/`, with the host's programs read-only, in namespaces of its own
that end with the program, under `Limits`. `PlainSandbox` is a temporary folder and a process group:
programs see host paths, nothing is hidden from them, and only time and output are bounded.

Programs in bubblewrap have an unprivileged user id and no capability. A normal user gets a user
namespace for that. Root makes the other namespaces itself and takes its privileges off before the
program starts: the kernel lets root's own id start any number of processes, and what lies below root's
home (a Python of pyenv or uv) is shown to the trial, but could not be opened by another user.
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
from skilljuror.harnesses.inside_harbor.skilljuror_places import own_file, own_folder
from skilljuror.harnesses.limits import Limits, Usage, bind
from skilljuror.harnesses.process import Command, OutputFiles, ProcessOutcome, RunningProcess

HOME = "/root"
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders of programs beside /usr; links into it on most systems."""
RESERVED = ("/usr", "/proc", "/dev", "/sys", *SYSTEM)
"""Folders of the host's own that no task can write into."""
_HOST_ETC = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/mime.types", "/etc/os-release",
    "/etc/pki/ca-trust", "/etc/pki/tls/certs",
)  # fmt: skip
_FIRST_USER, _USERS = 61_184, 4_336
"""The ids that systemd keeps for users who last as long as a service: no person has one."""
_ETC = {
    "passwd": "agent:x:{user}:{user}:agent:/root:/bin/sh\n",
    "group": "agent:x:{user}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_SHARED_MEMORY = 64_000_000
"""Bytes of /dev/shm."""
_COPY_SECONDS = 3_600.0
"""Seconds that copying the files of a trial may take: more than any agent has needed to write them."""
_DISK_FULL = re.compile(rb": No space left on device$", re.MULTILINE)
"""What `cp` says of it, after the name of a file that may say anything."""
_SETTLE_SECONDS = 5.0
"""Seconds to wait for the last process of a namespace to be gone."""
INSTALL = "install it: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap"
ALLOW = (
    "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Ubuntu also"
    " kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it privileged"
)


_Bounds = tuple[float, OutputFiles]
"""Seconds, and where output goes."""


class Sandbox(Protocol):
    """Runs programs over the files of one trial."""

    name: ClassVar[str]
    """What a trial record calls it."""
    root: Path
    """Folder of the host that holds the files."""

    def visible_path(self, guest: str) -> str:
        """The path at which a program in the sandbox finds `guest`."""
        ...

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run a program to its end or to the timeout; nothing it started survives."""
        ...

    def fresh(self, root: Path) -> "Sandbox":
        """Another machine with a copy of all files, in the empty folder `root`."""
        ...


def host_path(root: Path, guest: str) -> Path:
    """Where an absolute path of the sandbox lies below its `root` on the host."""
    return root / guest.lstrip("/")


def host_parts() -> dict[str, Any]:
    """What every sandbox takes from the host or says of it, as JSON values; Harbor's, which runs in
    another Python, is given the same."""
    return {
        "show": [str(folder) for folder in _shown()],
        "host_etc": list(_HOST_ETC),
        "etc": _ETC,
        "path": search_path(),
        "users": [_FIRST_USER, _USERS],
    }


def python_home() -> Path:
    """The interpreter that trials get as python3: the one this program was made from."""
    return Path(sys.base_prefix)


def search_path() -> str:
    """PATH of every program in a sandbox."""
    return f"{python_home() / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


class PlainSandbox:
    """A temporary folder without isolation."""

    name: ClassVar[str] = "none"

    def __init__(self, root: Path) -> None:
        self.root = root

    def visible_path(self, guest: str) -> str:
        """The host path."""
        return str(host_path(self.root, guest))

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in a process group; a program that leaves its group is not caught."""
        return RunningProcess(command, command.cwd).finish(timeout, output)

    def fresh(self, root: Path) -> "PlainSandbox":
        """This machine itself: programs keep host paths in what they write."""
        return self


class BubblewrapSandbox:
    """bubblewrap: own root, process, ipc, network and host-name namespaces, under limits.

    `hidden` are folders of the host that programs find empty, though the system's folders hold them;
    `shown` are files and folders that they find at their own paths, read-only, beside the system's.
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
        self.shown = (*_shown(), *shown)
        self.user = _FIRST_USER + os.getpid() % _USERS
        for name, text in _ETC.items():
            own_file(root, f"/etc/{name}").write_text(text.format(user=self.user), encoding="utf-8")

    def visible_path(self, guest: str) -> str:
        """The path itself."""
        return guest

    def fresh(self, root: Path) -> "BubblewrapSandbox":
        """Another machine with a copy of all files.

        A sandbox of its own makes the copy, which may read all of it whatever its permissions; what
        cannot be copied, such as a path of too many characters, is left out. Raises HarnessError
        when the disk is full, and for a copy that did not come to its end.
        """
        words = [
            "--bind",
            str(self.root),
            "/from",
            "--bind",
            str(root),
            "/to",
            *_read_only(_shown()),
        ]
        words += [] if _is_root() else ["--uid", "0", "--gid", "0"]
        for capability in ("DAC_OVERRIDE", "FOWNER", "CHOWN"):
            words += ["--cap-add", f"CAP_{capability}"]
        copy = ("sh", "-c", "cp -a --reflink=auto /from/. /to; [ $? -le 1 ]")
        env = {"PATH": search_path(), "LC_ALL": "C"}
        said = root.with_suffix(".copy")
        copying = RunningProcess(
            Command((*_bwrap(network=False), *words, "--", *copy), env, "/"), None
        )
        output = OutputFiles(said, said)
        outcome = copying.finish(_COPY_SECONDS, output)
        if _DISK_FULL.search(said.read_bytes()):
            raise HarnessError("no space left on the disk to copy the files of a trial; make room")
        if outcome.exit_code != 0:
            why = f"after {_COPY_SECONDS:g} s" if outcome.timed_out else _tail(output)
            raise HarnessError(f"the copy of a trial's files for its verifier broke off: {why}")
        limits = replace(self.limits, storage=2 * self.limits.storage)  # of which one is the copy's
        return BubblewrapSandbox(root, limits, self.hidden)

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in fresh namespaces. Raises HarnessError when they cannot be made."""
        self._refuse_missing(command)
        self._make_ready(command)
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
        """Bind process 1 to the limits, and only then let it go on to the program."""
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
            shown = any(place.is_relative_to(folder) for folder in self.shown)
            if os.access(place if shown else host_path(self.root, str(place)), os.X_OK):
                return
        raise HarnessError(
            f"the sandbox could not start {program!r}: no such program on its PATH"
            f" ({command.env['PATH']})"
        )

    def _make_ready(self, command: Command) -> None:
        """Real folders where something is mounted, whatever a program put there, and all files the
        user's own."""
        places = [Path("/etc"), Path("/proc"), Path("/dev"), *self.shown, *map(Path, _HOST_ETC)]
        for place in filter(Path.exists, places):
            own_folder(self.root, str(place if place.is_dir() else place.parent))
        if command.network:
            shutil.copyfile("/etc/resolv.conf", own_file(self.root, "/etc/resolv.conf"))
        if _is_root():
            _give(self.root, self.user)

    def _command(self, command: Command, status: int, held: int) -> list[str]:
        words = [
            *_bwrap(command.network), "--hostname", "sandbox", "--json-status-fd", str(status),
            "--block-fd", str(held), "--bind", str(self.root), "/", *_read_only(self.shown),
            "--bind", str(self.root / "etc"), "/etc",
        ]  # fmt: skip
        for path in _HOST_ETC:
            words += ["--ro-bind-try", path, path]
        words += ["--remount-ro", "/etc"]
        for folder in self.hidden:
            if any(folder.is_relative_to(place) for place in self.shown):
                words += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
        words += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        words += ["--perms", "1777", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]
        words += ["--remount-ro", "/dev", "--chdir", command.cwd]
        user = str(self.user)
        if not _is_root():
            return [*words, "--uid", user, "--gid", user, "--"]
        for capability in ("SETUID", "SETGID", "SETPCAP"):
            words += ["--cap-add", f"CAP_{capability}"]
        drop = ["--reuid", user, "--regid", user, "--clear-groups", "--bounding-set=-all"]
        return [*words, "--", "setpriv", *drop, "--inh-caps=-all", "--"]


def _is_root() -> bool:
    return os.geteuid() == 0


def _bwrap(network: bool) -> list[str]:
    """The program with namespaces of its own, without any capability."""
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    return words if _is_root() else [*words, "--unshare-user"]


def _shown() -> list[Path]:
    """Folders of the host that programs find at their own paths, read-only."""
    folders = [Path("/usr"), *filter(Path.is_dir, map(Path, SYSTEM))]
    python = python_home()
    return folders if python.is_relative_to("/usr") else [*folders, python]


def _read_only(paths: Iterable[Path]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind", str(path), str(path))]


def _give(root: Path, user: int) -> None:
    """Make all below a folder a user's own; links are not followed."""
    for base, folders, names in os.walk(root):
        for name in ("", *folders, *names):
            with contextlib.suppress(OSError):  # such as a path of too many characters
                os.chown(Path(base, name), user, user, follow_symlinks=False)


@contextlib.contextmanager
def _until_all_ended(process: RunningProcess, status: TextIO) -> Iterator[int | None]:
    """Process 1 of the new namespace, None where there is none; leave only when every process of the
    namespace is gone, its process 1 last."""
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
    """From bubblewrap's first status line."""
    try:
        return int(json.loads(line)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return None


def _tail(output: OutputFiles) -> str:
    lines = output.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"


@functools.cache
def bwrap_problem() -> str | None:
    """Why bubblewrap cannot be used on this machine, found by using it; None when it can."""
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
    """The class for isolation = auto | bwrap | none. Raises HarnessError when it cannot work."""
    if choice == "none":
        return PlainSandbox
    problem = bwrap_problem()
    if problem is None:
        return BubblewrapSandbox
    if choice == "bwrap":
        raise HarnessError(
            f"isolation 'bwrap' does not work here: {problem};"
            " or let the study say harness.options.isolation: none"
        )
    return PlainSandbox


def remove_tree(folder: Path) -> None:
    """Delete a folder whatever its permissions and depth; what cannot be deleted is left."""
    for base, folders, _ in os.walk(folder):
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

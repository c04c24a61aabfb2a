"""The machine of one trial: a folder that holds all its files, and a way to run programs in it.

`BubblewrapSandbox` shows the folder as `/`, with the host's programs read-only, no network and a process
namespace of its own that ends with the program. `PlainSandbox` is a temporary folder and a process
group: programs see host paths, and nothing is hidden from them.
"""

import contextlib
import functools
import json
import os
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Protocol, TextIO

from skilljuror.errors import HarnessError
from skilljuror.harnesses.process import Command, OutputFiles, ProcessOutcome, RunningProcess

HOME = "/root"
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders of programs beside /usr; links into it on most systems."""
RESERVED = ("/usr", "/proc", "/dev", "/sys", *SYSTEM)
"""Folders of the host's own that no task can write into."""
_HOST_ETC = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/mime.types", "/etc/os-release",
)  # fmt: skip
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "group": "root:x:0:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_SETTLE_SECONDS = 5.0
"""Seconds to wait for the last process of a namespace to be gone."""


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


def host_path(root: Path, guest: str) -> Path:
    """Where an absolute path of the sandbox lies below its `root` on the host."""
    return root / guest.lstrip("/")


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


class BubblewrapSandbox:
    """bubblewrap: own root, process, network and host-name namespaces."""

    name: ClassVar[str] = "bwrap"

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "etc").mkdir(exist_ok=True)
        for name, text in _ETC.items():
            (root / "etc" / name).write_text(text, encoding="utf-8")

    def visible_path(self, guest: str) -> str:
        """The path itself."""
        return guest

    def run(self, command: Command, timeout: float, output: OutputFiles) -> ProcessOutcome:
        """Run in fresh namespaces. Raises HarnessError when they cannot be made."""
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8", errors="replace") as status:
            try:
                argv = (*self._command(command.cwd, writing), *command.argv)
                process = RunningProcess(
                    Command(argv, command.env, "/"), None, keep_open=(writing,)
                )
            finally:
                os.close(writing)
            with _until_all_ended(process, status):
                outcome = process.finish(timeout, output)
            if not outcome.timed_out and "exit-code" not in status.read():
                raise HarnessError(
                    f"the sandbox could not start {command.argv[0]!r}: {_tail(output)}"
                )
        return outcome

    def _command(self, cwd: str, status: int) -> list[str]:
        words = [
            shutil.which("bwrap") or "bwrap", "--die-with-parent", "--unshare-all", "--hostname",
            "sandbox", "--cap-drop", "ALL", "--uid", "0", "--gid", "0", "--json-status-fd", str(status),
            "--bind", str(self.root), "/", "--ro-bind", "/usr", "/usr",
        ]  # fmt: skip
        for folder in SYSTEM:
            words += ["--ro-bind-try", folder, folder]
        words += ["--bind", str(self.root / "etc"), "/etc"]
        for path in _HOST_ETC:
            words += ["--ro-bind-try", path, path]
        words += ["--remount-ro", "/etc"]
        python = python_home()
        if not python.is_relative_to("/usr"):
            words += ["--ro-bind", str(python), str(python)]
        words += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        return [*words, "--chdir", cwd, "--"]


@contextlib.contextmanager
def _until_all_ended(process: RunningProcess, status: TextIO) -> Iterator[None]:
    """Leave only when every process of the namespace is gone, its process 1 last."""
    first: int | None = None
    try:
        first = _first_process_handle(status.readline())
        yield
    finally:
        process.kill()
        if first is not None:
            waiter = select.poll()
            waiter.register(first, select.POLLIN)
            waiter.poll(_SETTLE_SECONDS * 1000)
            os.close(first)


def _first_process_handle(line: str) -> int | None:
    """A handle on process 1 of the new namespace, from bubblewrap's first status line."""
    try:
        return os.pidfd_open(int(json.loads(line)["child-pid"]))
    except (ValueError, KeyError, TypeError, OSError):
        return None


def _tail(output: OutputFiles) -> str:
    lines = output.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"


@functools.cache
def bwrap_problem() -> str | None:
    """Why bubblewrap cannot be used on this machine, found by using it; None when it can."""
    if shutil.which("bwrap") is None:
        return "bwrap is not installed (package bubblewrap)"
    with tempfile.TemporaryDirectory(prefix="skilljuror-probe-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        output = OutputFiles(Path(folder, "out"), Path(folder, "err"))
        env = {"PATH": search_path()}
        try:
            probe = ("python3", "-c", "print(1)")
            outcome = BubblewrapSandbox(root).run(Command(probe, env, "/"), 20.0, output)
        except HarnessError as error:
            return error.message
        return None if outcome.exit_code == 0 else f"a probe outcome with {outcome.exit_code}"


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
            " install bubblewrap and allow user namespaces, or set isolation to auto or none"
        )
    return PlainSandbox


def own_folder(root: Path, guest: str) -> Path:
    """The folder `guest` below `root`, made of real folders all the way down.

    A program in the sandbox may have put a link in its place that points to the host's
    files; whatever is no folder is removed and made anew.
    """
    path = root
    for part in guest.strip("/").split("/"):
        path /= part
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            path.unlink()
        path.mkdir(exist_ok=True)
    return path


def remove_tree(folder: Path) -> None:
    """Delete a folder whatever its permissions; what cannot be deleted is left."""
    for base, folders, _ in os.walk(folder):
        for path in (Path(base, name) for name in folders):
            _open_up(path)
    shutil.rmtree(folder, ignore_errors=True)


def _open_up(path: Path) -> None:
    with contextlib.suppress(OSError):
        if not path.is_symlink():
            path.chmod(0o700)

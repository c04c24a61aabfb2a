"""Command line of bubblewrap and the files below it, for our own sandbox and the one in Harbor.

A trial's files are untrusted: a task or an agent may have replaced any folder or file by a link to
the host, or locked a folder.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

SEAL = Path(__file__).with_name("skilljuror_seal.py")
FIRST_USER, USERS = 61_184, 4_336
"""User ids reserved by systemd for temporary service users; no person has one."""
LAST_USER = Path("/run/skilljuror-last-user")
"""Stores the user id given to the last trial started by root."""
SHARED_MEMORY = 64_000_000
"""Bytes of /dev/shm."""
MAX_BYTES, MAX_FILES, MAX_SECONDS = 1_000_000_000, 50_000, 120.0
"""Limits for reading a trial's files: bytes, files and folders, seconds."""
LEFT_OUT = "left-out.json"
"""File in a Harbor trial's folder that lists what was not copied out of its sandbox."""
_UNSEEN = ("/proc/keys", "/proc/key-users")
"""Files of /proc that list the keys of all sandboxes of a user."""


def own_folder(root: Path, guest: str) -> Path:
    """Return the folder `guest` below `root`, made of real, accessible folders. Anything else in
    the path is replaced."""
    path = root
    _let_all_enter(path)
    for part in guest.strip("/").split("/"):
        path /= part
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            path.unlink()
        path.mkdir(exist_ok=True)
        _let_all_enter(path)
    return path


def own_file(root: Path, guest: str) -> Path:
    """Return where to write the file `guest` below `root`: in such folders, with nothing in its
    place."""
    folder, _, name = guest.rpartition("/")
    path = own_folder(root, folder) / name
    path.unlink(missing_ok=True)
    return path


def _let_all_enter(folder: Path) -> None:
    with suppress(OSError):  # it has no list of who may
        os.removexattr(folder, "system.posix_acl_access")
    folder.chmod(folder.stat().st_mode | 0o755)


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


def is_root() -> bool:
    """Whether root runs the sandbox; root needs no user namespace."""
    return os.geteuid() == 0


def next_user() -> int:
    """Return the user id of a sandbox: for root one that no recent sandbox had, for others a
    constant that maps to themselves. Raises OSError."""
    if not is_root():
        return FIRST_USER
    handle = os.open(LAST_USER, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        number = (int(file.read() or 0) + 1) % USERS
        file.seek(0)
        file.truncate()
        file.write(str(number))
    return FIRST_USER + number


def bwrap_words(
    root: Path,
    user: int,
    host: dict[str, Any],
    *,
    network: bool,
    hide: Iterable[str] = (),
    size: int | None = None,
) -> list[str]:
    """Return bubblewrap's command line with new namespaces and no capability, over the files below
    `root`, or over an empty file system of `size` bytes in memory with /etc of `root`.

    `host` lists the host's shared parts (`host_parts`); `hide` are folders that appear empty inside
    shown ones. Programs of root still have to become `user`.
    """
    words = [*namespaces(network), "--hostname", "sandbox"]
    words += ["--size", str(size), "--tmpfs", "/"] if size else ["--bind", str(root), "/"]
    for path in map(Path, host["show"]):
        link = path.is_symlink() and not path.is_dir()
        words += ["--symlink", str(path.readlink())] if link else ["--ro-bind-try", str(path)]
        words.append(str(path))
    words += ["--bind", str(root / "etc"), "/etc"]
    for path in host["host_etc"]:
        words += ["--ro-bind-try", path, path]
    words += ["--remount-ro", "/etc"]
    for folder in masked(host, hide):
        words += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    words += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    for path in filter(Path.exists, map(Path, _UNSEEN)):
        words += ["--ro-bind", "/dev/null", str(path)]
    words += ["--perms", "1777", "--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm"]
    words += ["--remount-ro", "/dev"]
    return words if is_root() else [*words, "--uid", str(user), "--gid", str(user)]


def masked(host: dict[str, Any], hide: Iterable[str]) -> list[Path]:
    """Return where the folders `hide` are seen through the shown ones, by any link: the outermost
    places. Raises ValueError for a folder that holds a shown one, or one of PATH."""
    shown = {Path(place): Path(place).resolve() for place in host["show"]}
    needs = [*shown.values(), *map(Path, host["path"].split(":"))]
    found: set[Path] = set()
    for folder in filter(Path.is_dir, (Path(one).resolve() for one in hide)):
        inside = [place for place, real in shown.items() if folder.is_relative_to(real)]
        needed = next((one for one in needs if one.is_relative_to(folder)), None)
        if inside and needed:
            raise ValueError(f"{str(folder)!r} holds {str(needed)!r}, which trials need")
        found |= {place / folder.relative_to(shown[place]) for place in inside}
    return sorted(path for path in found if not found & {*path.parents})


def namespaces(network: bool) -> list[str]:
    """Command line of bubblewrap with new namespaces and no capability."""
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    return words if is_root() else [*words, "--unshare-user"]


def become(user: int) -> list[str]:
    """Command prefix that drops every privilege and, for root, becomes `user`."""
    words = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    if is_root():
        words += ["--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return [*words, "--"]


def lay_out(root: Path, user: int, host: dict[str, Any], *, network: bool) -> None:
    """Create real folders for mounts whatever a task or program put there, write /etc, and give all
    files to the user."""
    paths = map(Path, ("/etc", "/proc", "/dev", *host["show"], *host["host_etc"]))
    for path in filter(Path.exists, paths):
        own_folder(root, str(path if path.is_dir() else path.parent))
    for name, text in host["etc"].items():
        own_file(root, f"/etc/{name}").write_text(text.format(user=user), encoding="utf-8")
    if network:
        shutil.copyfile("/etc/resolv.conf", own_file(root, "/etc/resolv.conf"))
    for base, folders, names in walk(root) if is_root() else ():
        for name in ("", *folders, *names):
            with suppress(OSError):  # such as a path of too many characters
                os.chown(Path(base, name), user, user, follow_symlinks=False)


def sealed(words: Iterable[str], host: dict[str, Any]) -> list[str]:
    """Command prefix that starts bubblewrap, or a command in its namespaces, under the seal."""
    return [sys.executable, "-I", "-S", str(SEAL), host["filter"], *words]

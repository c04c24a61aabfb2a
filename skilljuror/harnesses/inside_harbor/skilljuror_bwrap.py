"""bubblewrap's command line and the files below it, for our own sandbox and for the one inside Harbor.

The files of a trial are those of strangers: a task, or a program in the sandbox, may have put a link to
the host's files in the place of any folder or file, and may have locked a folder.
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
"""The ids that systemd keeps for users who last as long as a service: no person has one."""
LAST_USER = Path("/run/skilljuror-last-user")
"""Number of the user that a trial of root was given last."""
SHARED_MEMORY = 64_000_000
"""Bytes of /dev/shm."""
MAX_BYTES, MAX_FILES, MAX_SECONDS = 1_000_000_000, 50_000, 120.0
"""What reading all that a trial left may cost: bytes as read, files and folders, wall clock."""
LEFT_OUT = "left-out.json"
"""File in the folder of a trial of Harbor that names what was not copied out of its sandbox."""
_UNSEEN = ("/proc/keys", "/proc/key-users")
"""Files of /proc that tell of the keys of all sandboxes of one user."""


def own_folder(root: Path, guest: str) -> Path:
    """The folder `guest` below `root`, made of real folders all the way down that everybody may enter.

    Whatever is no folder is removed and made anew.
    """
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
    """Where to write the file `guest` below `root`: in such folders, with nothing in its place."""
    folder, _, name = guest.rpartition("/")
    path = own_folder(root, folder) / name
    path.unlink(missing_ok=True)
    return path


def _let_all_enter(folder: Path) -> None:
    with suppress(OSError):  # it has no list of who may
        os.removexattr(folder, "system.posix_acl_access")
    folder.chmod(folder.stat().st_mode | 0o755)


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """As os.walk, top down, over folders of any depth; links to folders are among the files."""
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
    """Whether root runs the sandbox, who needs no user namespace."""
    return os.geteuid() == 0


def next_user() -> int:
    """The user of a sandbox: for root one that no recent sandbox had, for others always the same, which
    stands for themselves. Raises OSError."""
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
    root: Path, user: int, host: dict[str, Any], *, network: bool, hide: Iterable[str] = ()
) -> list[str]:
    """bubblewrap with namespaces of its own, without any capability, over the files below `root`.

    `host` is what every sandbox takes from the host (`host_parts`); `hide` are folders that are found
    empty though one of those that are shown holds them. Root's programs still have to become `user`.
    """
    words = [*namespaces(network), "--hostname", "sandbox", "--bind", str(root), "/"]
    for path in host["show"]:
        words += ["--ro-bind-try", path, path]
    words += ["--bind", str(root / "etc"), "/etc"]
    for path in host["host_etc"]:
        words += ["--ro-bind-try", path, path]
    words += ["--remount-ro", "/etc"]
    for folder in hide:
        if any(Path(folder).is_relative_to(place) for place in host["show"]):
            words += ["--tmpfs", folder, "--remount-ro", folder]
    words += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    for path in filter(Path.exists, map(Path, _UNSEEN)):
        words += ["--ro-bind", "/dev/null", str(path)]
    words += ["--perms", "1777", "--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm"]
    words += ["--remount-ro", "/dev"]
    return words if is_root() else [*words, "--uid", str(user), "--gid", str(user)]


def namespaces(network: bool) -> list[str]:
    """bubblewrap with namespaces of its own, without any capability."""
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    return words if is_root() else [*words, "--unshare-user"]


def become(user: int) -> list[str]:
    """What a program goes through to lose every privilege, and for root to become `user`."""
    words = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    if is_root():
        words += ["--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return [*words, "--"]


def lay_out(root: Path, user: int, host: dict[str, Any], *, network: bool) -> None:
    """Real folders where something is mounted, whatever a task or a program put there, the files of
    /etc, and all files the user's own."""
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
    """The command that starts another one under the seal: bubblewrap, or what enters its namespaces."""
    return [sys.executable, "-I", "-S", str(SEAL), host["filter"], *words]

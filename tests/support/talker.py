"""Runs in a sandbox: `talker.py leave WORD` leaves a word wherever another trial might find it and holds
it until the file /stop is there, `talker.py find WORD` names the places where it found one; `doors` what
it may open. The standard library alone, for it runs in every Python."""

import ctypes
import fcntl
import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, REQUEST_KEY, KEYCTL = {"aarch64": (217, 218, 219)}.get(os.uname().machine, (248, 249, 250))
RINGS = {"process": -2, "session": -3, "user": -4, "user-session": -5}
FOLDERS = (
    "/",
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/run",
    "/root",
    "/usr",
    "/etc",
    "/proc",
    "/sys/fs/cgroup",
)
KEY = 0x5EA1


def call(*arguments):
    answer = libc.syscall(*arguments)
    return answer if answer >= 0 else -ctypes.get_errno()


def rings():
    yield from RINGS.items()
    if (persistent := call(KEYCTL, 22, -1, -2)) > 0:
        yield "persistent", persistent


def put_key(ring, word):
    return call(ADD_KEY, b"user", word, word, len(word), ring) > 0


def leave(word):
    """The places where it could be left, and what has to stay open."""
    left = {f"keyring {name}" for name, ring in rings() if put_key(ring, word.encode())}
    for folder in FOLDERS:
        with suppress(OSError):
            Path(folder, word).write_text(word, encoding="utf-8")
            left.add(f"file in {folder}")
    left |= {f"system v {name}" for name in ("shmget", "semget", "msgget") if make_ipc(name) >= 0}
    if libc.mq_open(f"/{word}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None) >= 0:
        left.add("message queue")
    held = [bound(socket.AF_UNIX, f"\0{word}"), bound(socket.AF_INET, ("127.0.0.1", 45_045))]
    lock = os.open("/usr/bin/env", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with suppress(OSError):
        Path("/dev/kmsg").write_text(word, encoding="utf-8")
    return left | {"lock"}, (*held, lock)


def make_ipc(name, create=0o1666):
    return getattr(libc, name)(
        KEY, *{"shmget": (4096,), "semget": (1,), "msgget": ()}[name], create
    )


def bound(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    return listener


def reaches(family, address):
    with socket.socket(family) as one, suppress(OSError):
        one.connect(address)
        return True
    return False


def find(word):
    found = set()
    if call(REQUEST_KEY, b"user", word.encode(), None, 0) > 0:
        found.add("key by name")
    for name, ring in rings():
        if call(KEYCTL, 10, ring, b"user", word.encode(), 0) > 0:
            found.add(f"keyring {name}")
    texts = ["/proc/keys", "/proc/key-users", "/proc/self/cgroup", "/proc/sys/kernel/hostname"]
    texts += [
        f"/proc/{one}/cmdline"
        for one in (path.name for path in Path("/proc").iterdir())
        if one.isdigit() and int(one) != os.getpid()
    ]
    for text in texts:
        with suppress(OSError):
            said = Path(text).read_bytes().replace(b"find\0" + word.encode(), b"")  # our own
            found |= {text} if word.encode() in said else set()
    for folder in FOLDERS:
        found |= {f"file in {folder}"} if Path(folder, word).exists() else set()
    found |= {
        f"system v {name}" for name in ("shmget", "semget", "msgget") if make_ipc(name, 0) >= 0
    }
    if libc.mq_open(f"/{word}".encode(), os.O_RDONLY) >= 0:
        found.add("message queue")
    found |= {"abstract socket"} if reaches(socket.AF_UNIX, f"\0{word}") else set()
    found |= {"loopback"} if reaches(socket.AF_INET, ("127.0.0.1", 45_045)) else set()
    with Path("/usr/bin/env").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found.add("lock")
    log = ctypes.create_string_buffer(1_000_000)
    if libc.klogctl(3, log, len(log)) > 0 and word.encode() in log.raw:
        found.add("kernel log")
    return found


def doors():
    """What the seal has to close: families of sockets, and whatever makes a user namespace."""
    families = set()
    for family in range(1, 50):
        with suppress(OSError):
            socket.socket(family, socket.SOCK_DGRAM).close()
            families.add(family)
        with suppress(OSError):
            socket.socket(family, socket.SOCK_RAW, 2).close()
            families.add(-family)
    if not (child := os.fork()):
        os._exit(libc.unshare(0x1000_0000) == 0)
    spaces = {"unshare"} if os.waitpid(child, 0)[1] else set()
    if os.uname().machine == "x86_64":
        if (child := call(56, 0x1000_0000 | 17, None, None, None, None)) == 0:
            os._exit(0)
        spaces |= {"clone"} if child > 0 else set()
    ring = call(425, 8, ctypes.create_string_buffer(200))
    return {"families": sorted(families), "user namespaces": sorted(spaces), "io_uring": ring > 0}


if __name__ == "__main__":
    do, *words = sys.argv[1:]
    if do == "leave":
        told, kept = leave(*words)
        Path("/left").write_text("all", encoding="utf-8")
        while words[0].startswith("held") and not Path("/stop").exists():
            time.sleep(0.02)
    else:
        told = find(*words) if do == "find" else doors()
    sys.stdout.write(json.dumps(sorted(told) if isinstance(told, set) else told))

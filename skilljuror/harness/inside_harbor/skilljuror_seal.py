"""Start a command under the seal: `python skilljuror_seal.py FILTER COMMAND …`.

Namespaces do not separate kernel keyrings, which belong to users and sessions and outlive a
program. The command gets a new session keyring and the system call filter of `harnesses.seal`. This
starts before every program of a trial, so it imports little.
"""

import ctypes
import errno
import os
import sys

KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
"""System call number of `keyctl` by machine."""
_JOIN_SESSION_KEYRING = 1
_SET_SECCOMP, _FILTER, _NO_NEW_PRIVS = 22, 2, 38


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def start(hexadecimal: str, *words: str) -> None:
    """Become the command; `hexadecimal` is the filter, empty for none. bubblewrap has to
    create namespaces first, so it gets the filter for its program."""
    libc, code = ctypes.CDLL(None, use_errno=True), bytes.fromhex(hexadecimal)
    number = KEYCTL.get(os.uname().machine)
    failed = number is not None and libc.syscall(number, _JOIN_SESSION_KEYRING, None) < 0
    # but for a kernel without keyrings, and a container that lets nobody use them
    if failed and ctypes.get_errno() not in {errno.ENOSYS, errno.EPERM}:
        sys.exit(f"no session keyring of its own: {os.strerror(ctypes.get_errno())}")
    if code and words[0].endswith("bwrap"):
        handle = os.memfd_create("filter", 0)
        os.write(handle, code)
        os.lseek(handle, 0, os.SEEK_SET)
        words = (words[0], "--seccomp", str(handle), *words[1:])
    elif code:
        _load(libc, code)
    os.execvp(words[0], words)


def _load(libc: ctypes.CDLL, code: bytes) -> None:
    program = _Program(len(code) // 8, code)
    none = (ctypes.c_ulong(0),) * 3
    failed = libc.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), *none)
    if failed or libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(program), *none):
        sys.exit(f"no filter of system calls: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    start(*sys.argv[1:])

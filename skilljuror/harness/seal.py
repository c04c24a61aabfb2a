"""Seal a sandbox with a system call filter for what namespaces leave open.

Denied: kernel keys (they belong to users and sessions and outlive a program), the kernel log, user
namespaces (uncounted memory), io_uring (invisible to filters), and all sockets except files, internet and
routes.
"""

import errno
import functools
import os
import tempfile
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from skilljuror.harness.inside_harbor.skilljuror_seal import KEYCTL

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
        "session_keyring": os.uname().machine in KEYCTL,
    }
    return tuple(name for name, there in parts.items() if not there)


def seal_problem() -> str | None:
    """Describe why trials cannot be sealed, with the fix, or return None."""
    missing = {
        "syscall_filter": f"system call filters are unavailable: {GET_FILTER}",
        "session_keyring": f"session keyrings are unsupported on {os.uname().machine}",
    }
    return "; ".join(missing[part] for part in unsealed()) or None


@functools.cache
def syscall_filter() -> str:
    """Return the BPF filter in hexadecimal; "" without the library."""
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):  # the package or its C library
        return ""
    made = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for code, name, *arguments in _rules(pyseccomp):
        made.add_rule(pyseccomp.ERRNO(code), name, *arguments)
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read().hex()


def _rules(library: ModuleType) -> Iterator[tuple[Any, ...]]:
    """(error, system call, argument conditions)."""
    arg = library.Arg
    for name in _DENIED:
        yield errno.EPERM, name
    yield errno.ENOSYS, "clone3"  # libraries fall back to `clone`
    for name in ("clone", "unshare"):
        flag = arg(0, library.MASKED_EQ, _NEW_USER_NAMESPACE, _NEW_USER_NAMESPACE)
        yield errno.EPERM, name, flag
    for name in ("socket", "socketpair"):
        for family in set(range(_NETLINK)) - {_UNIX, _INET, _INET6}:
            yield errno.EAFNOSUPPORT, name, arg(0, library.EQ, family)
        yield errno.EAFNOSUPPORT, name, arg(0, library.GT, _NETLINK)
        other = arg(2, library.NE, _ROUTE)
        yield errno.EPROTONOSUPPORT, name, arg(0, library.EQ, _NETLINK), other

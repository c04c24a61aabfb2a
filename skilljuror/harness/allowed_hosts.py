"""A network that reaches a study's own list of hosts alone: a proxy on a Unix socket of the sandbox."""

import contextlib
import os
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skilljuror.base.errors import UsageError
from skilljuror.harness.inside_harbor import skilljuror_relay
from skilljuror.harness.inside_harbor.skilljuror_relay import pump

RELAY = Path(skilljuror_relay.__file__)
PORT = 3128
"""Port of the proxy on the sandbox's loopback device."""
PLACE = "/run/proxy"
"""Its socket in the sandbox."""
_HOST = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::(?P<port>[1-9]\d{0,4}))?")
_ASKED = re.compile(
    rb"CONNECT (?P<tunnel>\S+) HTTP/1\.[01]\r\n|(?P<verb>[A-Z]+) http://(?P<host>[^/\s]+)(?P<path>/?\S*) (?P<version>HTTP/1\.[01])\r\n"
)
_LAST_PORT = 65_535
_CONNECTIONS = 128
"""Connections at a time; further ones wait."""
_HEAD = 65_536
"""Bytes of a request's head."""
_SECONDS = 30.0
"""Seconds to send a head, and to reach a host."""


def read_hosts(given: object) -> tuple[str, ...]:
    """Read the study's hosts, each as host (any port) or host:port. Raises UsageError."""
    hosts: list[Any] = given if isinstance(given, list) else [given]
    for one in hosts:
        try:
            _address(one.encode("ascii"), 443)
        except (AttributeError, ValueError):
            raise UsageError(
                f"harness.options.network: {one!r} is not a host; write a list such as [api.openai.com]",
                field="harness.options.network",
            ) from None
    return tuple(one.lower() for one in hosts)


def proxy_environment() -> dict[str, str]:
    """Variables by which programs use the proxy."""
    address = f"http://127.0.0.1:{PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    both = {name: address for upper in names for name in (upper, upper.lower())}
    return both | {"NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}


@contextlib.contextmanager
def proxy(place: Path, hosts: Sequence[str]) -> Iterator[None]:
    """Answer on a Unix socket, for these hosts alone, until the block ends; then end every connection."""
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
        try:  # by the folder's handle: the address of a socket has 107 bytes at most
            listener.bind(f"/proc/self/fd/{folder}/{place.name}")
        finally:
            os.close(folder)
        place.chmod(0o666)
        listener.listen(_CONNECTIONS)
        connections = _Connections(frozenset(hosts))
        accepting = threading.Thread(target=connections.accept, args=(listener,), daemon=True)
        accepting.start()
        try:
            yield
        finally:
            connections.end(listener)
            accepting.join()
            place.unlink(missing_ok=True)


class _Connections:
    """The connections of one sandbox, each passed on in a thread."""

    def __init__(self, hosts: frozenset[str]) -> None:
        self.hosts = hosts
        self._free = threading.BoundedSemaphore(_CONNECTIONS)
        self._lock, self._open, self._ended = threading.Lock(), set[socket.socket](), False

    def accept(self, listener: socket.socket) -> None:
        """Take connections until the listener is shut down."""
        while self._free.acquire():
            try:
                here, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(here,), daemon=True).start()

    def end(self, listener: socket.socket) -> None:
        """End every connection, and take no other."""
        with self._lock:
            self._ended = True
            for one in (listener, *self._open):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _held(self, one: socket.socket) -> Iterator[None]:
        with one:
            with self._lock:
                if self._ended:
                    raise ConnectionAbortedError
                self._open.add(one)
            try:
                yield
            finally:
                with self._lock:
                    self._open.discard(one)

    def _serve(self, here: socket.socket) -> None:
        try:
            with self._held(here):
                try:
                    self._answer(here)
                except (OSError, ValueError):
                    _refuse(here, "502 Bad Gateway")
        except OSError:  # it came when all had ended
            pass
        finally:
            self._free.release()

    def _answer(self, here: socket.socket) -> None:
        """Pass a connection on. Raises OSError if the host cannot be reached, ValueError for an odd address."""
        head = _head(here)
        asked = _ASKED.match(head)
        if not asked:
            _refuse(here, "400 Bad Request")
            return
        host, port = _address(asked["tunnel"] or asked["host"], 443 if asked["tunnel"] else 80)
        if not {host, f"{host}:{port}"} & self.hosts:
            _refuse(here, "403 Host is not in harness.options.network")
            return
        there = socket.create_connection((host.strip("[]"), port), _SECONDS)
        with self._held(there):
            there.settimeout(None)
            if asked["tunnel"]:
                here.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                there.sendall(head[head.index(b"\r\n\r\n") + 4 :])
            else:
                first = b" ".join((asked["verb"], asked["path"] or b"/", asked["version"]))
                there.sendall(first + b"\r\n" + head[asked.end() :])
            back = threading.Thread(target=pump, args=(there, here), daemon=True)
            back.start()
            pump(here, there)
            back.join()


def _refuse(here: socket.socket, why: str) -> None:
    with contextlib.suppress(OSError):
        here.sendall(f"HTTP/1.1 {why}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


def _head(here: socket.socket) -> bytes:
    here.settimeout(_SECONDS)
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD:
        data = here.recv(_HEAD)
        if not data:
            break
        head += data
    here.settimeout(None)
    return head


def _address(target: bytes, usual: int) -> tuple[str, int]:
    """Host and port of a request's target. Raises ValueError."""
    found = _HOST.fullmatch(target.decode("ascii"))
    if not found:
        raise ValueError(target)
    port = int(found["port"] or usual)
    if port > _LAST_PORT:
        raise ValueError(target)
    return found["host"].lower(), port

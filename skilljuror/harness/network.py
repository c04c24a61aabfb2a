"""A network that reaches a list of hosts alone: outside, a proxy on a Unix socket of the sandbox; inside, a relay to
it, `network.py PORT SOCKET PROGRAM …`, in place of a network. What connects to PORT on the loopback device is passed
on to the proxy. It starts in a sandbox, so it needs the standard library alone.
"""

import contextlib
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

PORT = 3128
"""Port of the proxy on the sandbox's loopback device."""
PLACE = "/run/proxy"
"""Its socket in the sandbox."""
_HOST = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::(?P<port>[1-9]\d{0,4}))?")
_REQUEST = re.compile(
    rb"CONNECT (?P<tunnel>\S+) HTTP/1\.[01]\r\n|(?P<verb>[A-Z]+) http://(?P<host>[^/\s]+)(?P<path>/?\S*) (?P<version>HTTP/1\.[01])\r\n"
)
_CONNECTIONS = 128
"""Connections at a time; further ones wait."""
_HEAD = 65_536
"""Bytes of a request's head."""
_SECONDS = 30.0
"""Seconds to send a head, and to reach a host."""


def read_address(target: str, usual: int) -> tuple[str, int]:
    """Return host and port of `host[:port]`, in lower case. Raises ValueError."""
    match = _HOST.fullmatch(target)
    if not match or int(match["port"] or usual) > 65_535:
        raise ValueError(target)
    return match["host"].lower(), int(match["port"] or usual)


def proxy_environment() -> dict[str, str]:
    """Variables by which programs use the proxy."""
    address = f"http://127.0.0.1:{PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    both = {name: address for upper in names for name in (upper, upper.lower())}
    return both | {"NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}


@contextlib.contextmanager
def proxy(place: Path, hosts: Sequence[str]) -> Iterator[None]:
    """Answer on a Unix socket, for these hosts alone, until the block ends; then end every connection."""
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
            for connection in (listener, *self._open):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _held(self, connection: socket.socket) -> Iterator[None]:
        with connection:
            with self._lock:
                if self._ended:
                    raise ConnectionAbortedError
                self._open.add(connection)
            try:
                yield
            finally:
                with self._lock:
                    self._open.discard(connection)

    def _serve(self, here: socket.socket) -> None:
        with contextlib.suppress(OSError), self._held(here):  # it may have come when all had ended
            try:
                self._answer(here)
            except (OSError, ValueError):
                _refuse(here, "502 Bad Gateway")
        self._free.release()

    def _answer(self, here: socket.socket) -> None:
        """Pass a connection on. Raises OSError if the host cannot be reached, ValueError for an odd address."""
        here.settimeout(_SECONDS)
        head = b""
        while b"\r\n\r\n" not in head and len(head) < _HEAD and (data := here.recv(_HEAD)):
            head += data
        here.settimeout(None)
        request = _REQUEST.match(head)
        if not request:
            _refuse(here, "400 Bad Request")
            return
        target = (request["tunnel"] or request["host"]).decode("ascii")
        host, port = read_address(target, 443 if request["tunnel"] else 80)
        if not {host, f"{host}:{port}"} & self.hosts:
            _refuse(here, "403 Host is not in harness.options.network")
            return
        there = socket.create_connection((host.strip("[]"), port), _SECONDS)
        with self._held(there):
            there.settimeout(None)
            if request["tunnel"]:
                here.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                there.sendall(head[head.index(b"\r\n\r\n") + 4 :])
            else:
                first = b" ".join((request["verb"], request["path"] or b"/", request["version"]))
                there.sendall(first + b"\r\n" + head[request.end() :])
            back = threading.Thread(target=_pump, args=(there, here), daemon=True)
            back.start()
            _pump(here, there)
            back.join()


def _refuse(here: socket.socket, why: str) -> None:
    with contextlib.suppress(OSError):
        here.sendall(f"HTTP/1.1 {why}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copy one direction until it ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _relay(port: int, place: str, *program: str) -> None:
    """Become the program, beside a process that passes its connections on."""
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork():
        listener.close()
        os.execvp(program[0], program)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.setsid()
    while True:
        here, _ = listener.accept()
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(place)
        except OSError:
            here.close()
            continue
        for source, target in ((here, there), (there, here)):
            threading.Thread(target=_pump, args=(source, target), daemon=True).start()


if __name__ == "__main__":
    _relay(int(sys.argv[1]), *sys.argv[2:])

"""A network that reaches a list of hosts alone: outside, a proxy on a Unix socket of the sandbox; inside, a relay to
it, `network.py PORT SOCKET PROGRAM …`, in place of a network. What connects to PORT on the loopback device is passed
on to the proxy. It starts in a sandbox, so it needs the standard library alone.
"""

import contextlib
import os
import re
import socket
import socketserver
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


_UnixServer = getattr(socketserver, "UnixStreamServer", socketserver.TCPServer)  # Windows has none


class _Proxy(socketserver.ThreadingMixIn, _UnixServer):  # type: ignore[misc,valid-type]
    """Passes connections on to listed hosts; they end with the sandbox's programs."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    hosts: frozenset[str]


@contextlib.contextmanager
def proxy(place: Path, hosts: Sequence[str]) -> Iterator[None]:
    """Answer on a Unix socket, for these hosts alone, until the block ends."""
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
    try:  # by the folder's handle: the address of a socket has 107 bytes at most
        server = _Proxy(f"/proc/self/fd/{folder}/{place.name}", _Connection)
    finally:
        os.close(folder)
    with server:
        place.chmod(0o666)
        server.hosts = frozenset(hosts)
        accepting = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        accepting.start()
        try:
            yield
        finally:
            server.shutdown()
            accepting.join()
            place.unlink(missing_ok=True)


class _Connection(socketserver.BaseRequestHandler):
    """One connection of a sandbox's program."""

    request: socket.socket
    server: _Proxy

    def handle(self) -> None:
        """Read a request's head; answer with an error, or join the host that it names."""
        here, head = self.request, b""
        with contextlib.suppress(OSError):
            here.settimeout(_SECONDS)
            while b"\r\n\r\n" not in head and len(head) < _HEAD and (data := here.recv(_HEAD)):
                head += data
            here.settimeout(None)
            if refusal := self._pass_on(head):
                lines = f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                here.sendall(lines.encode())

    def _pass_on(self, head: bytes) -> str | None:
        """Pass a request on until either side ends; return why it is refused, or None."""
        request = _REQUEST.match(head)
        if not request:
            return "400 Bad Request"
        try:
            target = (request["tunnel"] or request["host"]).decode("ascii")
            host, port = read_address(target, 443 if request["tunnel"] else 80)
            if not {host, f"{host}:{port}"} & self.server.hosts:
                return "403 Host is not in harness.options.network"
            there = socket.create_connection((host.strip("[]"), port), _SECONDS)
        except (OSError, ValueError):
            return "502 Bad Gateway"
        with there:
            there.settimeout(None)
            if request["tunnel"]:
                self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                there.sendall(head[head.index(b"\r\n\r\n") + 4 :])
            else:
                first = b" ".join((request["verb"], request["path"] or b"/", request["version"]))
                there.sendall(first + b"\r\n" + head[request.end() :])
            _join(self.request, there)
        return None


def _join(one: socket.socket, other: socket.socket) -> None:
    """Copy both directions until either ends."""

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    back = threading.Thread(target=pump, args=(other, one), daemon=True)
    back.start()
    pump(one, other)
    back.join()


def _relay(port: int, place: str, *program: str) -> None:
    """Become the program, beside a process that passes its connections on."""
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
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
        there.connect(place)
        threading.Thread(target=_join, args=(here, there), daemon=True).start()


if __name__ == "__main__":
    _relay(int(sys.argv[1]), *sys.argv[2:])

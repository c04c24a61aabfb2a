"""Run a program whose only way out is a proxy: `skilljuror_relay.py PORT SOCKET PROGRAM …`, in a sandbox without
a network. What connects to PORT on the loopback device is passed on to the proxy's Unix socket."""

import contextlib
import os
import socket
import sys
import threading


def relay(listener: socket.socket, place: str) -> None:
    """Pass every connection on."""
    while True:
        here, _ = listener.accept()
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(place)
        except OSError:
            here.close()
            continue
        for source, target in ((here, there), (there, here)):
            threading.Thread(target=pump, args=(source, target), daemon=True).start()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy one direction until it ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    port, place, *program = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)))
    if os.fork():
        listener.close()
        os.execvp(program[0], program)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.setsid()
    relay(listener, place)

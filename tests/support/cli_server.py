"""A process that has imported the command line and forks for every call: half of a call is imports.

A call gets its own words, environment, folder and streams, and ends like any process.
"""

import array
import atexit
import importlib
import json
import os
import socket
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

IMPORTED = (
    "skilljuror.cli.main", "skilljuror.cli.app", "skilljuror.report.trajectory", "skilljuror.store.logs",
    "skilljuror.layouts.build.build", "skilljuror.judge.study", "skilljuror.study.run", "skilljuror.store.questions",
    "skilljuror.report.page", "duckdb", "numpy", "pydantic", "yaml",
)  # fmt: skip
SECONDS = 60


def python_settings() -> dict[str, str]:
    """What the environment says to Python itself: the server started with it, and cannot change it."""
    return {name: text for name, text in os.environ.items() if name.startswith("PYTHON")}


def called(words: list[str], cwd: str, out: int, err: int) -> int:
    """The exit status of `skilljuror WORDS…`, which writes to two file descriptors."""
    order = json.dumps({"words": words, "cwd": cwd, "env": dict(os.environ)}).encode()
    server = _server(os.getpid(), tuple(python_settings().items()))
    rights = array.array("i", [out, err])
    server.sendmsg(
        [len(order).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
    )
    server.sendall(order)
    answer = server.recv(4)
    if len(answer) != 4:
        raise RuntimeError(f"no answer to: skilljuror {' '.join(words)}")
    return int.from_bytes(answer, "big", signed=True)


@cache
def _server(owner: int, settings: tuple[tuple[str, str], ...]) -> socket.socket:
    ours, theirs = socket.socketpair()
    ours.settimeout(SECONDS)
    with theirs:
        command = [sys.executable, "-m", "tests.support.cli_server", str(theirs.fileno())]
        started = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(_end, ours, started)
    return ours


def _end(ours: socket.socket, started: "subprocess.Popen[bytes]") -> None:
    ours.close()
    started.wait()


def serve(calls: socket.socket) -> None:
    """Answer calls until the other side is gone."""
    for name in IMPORTED:
        importlib.import_module(name)
    while True:
        head, rights, _, _ = calls.recvmsg(4, socket.CMSG_SPACE(8))
        if len(head) < 4:
            return
        size, order = int.from_bytes(head, "big"), b""
        while len(order) < size:
            order += calls.recv(size - len(order))
        streams = array.array("i", rights[0][2])
        child = os.fork()
        if child == 0:
            calls.close()
            _become(json.loads(order), *streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        calls.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _stream(number: int, like: Any) -> Any:
    return os.fdopen(number, "w", encoding=like.encoding, errors=like.errors, closefd=False)


def _become(order: dict[str, Any], out: int, err: int) -> None:
    status: Any = 70
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 64)
        os.environ.clear()
        os.environ.update(order["env"])
        os.chdir(order["cwd"])
        main, like = sys.modules["__main__"], find_spec("skilljuror.__main__")
        main.__spec__, main.__file__ = (
            like,
            like.origin if like else None,
        )  # what `-m skilljuror` would be
        sys.argv = ["skilljuror", *order["words"]]
        sys.stdout, sys.stderr = (
            _stream(number, like) for number, like in ((1, sys.stdout), (2, sys.stderr))
        )
        from skilljuror.cli.main import main as command

        command()
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # an interpreter that ends in order prints what the duckdb module never frees

"""A scripted OpenAI-compatible model server on the loopback device."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.support.serving import serving


class Reply(NamedTuple):
    """An answer to the letter."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    length: int | None = None
    """What is said of its length; None for the truth. Where more is promised the stream ends half-way."""
    wait: float = 0.0
    """Seconds before anything is sent."""


Script = Callable[[dict[str, Any], int], str | int | tuple[int, str] | Reply]
"""(request body, number of requests before) -> answer text, or an HTTP status to fail with, which may
carry a message, or a reply to the letter."""


def completion(text: str | None, **changes: Any) -> dict[str, Any]:
    """A chat completion as OpenAI's API has it."""
    message = {"role": "assistant", "content": text} | changes.pop("message", {})
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    choice = {"index": 0, "message": message, "finish_reason": changes.pop("finish", "stop")}
    reply = {"id": "r", "object": "chat.completion", "created": 0, "model": "scripted"}
    return {**reply, "choices": [choice], "usage": usage, **changes}


class Server(ThreadingHTTPServer):
    """Keeps the script and every request."""

    daemon_threads = True
    request_queue_size = 128
    script: Script
    requests: list[dict[str, Any]]
    lock: threading.Lock


class Handler(BaseHTTPRequestHandler):
    """POST …/chat/completions, nothing else."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.requests)
            self.server.requests.append(body)
        answer = self.server.script(body, number)
        if isinstance(answer, int):
            answer = (answer, "scripted failure")
        if isinstance(answer, Reply):
            self._send(answer)
        elif isinstance(answer, tuple):
            error = {"error": {"message": answer[1], "type": "server"}}
            self._send(Reply(json.dumps(error).encode(), answer[0]))
        else:
            self._send(Reply(json.dumps(completion(answer)).encode()))

    def _send(self, reply: Reply) -> None:
        time.sleep(reply.wait)
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(reply.length or len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)
        self.close_connection = reply.length is not None

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def model_server(script: Script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(address, requests seen) of a server that answers by `script`."""
    server = Server(("127.0.0.1", 0), Handler)
    server.script, server.requests, server.lock = script, [], threading.Lock()
    with serving(server) as address:
        yield f"{address}/v1", server.requests

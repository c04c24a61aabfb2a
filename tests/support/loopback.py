"""A scripted OpenAI-compatible model server on the loopback device."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[dict[str, Any], int], str | int | tuple[int, str]]
"""(request body, number of requests before) -> answer text, or an HTTP status to fail with, which may
carry a message."""


class Server(ThreadingHTTPServer):
    """Keeps the script and every request."""

    daemon_threads = True
    script: Script
    requests: list[dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    """POST …/chat/completions, nothing else."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.script(body, len(self.server.requests))
        self.server.requests.append(body)
        if isinstance(answer, tuple):
            return self._send(answer[0], {"error": {"message": answer[1], "type": "server"}})
        if isinstance(answer, int):
            return self._send(answer, {"error": {"message": "scripted failure", "type": "server"}})
        message = {"role": "assistant", "content": answer}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = {"id": "r", "object": "chat.completion", "created": 0, "model": body["model"]}
        return self._send(200, {**reply, "choices": [choice], "usage": usage})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def model_server(script: Script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(address, requests seen) of a server that answers by `script`."""
    server = Server(("127.0.0.1", 0), Handler)
    server.script, server.requests = script, []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server.requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

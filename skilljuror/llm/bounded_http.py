"""HTTP to model servers that are not trusted: one host, a bounded body."""

import json
from collections.abc import Iterator
from contextlib import closing

import httpx

MAX_BODY = 32 * 2**20
"""Bytes of a decoded answer that are accepted; the longest answers of models have about 1 MB."""
ENCODINGS = {"", "identity", "gzip", "deflate"}
"""Content encodings that are accepted: these expand a chunk by a bounded factor."""


class BoundedTransport(httpx.BaseTransport):
    """Sends requests as an ordinary client does, proxies of the environment included.

    An answer is refused, with a status that litellm reports, where it redirects to another origin or
    is longer than MAX_BODY when decoded.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The whole answer, decoded."""
        request.headers["Accept-Encoding"] = "gzip, deflate"
        response = self._client.send(request, stream=True, follow_redirects=False)
        with closing(response):
            target = response.next_request
            if target is not None and _origin(target.url) != _origin(request.url):
                problem = f"the server redirects to another one, {_origin(target.url)}"
                return _refusal(response.status_code, problem)
            encoding = response.headers.get("Content-Encoding", "").lower()
            if encoding not in ENCODINGS:
                return _refusal(502, f"the answer has an unsupported encoding, {encoding[:40]!r}")
            body = b"".join(_bounded(response.iter_bytes()))
        if len(body) > MAX_BODY:
            return _refusal(502, f"the answer is longer than {MAX_BODY:,} bytes")
        kept = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name not in {"content-encoding", "content-length", "transfer-encoding"}
        ]
        return httpx.Response(response.status_code, headers=kept, content=body)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _bounded(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts until they exceed MAX_BODY, the exceeding one included."""
    size = 0
    for part in parts:
        yield part
        size += len(part)
        if size > MAX_BODY:
            return


def _origin(url: httpx.URL) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return f"{url.scheme}://{url.host}:{port}"


def _refusal(status: int, problem: str) -> httpx.Response:
    body = json.dumps({"error": {"message": problem}})
    return httpx.Response(status, content=body, headers={"Content-Type": "application/json"})

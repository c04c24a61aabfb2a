"""HTTP to untrusted model servers: no redirect to another host, a bounded body."""

import json
from collections.abc import Iterator
from contextlib import closing

import httpx

MAX_BODY = 32 * 2**20
"""Maximum bytes of a decoded answer; the longest answers of models have about 1 MB."""
ENCODINGS = {"", "identity", "gzip", "deflate"}
"""Accepted content encodings: these expand a chunk by a bounded factor."""


class BoundedTransport(httpx.BaseTransport):
    """Sends requests like an ordinary client, including proxies of the environment. A redirect to
    another origin, and a decoded answer over MAX_BODY, become an error status that litellm reports.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the whole decoded answer."""
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
    """Yield parts up to and including the one that exceeds MAX_BODY."""
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

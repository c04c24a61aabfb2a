"""Access control for the review pages: host, token, cookie, origin, and response headers.

A foreign page in the same browser can send requests here, but cannot read the address token, the HttpOnly
SameSite=Strict cookie or the form token. DNS rebinding fails because the host differs.
"""

import secrets
from hmac import compare_digest

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self';"
        " frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every response. With `no-referrer` browsers would send forms with `Origin: null`."""

OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>skilljuror review</title>
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Continue to the review</a></p></html>
"""
"""A page instead of a redirect: browsers omit a Strict cookie in a redirect from another site's link."""

CLOSED = (
    "This page requires the address with a token that `skilljuror review` printed; it works once, in one"
    " browser. Use that browser, or restart `skilljuror review`; your decisions are saved.\n"
)


class Guard:
    """Requires a token on this host and port, and adds the headers.

    A token works once and is exchanged for a cookie with another secret, because other users of the
    machine can read the address in the browser's arguments.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._host = f"127.0.0.1:{port}"
        self._cookie = f"skilljuror_review_{port}"
        self._secret = secrets.token_urlsafe(32)
        self._tokens: list[str] = []

    def address(self) -> str:
        """Return a new single-use address."""
        self._tokens.append(secrets.token_urlsafe(32))
        return f"http://{self._host}/?token={self._tokens[-1]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._answer(Request(scope)) or self._app
        await answer(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """Return a refusal or the login page, or None if the request is allowed."""
        if request.headers.get("host") != self._host:
            return PlainTextResponse("Unknown host.\n", 421)
        if request.method == "GET" and request.url.path == "/" and self._takes(request):
            response = HTMLResponse(OPENED)
            response.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
            return response
        if not _same(request.cookies.get(self._cookie, ""), self._secret):
            return PlainTextResponse(CLOSED, 403)
        if request.method not in {"GET", "HEAD"} and not self._is_own(request):
            return PlainTextResponse("This form came from another site.\n", 403)
        return None

    def _is_own(self, request: Request) -> bool:
        """Whether the form came from these pages."""
        return request.headers.get("origin") == f"http://{self._host}"

    def _takes(self, request: Request) -> bool:
        """Whether the address has an unused token; uses it up."""
        given = request.query_params.get("token", "")
        unused = next((token for token in self._tokens if _same(given, token)), None)
        if unused is not None:
            self._tokens.remove(unused)
        return unused is not None


def _same(given: str, secret: str) -> bool:
    return compare_digest(given.encode(), secret.encode())

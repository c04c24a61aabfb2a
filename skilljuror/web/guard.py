"""What stands before every page: who asks, from where, and what a browser may do with the answer.

A page of a stranger that is open in the same browser can send requests here. It cannot read the
token of the address, a cookie that is HttpOnly and SameSite=Strict, or the token of a form; a name
that it points at this machine (DNS rebinding) is not the host that is served.
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
"""On every answer. Not `no-referrer`: with it browsers send forms with `Origin: null`, which says
nothing; same-origin tells other sites as little."""

OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>skilljuror review</title>
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Go on to the review</a></p></html>
"""
"""A page and no redirect: a browser keeps a Strict cookie to itself in a redirect that began at a
link of another site, such as a terminal in a browser."""

CLOSED = (
    "This page needs an address that `skilljuror review` printed, with its token, which lets one"
    " browser in, once. Use the browser that has it, or start `skilljuror review` anew: what was"
    " decided is kept.\n"
)


class Guard:
    """Lets in who has a token, on this host and port, and gives every answer the headers.

    A token is good once, for a cookie with another secret: what opens a browser has the address in its
    arguments, which other users of the machine can read.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._host = f"127.0.0.1:{port}"
        self._cookie = f"skilljuror_review_{port}"
        self._secret = secrets.token_urlsafe(32)
        self._tokens: list[str] = []

    def address(self) -> str:
        """An address that lets one browser in."""
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
        """What is answered at once; None where the page may answer."""
        if request.headers.get("host") != self._host:
            return PlainTextResponse("Another host is asked for.\n", 421)
        if request.method == "GET" and request.url.path == "/" and self._takes(request):
            response = HTMLResponse(OPENED)
            response.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
            return response
        if not _same(request.cookies.get(self._cookie, ""), self._secret):
            return PlainTextResponse(CLOSED, 403)
        if request.method not in {"GET", "HEAD"} and not self._is_own(request):
            return PlainTextResponse("A form of another page was sent here.\n", 403)
        return None

    def _is_own(self, request: Request) -> bool:
        """Whether the browser says that a form stands on a page of ours."""
        return request.headers.get("origin") == f"http://{self._host}"

    def _takes(self, request: Request) -> bool:
        """Whether the address has a token that nobody has used; now it is used."""
        given = request.query_params.get("token", "")
        unused = next((token for token in self._tokens if _same(given, token)), None)
        if unused is not None:
            self._tokens.remove(unused)
        return unused is not None


def _same(given: str, secret: str) -> bool:
    return compare_digest(given.encode(), secret.encode())

"""What stands before every page: who asks, from where, and what a browser may do with the answer.

A page of a stranger that is open in the same browser can send requests here. It cannot read the
token of the address, a cookie that is HttpOnly and SameSite=Strict, or the token of a form; a name
that it points at this machine (DNS rebinding) is not the host that is served.
"""

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
    "This page needs the address that `skilljuror review` printed, with its token; each start has"
    " a new one. What was decided is kept.\n"
)


class Guard:
    """Lets in who has the token, on this host and port, and gives every answer the headers."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._host = f"127.0.0.1:{port}"
        self._cookie = f"skilljuror_review_{port}"
        self._token = token

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
        if request.url.path == "/" and self._is_token(request.query_params.get("token")):
            response = HTMLResponse(OPENED)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return response
        if not self._is_token(request.cookies.get(self._cookie)):
            return PlainTextResponse(CLOSED, 403)
        if request.method not in {"GET", "HEAD"} and not self._is_own(request):
            return PlainTextResponse("A form of another page was sent here.\n", 403)
        return None

    def _is_own(self, request: Request) -> bool:
        """Whether the browser says that a form stands on a page of ours."""
        return request.headers.get("origin") == f"http://{self._host}"

    def _is_token(self, given: str | None) -> bool:
        return given is not None and compare_digest(given.encode(), self._token.encode())

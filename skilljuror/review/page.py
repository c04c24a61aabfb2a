"""The local page on which a person reviews: pages of the queue and of questions; and for every local page templates,
access control and serving.

A foreign page in the same browser can send requests here, but cannot read the address token, the HttpOnly
SameSite=Strict cookie or the form token. DNS rebinding fails because the host differs.
"""

import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skilljuror.base.errors import (
    QueryError,
    SkilljurorError,
    StudyError,
    TrajectoryError,
    UsageError,
)  # fmt: skip
from skilljuror.review.reviewing import (
    KINDS,
    STATES,
    Queue,
    Reviewing,
    choices,
    label_of,
    passages,
    queue_of,
    visible,
)

HERE = Path(__file__).parent
MAX_FORM = 64 * 1024
"""Maximum bytes of a form."""
SAID = {
    "undone": "Decision undone: answer again, or continue.",
    "nothing": "You have no decision to undo.",
    "done": "All questions here are decided.",
}
"""Status messages after a form."""
GONE = "This question is unknown or outdated: its build or its judge has changed. See the queue."


Links = Sequence[tuple[str, str]]
"""Address and words of the links to other pages, at the top of each."""


def review_app(reviewing: Reviewing, root: str = "", others: Links = ()) -> Starlette:
    """Return the pages of one reviewer below the path `root`, without access control: `serve` adds it."""
    pages = _Pages(reviewing, root, others)
    return Starlette(
        routes=[
            Route("/", pages.queue),
            Route("/next", pages.go_on),
            Route("/item", pages.item),
            Route("/decide", pages.decide, methods=["POST"]),
            Route("/undo", pages.undo, methods=["POST"]),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers={HTTPException: pages.refused, SkilljurorError: pages.refused},
    )


def link_to(path: str, **words: Any) -> str:
    """A URL with the non-empty parameters."""
    given = {name: word for name, word in words.items() if word}
    return f"{path}?{urlencode(given)}" if given else path


def _shown(value: Any) -> Any:
    """Spell out hidden characters in template output, except in form values, which use `|e`."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class Templates:
    """The templates of local pages; text from logs and Skills is untrusted."""

    def __init__(self, *folders: Path, **words: Any) -> None:
        """`folders` are more folders of templates; `words` are known in every template."""
        self._environment = Environment(
            loader=FileSystemLoader([HERE / "templates", *folders]), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, finalize=_shown,
        )  # fmt: skip
        self._environment.globals |= {
            "link": link_to, "others": (), "here": "", "to": "", "back": "Back", **words,
        }  # fmt: skip

    def page(self, name: str, status: int = 200, **words: Any) -> Response:
        text = self._environment.get_template(name).render(**words)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Show an error page."""
        if isinstance(error, HTTPException):
            status, message = error.status_code, error.detail
        else:
            status = 404 if isinstance(error, QueryError | StudyError | TrajectoryError) else 400
            status, message = status if isinstance(error, UsageError) else 503, str(error)
        title = HTTPStatus(status).phrase
        return self.page("message.html.j2", status, title=title, message=message)


class _Pages:
    """Route handlers, which run one at a time in one event loop."""

    def __init__(self, reviewing: Reviewing, root: str, others: Links) -> None:
        self._reviewing = reviewing
        self._desk = reviewing.desk
        self._root = root
        self._templates = Templates(
            site="review", reviewing=reviewing, notice=reviewing.notice, link=self._link, label_of=label_of,
            kinds=KINDS, states=STATES, passages=passages, others=others, here=f"{root}/",
            back="Back to the queue",
        )  # fmt: skip
        self._page, self.refused = self._templates.page, self._templates.refused

    def _link(self, path: str, **words: str) -> str:
        return link_to(self._root + path, **words)

    def _queue(self, words: Mapping[str, str]) -> Queue:
        who = self._reviewing
        return queue_of(self._desk.queue(who.reviewer, who.blind), words.get("kind", ""))

    async def queue(self, request: Request) -> Response:
        """List questions by kind and state, with the reviewers' agreement."""
        words = request.query_params
        everything = self._queue({})
        queue = queue_of(everything.items, words.get("kind", ""))
        state = words.get("state", "") if words.get("state") in STATES else ""
        listed = [
            (n, item)
            for n, item in enumerate(queue.items, 1)
            if state in {"", STATES[item.decided is not None]}
        ]
        return self._page(
            "queue.html.j2",
            queue=queue,
            state=state,
            listed=listed,
            counts={kind: len(queue_of(everything.items, kind).items) for kind in ("", *KINDS)},
            agreements=() if self._reviewing.blind else self._reviewing.agreements(),
            said=SAID.get(words.get("said", ""), ""),
        )

    async def go_on(self, request: Request) -> Response:
        """Redirect to the next unanswered question."""
        queue = self._queue(request.query_params)
        return self._next(queue, queue.place(request.query_params.get("after", "")))

    def _next(self, queue: Queue, place: int | None) -> Response:
        item = queue.next_open(-1 if place is None else place)
        if item is None:
            return RedirectResponse(self._link("/", kind=queue.kind, said="done"), 303)
        return RedirectResponse(self._link("/item", id=item.id, kind=queue.kind), 303)

    async def item(self, request: Request) -> Response:
        """Show one question."""
        words = request.query_params
        return self._item(words, SAID.get(words.get("said", ""), ""))

    def _item(
        self, words: Mapping[str, str], said: str, wrong: str = "", status: int = 200
    ) -> Response:
        queue = self._queue(words)
        place = queue.place(words.get("id", ""))
        if place is None:
            return self._page(
                "message.html.j2",
                404,
                title="Unknown question",
                message=GONE + " Your answer was not saved." * bool(wrong),
            )
        item = queue.items[place]
        return self._page(
            "item.html.j2",
            status,
            queue=queue,
            place=place,
            item=item,
            choices=choices(item),
            before=queue.items[place - 1] if place else None,
            after=queue.items[place + 1] if place + 1 < len(queue.items) else None,
            reason=words.get("reason", ""),
            said=said,
            wrong=wrong,
        )

    async def decide(self, request: Request) -> Response:
        """Record an answer and show the next question, or the same one with an error."""
        form = await self._form(request)
        item, answer, reason = (form.get(name, "") for name in ("id", "answer", "reason"))
        who = self._reviewing
        try:
            self._desk.decide(who.reviewer, item, answer, reason, who.blind)
        except UsageError as error:
            return self._item(form, "", error.message, 400)
        queue = self._queue(form)
        return self._next(queue, queue.place(item))

    async def undo(self, request: Request) -> Response:
        """Undo the last decision and show its question."""
        await self._form(request)
        item = self._desk.undo(self._reviewing.reviewer)
        if item is None:
            return RedirectResponse(self._link("/", said="nothing"), 303)
        queue = self._queue({})
        if (place := queue.place(item)) is None:
            return RedirectResponse(self._link("/", said="undone"), 303)
        return RedirectResponse(self._link("/item", id=queue.items[place].id, said="undone"), 303)

    async def _form(self, request: Request) -> dict[str, str]:
        """Read a form and check its token."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM:
                raise HTTPException(413, "The form is too long; shorten the reason.")
        fields = parse_qs(body.decode("utf-8", "replace"))
        form = {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}
        if not compare_digest(form.get("token", "").encode(), self._reviewing.form_token.encode()):
            raise HTTPException(403, "The form is outdated; open the question again.")
        return form


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
"""Headers of every response that has no own. With `no-referrer` browsers would send forms with `Origin: null`."""

OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>skilljuror</title>
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Continue</a></p></html>
"""
"""A page instead of a redirect: browsers omit a Strict cookie in a redirect from another site's link."""

CLOSED = (
    "This page requires the address with a token that `skilljuror review` or `view` printed; it works once, in"
    " one browser. Use that browser, or restart the command; your decisions are saved.\n"
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
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
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
        own = request.headers.get("origin") == f"http://{self._host}"
        if request.method not in {"GET", "HEAD"} and not own:
            return PlainTextResponse("This form came from another site.\n", 403)
        return None

    def _takes(self, request: Request) -> bool:
        """Whether the address has an unused token; uses it up."""
        given = request.query_params.get("token", "")
        unused = next((token for token in self._tokens if _same(given, token)), None)
        if unused is not None:
            self._tokens.remove(unused)
        return unused is not None


def _same(given: str, secret: str) -> bool:
    return compare_digest(given.encode(), secret.encode())


HOST = "127.0.0.1"


def serve(app: ASGIApp, announce: Callable[[Callable[[], str]], None], port: int = 0) -> None:
    """Serve pages to one person until Ctrl-C or SIGTERM (KeyboardInterrupt).

    `announce` is called once the port is open, with a function that creates single-use addresses. Port
    0 selects a free port. Raises UsageError for an unavailable port.
    """
    import uvicorn

    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(
            f"port {port} is unavailable ({error}); choose another, or omit --port for a free one",
            field="--port",
        ) from error
    with listener:
        guard = Guard(app, listener.getsockname()[1])
        config = uvicorn.Config(
            guard, log_config=None, access_log=False,
            server_header=False, proxy_headers=False,
            lifespan="off", ws="none", timeout_graceful_shutdown=2,
        )  # fmt: skip
        announce(guard.address)
        uvicorn.Server(config).run(sockets=[listener])


def open_browser(address: str) -> bool:
    """Open an address in the desktop's browser; return False without a desktop. Terminal browsers are
    not used, because they would take over the terminal."""
    desktop = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not any(map(os.environ.get, desktop)):
        return False
    Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True

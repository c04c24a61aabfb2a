"""The review pages: queue, question, and form results."""

from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from skilljuror.base.errors import SkilljurorError, UsageError
from skilljuror.review.web.passages import passages, visible
from skilljuror.review.web.questions import (
    KINDS,
    STATES,
    Queue,
    Reviewing,
    choices,
    label_of,
    queue_of,
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


def review_app(reviewing: Reviewing) -> Starlette:
    """Return the pages of one reviewer, without access control: wrap them in a `Guard`."""
    pages = _Pages(reviewing)
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


def _link(path: str, **words: str) -> str:
    """A URL with the non-empty parameters."""
    given = {name: word for name, word in words.items() if word}
    return f"{path}?{urlencode(given)}" if given else path


def _shown(value: Any) -> Any:
    """Spell out hidden characters in template output, except in form values, which use `|e`."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _templates(reviewing: Reviewing) -> Environment:
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    templates.globals |= {
        "reviewing": reviewing, "link": _link, "label_of": label_of, "kinds": KINDS,
        "states": STATES, "passages": passages,
    }  # fmt: skip
    return templates


class _Pages:
    """Route handlers, which run one at a time in one event loop."""

    def __init__(self, reviewing: Reviewing) -> None:
        self._reviewing = reviewing
        self._desk = reviewing.desk
        self._templates = _templates(reviewing)

    def _page(self, name: str, status: int = 200, **words: Any) -> Response:
        text = self._templates.get_template(name).render(**words)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

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
            return RedirectResponse(_link("/", kind=queue.kind, said="done"), 303)
        return RedirectResponse(_link("/item", id=item.id, kind=queue.kind), 303)

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
            return RedirectResponse(_link("/", said="nothing"), 303)
        queue = self._queue({})
        if (place := queue.place(item)) is None:
            return RedirectResponse(_link("/", said="undone"), 303)
        return RedirectResponse(_link("/item", id=queue.items[place].id, said="undone"), 303)

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

    async def refused(self, request: Request, error: Exception) -> Response:
        """Show an error page."""
        if isinstance(error, HTTPException):
            status, message = error.status_code, error.detail
        else:
            status, message = (400 if isinstance(error, UsageError) else 503), str(error)
        title = HTTPStatus(status).phrase
        return self._page("message.html.j2", status, title=title, message=message)

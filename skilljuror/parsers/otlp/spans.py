"""Spans of OTLP JSON with plain attributes, and the run and agent that each belongs to."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from skilljuror.parsers.raw_logs.coercion import as_count, as_dict, as_list, as_str, json_of, nested
from skilljuror.parsers.raw_logs.json_document import JsonDocument
from skilljuror.parsers.raw_logs.jsonl import JsonLines

_DETAILS = "gen_ai.client.inference.operation.details"
"""Event of a span that has what its attributes would have."""
_DEEPEST = 64
MODEL_CALLS = frozenset({"chat", "generate_content", "text_completion"})


class Span(Struct, eq=False):
    """One span."""

    line: int
    trace: str
    id: str
    parent: str | None
    name: str
    start: float | None
    """Seconds since the epoch."""
    end: float | None
    failed: bool
    message: str
    """What its status says of a failure."""
    given: dict[str, Any]
    """Its attributes, and those of its event with the details of a model call."""
    service: dict[str, Any]
    """Attributes of what sent it."""

    @property
    def key(self) -> tuple[str, str]:
        return self.trace, self.id

    @property
    def operation(self) -> str | None:
        return as_str(self.given.get("gen_ai.operation.name"))

    def text(self, *names: str) -> str | None:
        """The first of these attributes that is a string."""
        return next((text for name in names if (text := as_str(self.given.get(name)))), None)

    def structure(self, name: str) -> Any:
        """An attribute that is structured, or the JSON text of a structure."""
        value = self.given.get(name)
        return json_of(value) if isinstance(value, str) else value


def spans_of(path: Path, lines: JsonLines) -> list[Span]:
    """Spans of a file in the order of their starts: requests on lines, or one document, in which a
    place is the number of the span."""
    records = [(line, one) for line, one in lines if "resourceSpans" in one]
    if len(records) > 1:
        found = [one for line, record in records for one in _spans(record, lambda line=line: line)]
    else:
        document = JsonDocument(path)
        counted = iter(range(1, 1 << 60))
        found = list(_spans(as_dict(document.value), lambda: next(counted)))
        lines.warnings.clear()
        lines.complete = document.complete
    latest = {one.key: one for one in found}  # a request sent twice
    return sorted(latest.values(), key=lambda one: (one.start or 0, one.line))


def _spans(record: dict[str, Any], place: Any) -> Iterator[Span]:
    for resource in map(as_dict, as_list(record.get("resourceSpans"))):
        service = _attributes(nested(resource, "resource", "attributes"))
        for scope in map(as_dict, as_list(resource.get("scopeSpans"))):
            for span in map(as_dict, as_list(scope.get("spans"))):
                yield _span(span, service, place())


def _span(span: dict[str, Any], service: dict[str, Any], line: int) -> Span:
    given = _attributes(span.get("attributes"))
    for event in map(as_dict, as_list(span.get("events"))):
        if event.get("name") == _DETAILS:
            given |= _attributes(event.get("attributes"))
    code = nested(span, "status", "code")
    return Span(
        line=line, trace=as_str(span.get("traceId")) or "", id=as_str(span.get("spanId")) or "",
        parent=as_str(span.get("parentSpanId")), name=as_str(span.get("name")) or "",
        start=_seconds(span.get("startTimeUnixNano")), end=_seconds(span.get("endTimeUnixNano")),
        failed=code in {2, "STATUS_CODE_ERROR"} or "error.type" in given,
        message=as_str(nested(span, "status", "message")) or as_str(given.get("error.type")) or "",
        given=given, service=service,
    )  # fmt: skip


def _seconds(value: Any) -> float | None:
    """Nanoseconds, which JSON has as text."""
    text = value if isinstance(value, str) else str(as_count(value))
    return int(text) / 1e9 if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _attributes(given: Any) -> dict[str, Any]:
    pairs = [(as_str(one.get("key")), one.get("value")) for one in map(as_dict, as_list(given))]
    return {key: _plain(value, 0) for key, value in pairs if key}


def _plain(value: Any, depth: int) -> Any:
    """The value of an AnyValue."""
    for kind, inner in as_dict(value).items() if depth < _DEEPEST else ():
        if kind == "intValue":
            digits = inner.removeprefix("-") if isinstance(inner, str) else ""
            return int(inner) if digits.isdecimal() and len(digits) < 20 else inner
        if kind == "arrayValue":
            return [_plain(one, depth + 1) for one in as_list(nested(inner, "values"))]
        if kind == "kvlistValue":
            pairs = map(as_dict, as_list(nested(inner, "values")))
            return {str(one.get("key")): _plain(one.get("value"), depth + 1) for one in pairs}
        if kind in {"stringValue", "boolValue", "doubleValue"}:
            return inner
    return None


class Place(NamedTuple):
    """Where a span is among the spans of its file."""

    conversation: str | None = None
    """The conversation of its outermost ancestor with one: a sub-agent may have its own."""
    agent: str | None = None
    """Id of the nearest invocation of an agent that it is part of."""
    agents: int = 0
    """Number of such invocations, one inside the other."""
    tool: Span | None = None
    """The nearest call of a tool above it."""


class Family:
    """The places of the spans of a file."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = {(one.trace, one.id): one for one in spans}
        self._places: dict[tuple[str, str], Place] = {}
        self._conversations: dict[str, str] = {}
        for one in self._spans.values():
            if conversation := one.text("gen_ai.conversation.id"):
                self._conversations.setdefault(one.trace, conversation)

    def place(self, span: Span) -> Place:
        """The place of a span. A span above itself counts as one without a parent."""
        path: dict[tuple[str, str], Span] = {}
        one: Span | None = span
        while one is not None and one.key not in self._places and one.key not in path:
            path[one.key] = one
            one = self._spans.get((one.trace, one.parent or ""))
        above = self._places.get(one.key, Place()) if one else Place()
        for key, below in reversed(path.items()):
            above = self._places[key] = _below(above, one, below)
            one = below
        return self._places[span.key]

    def session(self, span: Span) -> str:
        """Its conversation, else one of its trace, else the trace."""
        place = self.place(span).conversation
        return place or self._conversations.get(span.trace) or span.trace


def _below(above: Place, parent: Span | None, span: Span) -> Place:
    """The place of a span under its parent, whose place is `above`."""
    invokes = span.operation == "invoke_agent"
    calls = parent is not None and parent.operation == "execute_tool"
    return Place(
        above.conversation or span.text("gen_ai.conversation.id"),
        span.id if invokes else above.agent,
        above.agents + invokes,
        parent if calls else above.tool,
    )

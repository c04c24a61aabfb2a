"""Outages of a model's provider as they look on the wire, for the two APIs that most agents ask."""

import json
from typing import Any

from tests.support.model_server import Fault

HTML = b"<html><body>Service temporarily unavailable</body></html>"
NO_CREDIT = "Your credit balance is too low to access the API. Please go to Plans & Billing."
TOO_LONG = {
    "claude-code": "prompt is too long: 250000 tokens > 200000 maximum",
    "codex": "Your input exceeds the context window of this model.",
}
RECOVERED = "two refusals, then an answer"
OWN_ENDS = ("empty answer", "blank answer", "prompt too long")
"""After an answer, these are ends of the agent's own."""


def faults_of(agent: str) -> dict[str, Fault]:
    """Name -> the fault, in the words of the API that `agent` asks."""
    refused = ("invalid_request_error", "context_length_exceeded")
    return {
        "rate limit": _status(agent, 429, "rate_limit_error", "Rate limit reached"),
        "quota": _quota(agent),
        "key": _status(agent, 401, "authentication_error", "invalid x-api-key"),
        "account": _status(agent, 403, "permission_error", "Your organization has been disabled"),
        "no such model": _status(agent, 404, "not_found_error", "model: scripted"),
        "server error": _status(agent, 500, "api_error", "Internal server error"),
        "overload": _status(agent, 529, "overloaded_error", "Overloaded"),
        "gateway page": Fault(503, body=HTML, kind="text/html"),
        "200 with an error": _status(agent, 200, "overloaded_error", "Overloaded"),
        "200 with a page": Fault(200, body=HTML, kind="text/html"),
        "200 with nothing": Fault(200, body=b"", kind="text/event-stream"),
        "error in the stream": Fault(529, spoil=_error_event),
        "stream cut": Fault(529, spoil=_half),
        "no reply": Fault(None),
        "empty answer": Fault(529, spoil=_without_content),
        "blank answer": Fault(529, spoil=_blank),
        RECOVERED: Fault(529, times=2),
        "prompt too long": _status(agent, 400, *refused, TOO_LONG[agent]),
    }


def _status(agent: str, status: int, kind: str, *words: str) -> Fault:
    *code, message = words
    error = {"type": kind, "message": message}
    told: dict[str, Any] = {"type": "error", "error": error}
    if agent == "codex":
        told = {"error": {**error, "code": next(iter(code), kind), "param": None}}
    return Fault(status, body=json.dumps(told).encode())


def _quota(agent: str) -> Fault:
    if agent == "codex":
        return _status(agent, 429, "insufficient_quota", "You exceeded your current quota.")
    return _status(agent, 400, "invalid_request_error", NO_CREDIT)


def _error_event(events: list[Any]) -> list[Any]:
    first = events[0]
    if first["type"] == "message_start":
        return [
            first,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ]
    failed = {"code": "server_error", "message": "The server had an error"}
    answer = first["response"] | {"status": "failed", "error": failed}
    return [first, {"type": "response.failed", "response": answer}]


def _half(events: list[Any]) -> list[Any]:
    return events[: max(1, len(events) // 2 - 1)]


def _without_content(events: list[Any]) -> list[Any]:
    """An answer that is whole and says nothing."""
    kept = [
        one for one in events if "content_block" not in one["type"] and "item" not in one["type"]
    ]
    for one in kept:
        for key, part in (("response", "output"), ("message", "content")):
            if key in one:
                one[key] = one[key] | {part: []}
        if one["type"] == "message_delta":
            one["delta"] = {"stop_reason": "end_turn", "stop_sequence": None}
    return kept


def _blank(events: list[Any]) -> list[Any]:
    """An answer that is whole and says a blank."""
    first, *rest = _without_content(events)
    item = {
        "type": "message", "role": "assistant", "id": "msg_0", "status": "completed",
        "content": [{"type": "output_text", "text": "", "annotations": []}],
    }  # fmt: skip
    said: list[Any] = [
        {"type": f"response.output_item.{what}", "output_index": 0, "item": item}
        for what in ("added", "done")
    ]
    if first["type"] == "message_start":
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": ""}
        said = [
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
        ]
    return [first, *said, *rest]

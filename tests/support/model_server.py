"""A scripted model on the loopback device, for real agents: it speaks the four APIs that they ask.

OpenAI Responses and Chat Completions, Anthropic Messages, Gemini; whole or as a stream of events. A
script is a list of steps. The server remembers nothing: which step comes next stands in the ids of the
calls that a request answers, so that a request sent twice gets one answer.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.support.serving import serving

Json = dict[str, Any]
_STREAM = "text/event-stream"
_CALL = re.compile(r"call_s(\d\d)_\d+")
_SHELL = {
    "codex": ("exec_command", "cmd"),
    "claude-code": ("Bash", "command"),
    "gemini-cli": ("run_shell_command", "command"),
    "mini-swe-agent": ("bash", "command"),
}


class Step(NamedTuple):
    """One answer of the model."""

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    """(tool, arguments)."""


Scripts = Mapping[str, Sequence[Step]]
"""Words that a request holds -> what is played then; the first that fits, "" fits always."""


def shell(agent: str, command: str, text: str = "") -> Step:
    """A step that runs a command with the agent's own tool."""
    tool, argument = _SHELL[agent]
    more = {"description": "run it"} if agent in {"claude-code", "gemini-cli"} else {}
    return Step(text, ((tool, {argument: command, **more}),))


class Usage(NamedTuple):
    """Tokens of one answer: the prompt grows, and what was asked before is cached."""

    prompt: int
    cached: int
    output: int


def usage(turn: int) -> Usage:
    """What the answer number `turn`, from 0, says of its tokens."""
    return Usage(9_000 + 1_000 * turn, 8_000 + 1_000 * turn if turn else 0, 100 + turn)


class Request(NamedTuple):
    """What an agent asked."""

    path: str
    body: Json
    key: str
    """The key that it showed; "" for none."""


class Fault(NamedTuple):
    """When the server does not answer, and what it does then."""

    status: int | None
    """Status that it sends; None: nothing, the connection stays open."""
    after: int = 0
    """Number of the turn, from 0, from which on it fails."""
    times: int = 1_000_000
    """Requests that fail before it answers again."""
    body: bytes = b'{"error": {"message": "scripted fault", "type": "fault"}}'
    kind: str = "application/json"
    """Content type of `body`."""
    spoil: Callable[[list[Any]], list[Any]] | None = None
    """Makes the events of a broken stream of those of the answer; a request for no stream gets `body`."""


Faults = Mapping[str, Fault]
"""Words that a request holds -> its fault."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    scripts: Scripts
    requests: list[Request]
    faults: Faults
    failed: Counter[str]
    closing: threading.Event


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        self.server.requests.append(Request(path, body, self._key()))
        for suffix, reply in _APIS.items():
            if suffix in path:
                made = reply(body, *self._next(body))
                if not self._fails(body, made):
                    self._send(made, "stream" in path)
                return
        self.send_error(404)

    def _fails(self, body: Json, made: "_Reply") -> bool:
        """Whether this request gets no whole answer, by the fault that its words have."""
        text, faults, failed = json.dumps(body), self.server.faults, self.server.failed
        words = next((one for one in faults if one in text), None)
        if words is None or failed[words] >= faults[words].times:
            return False
        fault = faults[words]
        if self._next(body)[1] < fault.after:
            return False
        failed[words] += 1
        if fault.status is None:
            self.server.closing.wait()
            self.close_connection = True
        elif fault.spoil and made.streamed:
            self._send_data(200, _STREAM, b"".join(map(_event, fault.spoil(made.events))))
        else:
            self._send_data(fault.status, fault.kind, fault.body)
        return True

    def _next(self, body: Json) -> tuple[Step, int]:
        text = json.dumps(body)
        turns = [int(turn) for turn in _CALL.findall(json.dumps(_answers(body)))]
        turn = max(turns) + 1 if turns else 0
        script = next(steps for words, steps in self.server.scripts.items() if words in text)
        side = not body.get("tools")  # a title, a summary
        return (Step("done") if side or turn >= len(script) else script[turn]), turn

    def _key(self) -> str:
        shown = [
            self.headers.get(name) for name in ("x-api-key", "x-goog-api-key", "Authorization")
        ]
        return next((key.removeprefix("Bearer ") for key in shown if key), "")

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, reply: "_Reply", streamed: bool) -> None:
        if streamed or reply.streamed:
            self._send_data(200, _STREAM, b"".join(map(_event, reply.events)))
        else:
            self._send_data(200, "application/json", _json(reply.whole))

    def _send_data(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Quiet."""


class _Reply(NamedTuple):
    whole: Json
    events: list[Json | str]
    streamed: bool


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _event(value: Json | str) -> bytes:
    if isinstance(value, str):
        return f"data: {value}\n\n".encode()
    name = f"event: {value['type']}\n" if "type" in value else ""
    return name.encode() + b"data: " + _json(value) + b"\n\n"


def _answers(body: Json) -> list[Any]:
    """What of a request answers calls."""
    items = [*body.get("input", []), *body.get("messages", []), *body.get("contents", [])]
    parts = [part for item in items for part in (item.get("content"), item.get("parts"))]
    nested = [one for part in parts if isinstance(part, list) for one in part]
    found: list[Any] = []
    for one in (*items, *nested):
        if isinstance(one, dict):
            found += [one.get("call_id") if "output" in one else None, one.get("tool_call_id")]
            found += [one.get("tool_use_id"), (one.get("functionResponse") or {}).get("id")]
    return found


def _calls(step: Step, turn: int) -> list[tuple[str, str, Json]]:
    return [(f"call_s{turn:02}_{n}", tool, given) for n, (tool, given) in enumerate(step.calls)]


def _responses(body: Json, step: Step, turn: int) -> _Reply:
    used = usage(turn)
    text = {"type": "output_text", "text": step.text, "annotations": []}
    items: list[Json] = [{
        "type": "message", "role": "assistant", "id": f"msg_{turn}", "status": "completed",
        "content": [text],
    }]  # fmt: skip
    items += [
        {
            "type": "function_call", "id": f"fc_{call}", "call_id": call, "name": tool,
            "arguments": json.dumps(given), "status": "completed",
        }
        for call, tool, given in _calls(step, turn)
    ]  # fmt: skip
    whole = {
        "id": f"resp_{turn}", "object": "response", "created_at": 0, "status": "completed",
        "model": body.get("model"), "output": items, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": used.prompt, "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.output, "output_tokens_details": {"reasoning_tokens": 10},
            "total_tokens": used.prompt + used.output,
        },
    }  # fmt: skip
    begun = whole | {"status": "in_progress", "output": []}
    events: list[Json | str] = [{"type": "response.created", "response": begun}]
    for at, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": at, "item": item})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return _Reply(whole, events, bool(body.get("stream")))


def _chat(body: Json, step: Step, turn: int) -> _Reply:
    used = usage(turn)
    calls = [
        {"id": call, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        for call, tool, given in _calls(step, turn)
    ]
    message: Json = {"role": "assistant", "content": step.text} | (
        {"tool_calls": calls} if calls else {}
    )
    finish = "tool_calls" if calls else "stop"
    head = {"id": f"chat_{turn}", "created": 0, "model": body.get("model")}
    tokens = {
        "prompt_tokens": used.prompt, "completion_tokens": used.output,
        "total_tokens": used.prompt + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached},
    }  # fmt: skip
    choice = {"index": 0, "message": message, "finish_reason": finish}
    delta = message | {"tool_calls": [{"index": n} | call for n, call in enumerate(calls)]}
    part = head | {"object": "chat.completion.chunk"}
    events: list[Json | str] = [
        part | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        part | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": tokens},
        "[DONE]",
    ]
    whole = head | {"object": "chat.completion", "choices": [choice], "usage": tokens}
    return _Reply(whole, events, bool(body.get("stream")))


def _messages(body: Json, step: Step, turn: int) -> _Reply:
    used = usage(turn)
    text: list[Json] = [{"type": "text", "text": step.text}] if step.text else []
    asked: list[Json] = [
        {"type": "tool_use", "id": call, "name": tool, "input": given}
        for call, tool, given in _calls(step, turn)
    ]
    tokens = {
        "input_tokens": 3, "cache_creation_input_tokens": used.prompt - used.cached - 3,
        "cache_read_input_tokens": used.cached, "output_tokens": used.output,
    }  # fmt: skip
    stop = "tool_use" if asked else "end_turn"
    whole = {
        "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": body.get("model"),
        "content": [*text, *asked], "stop_reason": stop, "stop_sequence": None, "usage": tokens,
    }  # fmt: skip
    begun = whole | {"content": [], "stop_reason": None}
    events: list[Json | str] = [{"type": "message_start", "message": begun}]
    for at, block in enumerate([*text, *asked]):
        is_text = block["type"] == "text"
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        nothing: Json = {"text": ""} if is_text else {"input": {}}
        events.append({
            "type": "content_block_start",
            "index": at,
            "content_block": block | nothing,
        })
        events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    ended = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": tokens})
    events.append({"type": "message_stop"})
    return _Reply(whole, events, bool(body.get("stream")))


def _counted(body: Json, step: Step, turn: int) -> _Reply:
    return _Reply({"input_tokens": 1_000, "totalTokens": 1_000}, [], False)


def _gemini(body: Json, step: Step, turn: int) -> _Reply:
    used = usage(turn)
    parts: list[Json] = [{"text": step.text}] if step.text else []
    parts += [
        {"functionCall": {"id": call, "name": tool, "args": given}, "thoughtSignature": "c2ln"}
        for call, tool, given in _calls(step, turn)
    ]
    content = {"role": "model", "parts": parts}
    whole = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": used.prompt, "cachedContentTokenCount": used.cached,
            "candidatesTokenCount": used.output, "totalTokenCount": used.prompt + used.output,
        },
        "modelVersion": "scripted", "responseId": f"r{turn}",
    }  # fmt: skip
    return _Reply(whole, [whole], False)


_APIS = {
    "/responses": _responses,
    "/chat/completions": _chat,
    "/messages/count_tokens": _counted,
    "/messages": _messages,
    ":countTokens": _counted,
    "enerateContent": _gemini,
}
"""Part of a path -> what answers there."""


@contextmanager
def model_server(
    scripts: Scripts, fault: Fault | Faults | None = None, port: int = 0
) -> Iterator[tuple[str, list[Request]]]:
    """(address, requests seen) of a model that plays scripts, and fails as `fault` says: always, or where a
    request holds its words."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.scripts, server.requests = scripts, []
    server.faults = {"": fault} if isinstance(fault, Fault) else fault or {}
    server.failed, server.closing = Counter(), threading.Event()
    with serving(server) as address:
        try:
            yield address, server.requests
        finally:
            server.closing.set()

"""Copilot CLI `events.jsonl`."""

import re
from collections import Counter
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Usage
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    strip_line_numbers,
    usage_of,
)
from skilljuror.logs.base import Source
from skilljuror.logs.records import (
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_str,
    parse_head,
    text_of,
)

_TRAILER = re.compile(r"\n?<(?:shellId: \w+ completed|exited) with exit code (-?\d{1,9})>\s*$")
_RUNNING = re.compile(r"<command with shellId: (\w+) is still running")
_BOOKKEEPING = ("hook.", "permission.", "assistant.turn_")
_CONTEXT = re.compile(
    r"<skill-context name=\"(?P<name>[^\"\n]{1,200})\">\n?(?P<text>.*?)(?:\n?</skill-context>|\Z)",
    re.DOTALL,
)
_PREFIX = re.compile(
    r"\s*Base directory for this skill: (?P<base>[^\n]{1,1000})\n+"
    r"(?:Related files \(use view tool to read\):\n(?:[ \t]+- [^\n]*\n)*\n*)?"
)
_SLASH = re.compile(r"\s*/(?P<name>[\w:.-]{1,200})(?=\s|\Z)")


def _is_start(record: dict[str, Any]) -> bool:
    return record.get("type") == "session.start" and as_str(record, "data", "sessionId") is not None


class _Reader(RecordReader):
    """Reads the data that records wrap.

    The records of one activation of a Skill are merged: `skill.invoked` with the body, and a user
    message with the same body in `<skill-context>`, in either order.
    """

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._waiting: list[CallBuilder] = []
        """Skill calls without a body so far."""
        self._ahead: Counter[str] = Counter()
        """Skill -> activations seen only as a record (above 0) or only as text (below 0)."""
        self._bodies: dict[str, str] = {}
        """Skill -> its body, which a repeated activation omits."""
        self._typed: tuple[int, str] | None = None
        """(line, Skill) of the latest slash command."""

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record, and whether it ends or interrupts the session; hooks, permissions and
        turn boundaries are only counted."""
        kind = str(record.get("type"))
        if kind.startswith(_BOOKKEEPING):
            self.run.skip(kind)
            return
        self.ended = kind in ("session.shutdown", "abort")
        self.run.at(line, as_epoch(record, "timestamp"))
        self.take(kind, as_dict(record, "data"))

    def on_session_start(self, data: dict[str, Any]) -> None:
        if self.session is None:
            self.session = as_str(data, "sessionId")
            self.agent_version = as_str(data, "copilotVersion")
            self.cwd = as_str(data, "context", "cwd")
        self.model = self.model or as_str(data, "selectedModel")

    def on_session_model_change(self, data: dict[str, Any]) -> None:
        self.model = self.model or as_str(data, "newModel")

    def on_session_shutdown(self, data: dict[str, Any]) -> None:
        for model in as_dict(data, "modelMetrics").values():
            self.totals.append(usage_of("copilot", as_dict(model, "usage")))

    def on_system_message(self, data: dict[str, Any]) -> None:
        text = text_of(data, "content")
        listing = self.run.add_available_skills(text)
        self.run.add_message(MAIN, "skill_listing" if listing else "system", text)

    def on_system_notification(self, data: dict[str, Any]) -> None:
        self.run.add_message(MAIN, "other", text_of(data, "content"))
        command = self.run.running.get(str(as_dict(data, "kind").get("shellId")))
        code = as_count(data, "kind", "exitCode")
        if command is not None and code is not None:
            command.end_with(code)

    def on_user_message(self, data: dict[str, Any]) -> None:
        """Read a prompt, without the Skills that wrap it."""
        typed = text_of(data, "content")
        text = as_str(data, "transformedContent") or typed
        if slash := _SLASH.match(typed):
            self._typed = (self.run.line, slash["name"])
        if "<skill-context name=" not in text:
            self.run.add_message(MAIN, "prompt", text)
            return
        for match in _CONTEXT.finditer(text):
            name, body = match["name"], match["text"]
            self._ahead[name] -= 1
            if self._ahead[name] < 0:
                prefix = _PREFIX.match(body)
                base = prefix["base"].strip() if prefix else None
                self._add_body(name, body[prefix.end() :] if prefix else body, base)
        if typed.strip() and "<skill-context name=" not in typed:
            self.run.add_message(MAIN, "prompt", typed)

    def on_skill_invoked(self, data: dict[str, Any]) -> None:
        """Read an activation; without a body its text follows later."""
        name = as_str(data, "name") or as_str(data, "skillName")
        if name is None:
            return
        text = as_str(data, "content") or self._bodies.get(name)
        if self._ahead[name] < 0:
            self._ahead[name] += 1
        elif text:
            self._ahead[name] += 1
            path = as_str(data, "path") or ""
            self._add_body(name, text, path.rpartition("/")[0] or None)

    on_skill_invoked_ref = on_skill_invoked

    def _add_body(self, name: str, text: str, base: str | None) -> None:
        """Add a body with the last waiting call of its name, else the slash command behind it."""
        self._bodies[name] = text
        tail = _tail(name)
        waiting = [call for call in self._waiting if _tail(call.fields.get("skill") or "") == tail]
        call = waiting[-1] if waiting else None
        slash = (
            self._typed if call is None and self._typed and _tail(self._typed[1]) == tail else None
        )
        if call is not None:
            self._waiting.remove(call)
        if slash is not None:
            self._typed = None
        if base and base.rpartition("/")[2] == tail:
            self.run.add_skill_root(base.rpartition("/")[0])
        self.run.add_message(
            MAIN, "skill_body", text, skill=name, path=base,
            call_id=call.call_id if call else None, command_line=slash[0] if slash else None,
        )  # fmt: skip

    def on_assistant_message(self, data: dict[str, Any]) -> None:
        step = self.run.step_of(MAIN, as_str(data, "messageId"))
        step.model = as_str(data, "model")
        self.model = self.model or step.model
        step.usage = Usage(output=as_count(data, "outputTokens"))
        text, thought = text_of(data, "content"), as_str(data, "reasoningText")
        if text not in step.texts:
            step.say(text)
        if thought not in step.reasoning:
            step.say(thought, thought=True)
        for given in as_dicts(data, "toolRequests"):
            self._call(step, given.get("toolCallId"), given.get("name"), given)

    def _call(self, step: StepBuilder, key: Any, name: Any, given: dict[str, Any]) -> None:
        if self.run.find_call(key) is None:
            arguments = as_dict(given, "arguments")
            call = self.run.add_call(step, as_str(key), as_str(name), arguments)
            if call.action == "skill":
                self._waiting.append(call)

    def on_tool_execution_start(self, data: dict[str, Any]) -> None:
        """Read a copy of a tool request; it is a call only if no request was logged."""
        if self.run.steps:
            step = self.run.steps[-1]
            self._call(step, data.get("toolCallId"), data.get("toolName"), data)

    def on_tool_execution_complete(self, data: dict[str, Any]) -> None:
        call = self.run.answered(data.get("toolCallId"), "tool.execution_complete")
        if data.get("success") is not True:
            call.result = self.run.result(text_of(data, "error", "message"), ok=False)
            return
        text = text_of(data, "result", "content")
        call.result = self._result(call, text)
        running = _RUNNING.match(text)
        if running and call.action == "shell":
            self.run.running[running[1]] = call
        self.run.end_polled(call, call.result.exit_code)

    def _result(self, call: CallBuilder, text: str) -> ToolResult:
        if call.action in {"shell", "poll"}:
            trailer = _TRAILER.search(text)
            if trailer is None:
                return self.run.result(text)
            return self.run.result(text, exit_code=int(trailer[1]), clean=text[: trailer.start()])
        if call.action == "read":
            clean, first = strip_line_numbers(text) or (None, None)
            return self.run.result(text, ok=True, clean=clean, first_line=first)
        return self.run.result(text, ok=True)


def _tail(name: str) -> str:
    return name.rpartition(":")[2]


class CopilotCli(RecordParser):
    agent = "copilot-cli"
    traits = AgentTraits(finds_skills=True)
    reader = _Reader
    opening = "session.start record with a sessionId"

    def sniff(self, source: Source) -> bool:
        """A record of type session.start with a sessionId in its data."""
        return any(map(_is_start, parse_head(source.head).objects(b'"session.start"')))

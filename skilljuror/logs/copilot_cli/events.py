"""Copilot CLI `events.jsonl`."""

import re
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import AgentTraits, ToolResult, Usage
from skilljuror.logs.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    add_available_skills,
)
from skilljuror.logs.assembly.line_numbers import strip_line_numbers
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.base import Source
from skilljuror.logs.copilot_cli.skill_activation import CopilotSkills
from skilljuror.logs.json_lines import JsonLinesParser, RecordReader
from skilljuror.logs.raw_logs.coercion import as_count, as_dict, as_list, as_str, nested
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head

_TRAILER = re.compile(r"\n?<(?:shellId: \w+ completed|exited) with exit code (-?\d{1,9})>\s*$")
_RUNNING = re.compile(r"<command with shellId: (\w+) is still running")
_BOOKKEEPING = ("hook.", "permission.", "assistant.turn_")


def _is_start(record: dict[str, Any]) -> bool:
    return (
        record.get("type") == "session.start"
        and as_str(nested(record, "data", "sessionId")) is not None
    )


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._skills = CopilotSkills(run)
        self._running: dict[str, CallBuilder] = {}
        """Running commands by the shell id that read_bash polls."""

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record, and whether it ends or interrupts the session; hooks, permissions and
        turn boundaries are only counted."""
        if str(record.get("type")).startswith(_BOOKKEEPING):
            self.run.skipped[record["type"]] += 1
            return
        self.ended = record.get("type") in ("session.shutdown", "abort")
        super().read(line, record)

    def members(self, record: dict[str, Any]) -> dict[str, Any]:
        """The data that the record wraps."""
        return as_dict(record.get("data"))

    def finish(self) -> None:
        """A session without an end record has ended if the agent has answered."""
        self.ended = self.ended or self.run.ends_with_answer()

    def on_session_start(self, line: int, timestamp: float | None, data: dict[str, Any]) -> None:
        if self.session is None:
            self.session = as_str(data.get("sessionId"))
            self.agent_version = as_str(data.get("copilotVersion"))
            self.cwd = as_str(nested(data, "context", "cwd"))
        self.model = self.model or as_str(data.get("selectedModel"))

    def on_session_model_change(
        self, line: int, timestamp: float | None, data: dict[str, Any]
    ) -> None:
        self.model = self.model or as_str(data.get("newModel"))

    def on_session_shutdown(self, line: int, timestamp: float | None, data: dict[str, Any]) -> None:
        for model in as_dict(data.get("modelMetrics")).values():
            usage = as_dict(nested(model, "usage"))
            self.totals.append(
                usage_of_prompt(
                    usage.get("inputTokens"),
                    cached=usage.get("cacheReadTokens"),
                    written=usage.get("cacheWriteTokens"),
                    output=usage.get("outputTokens"),
                    reasoning=usage.get("reasoningTokens"),
                )
            )

    def on_system_message(self, line: int, timestamp: float | None, data: dict[str, Any]) -> None:
        text = text_of(data.get("content"))
        listing = add_available_skills(self.run, text)
        self.run.add_message(MAIN, "skill_listing" if listing else "system", text, line)

    def on_system_notification(
        self, line: int, timestamp: float | None, data: dict[str, Any]
    ) -> None:
        self.run.add_message(MAIN, "other", text_of(data.get("content")), line)
        kind = as_dict(data.get("kind"))
        code = as_count(kind.get("exitCode"))
        if kind.get("type") == "shell_completed" and code is not None:
            self._ended(kind.get("shellId"), code)

    def on_user_message(self, line: int, timestamp: float | None, data: dict[str, Any]) -> None:
        typed = text_of(data.get("content"))
        text = self._skills.add_user_message(
            line, as_str(data.get("transformedContent")) or typed, typed
        )
        if text is not None:
            self.run.add_message(MAIN, "prompt", text, line)

    def on_skill_invoked(self, line: int, timestamp: float | None, data: dict[str, Any]) -> None:
        self._skills.add_invocation(line, data)

    on_skill_invoked_ref = on_skill_invoked

    def on_assistant_message(
        self, line: int, timestamp: float | None, data: dict[str, Any]
    ) -> None:
        step = self.run.step_of(MAIN, as_str(data.get("messageId")), line, timestamp)
        step.model = as_str(data.get("model"))
        self.model = self.model or step.model
        step.usage = Usage(output=as_count(data.get("outputTokens")))
        for text, parts in (
            (text_of(data.get("content")), step.texts),
            (as_str(data.get("reasoningText")), step.reasoning),
        ):
            if text and text not in parts:
                parts.append(text)
        for given in map(as_dict, as_list(data.get("toolRequests"))):
            self._call(line, step, given.get("toolCallId"), given.get("name"), given)

    def _call(
        self, line: int, step: StepBuilder, key: Any, name: Any, given: dict[str, Any]
    ) -> None:
        if self.run.find_call(key) is None:
            arguments = as_dict(given.get("arguments"))
            call = self.run.add_call(step, as_str(key), as_str(name) or "unknown", arguments, line)
            polled = self._running.get(str(arguments.get("shellId")))
            if call.action == "poll" and polled is not None:
                call.fields["command"] = polled.fields.get("command")
            elif call.action == "skill":
                self._skills.add_call(call)

    def on_tool_execution_start(
        self, line: int, timestamp: float | None, data: dict[str, Any]
    ) -> None:
        """Read a copy of a tool request; it is a call only if no request was logged."""
        if self.run.find_call(data.get("toolCallId")) is None and self.run.steps:
            step = self.run.steps[-1]
            self._call(line, step, data.get("toolCallId"), data.get("toolName"), data)

    def on_tool_execution_complete(
        self, line: int, timestamp: float | None, data: dict[str, Any]
    ) -> None:
        call = self.run.find_call(data.get("toolCallId"))
        if call is None:
            self.run.skipped["tool.execution_complete without call"] += 1
            return
        if data.get("success") is not True:
            message = text_of(nested(data, "error", "message"))
            call.result = ToolResult(text=message, line=line, ok=False)
            return
        text = text_of(nested(data, "result", "content"))
        call.result = _result(call.action, text, line)
        running = _RUNNING.match(text)
        if running and call.action == "shell":
            self._running[running[1]] = call
        elif call.action == "poll" and call.result.exit_code is not None:
            self._ended(call.arguments.get("shellId"), call.result.exit_code)

    def _ended(self, shell: Any, code: int) -> None:
        """A poll's or notification's exit status is that of the command."""
        command = self._running.get(str(shell))
        if command is not None and command.result is not None:
            command.result = replace(command.result, exit_code=code, ok=code == 0)


class CopilotCli(JsonLinesParser):
    agent = "copilot-cli"
    traits = AgentTraits(finds_skills=True)
    reader = _Reader
    opening = "session.start record with a sessionId"

    def sniff(self, source: Source) -> bool:
        """A record of type session.start with a sessionId in its data."""
        return any(map(_is_start, parse_head(source.head).objects(b'"session.start"')))


def _result(action: str, text: str, line: int) -> ToolResult:
    if action in {"shell", "poll"}:
        trailer = _TRAILER.search(text)
        if trailer is None:
            return ToolResult(text=text, line=line)
        code = int(trailer[1])
        return ToolResult(
            text=text, line=line, ok=code == 0, exit_code=code, clean=text[: trailer.start()]
        )
    if action == "read":
        clean, first = strip_line_numbers(text) or (None, None)
        return ToolResult(text=text, line=line, ok=True, clean=clean, first_line=first)
    return ToolResult(text=text, line=line, ok=True)

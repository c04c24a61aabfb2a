"""Copilot CLI `events.jsonl` (formats.md §10)."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec.structs import replace

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import ToolResult, Trajectory, Usage
from skilljuror.parsers.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    ends_with_answer,
    total_usage,
)
from skilljuror.parsers.assembly.line_numbers import strip_line_numbers
from skilljuror.parsers.assembly.offered_skills import add_available_skills
from skilljuror.parsers.assembly.token_usage import usage_of_prompt
from skilljuror.parsers.base import Source
from skilljuror.parsers.copilot_cli.skill_activation import CopilotSkills
from skilljuror.parsers.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_list,
    as_string,
    text_of,
)
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.jsonl import JsonLines

_TRAILER = re.compile(r"\n?<(?:shellId: \w+ completed|exited) with exit code (-?\d{1,9})>\s*$")
_RUNNING = re.compile(r"<command with shellId: (\w+) is still running")
_SKIPPED = re.compile(rb'\{"type":"(hook\.\w+|permission\.\w+|assistant\.turn_\w+)"')


def _is_start(entry: dict[str, Any]) -> bool:
    return (
        entry.get("type") == "session.start"
        and as_string(as_dict(entry.get("data")).get("sessionId")) is not None
    )


def _passed_over(line: bytes) -> str | None:
    match = _SKIPPED.match(line)
    return match[1].decode() if match else None


class CopilotCli:
    """Reads one session."""

    format: ClassVar[str] = "copilot-cli"
    native: ClassVar[int] = 0

    def sniff(self, source: Source) -> bool:
        """A record of type session.start with a sessionId in its data."""
        return any(map(_is_start, parse_head(source.head).entries(b'"session.start"')))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = TrajectoryBuilder()
        reader = _Reader(run)
        lines = JsonLines(source.path, _passed_over)
        for line, entry in lines:
            reader.record(line, entry)
        run.add_diagnostics(lines)
        run.complete = run.complete and (reader.over or ends_with_answer(run))
        session = as_string(reader.start.get("sessionId"))
        if session is None:
            problem = f"{str(source.path)!r} has no session.start record with a sessionId"
            raise TrajectoryError(problem, file=str(source.path))
        yield run.build(
            trajectory=session,
            session=session,
            format=self.format,
            files=(str(source.path),),
            agent="copilot-cli",
            agent_version=as_string(reader.start.get("copilotVersion")),
            model=reader.model,
            cwd=as_string(as_dict(reader.start.get("context")).get("cwd")),
            usage=total_usage(reader.totals) or total_usage(step.usage for step in run.steps),
        )


class _Reader:
    """Reads the records of a session."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.start: dict[str, Any] = {}
        self.model: str | None = None
        self.totals: list[Usage] = []
        self.over = False
        """Whether the session was ended or broken off, and nothing came after it."""
        self._skills = CopilotSkills(run)
        self._steps: dict[str, StepBuilder] = {}
        self._running: dict[str, CallBuilder] = {}
        """Commands still running, by the shell id that read_bash polls."""
        self._readers = {
            "session.start": self._session_start,
            "session.model_change": self._model_change,
            "session.shutdown": self._shutdown,
            "system.message": self._system,
            "system.notification": self._notification,
            "user.message": self._user,
            "assistant.message": self._assistant,
            "tool.execution_start": self._tool_start,
            "tool.execution_complete": self._tool_complete,
            "skill.invoked": self._skill_invoked,
            "skill.invoked_ref": self._skill_invoked,
        }

    def record(self, line: int, entry: dict[str, Any]) -> None:
        """Read one record."""
        kind = entry.get("type")
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        self.over = kind in ("session.shutdown", "abort")
        moment = as_epoch(entry.get("timestamp"))
        self.run.include_time(moment)
        if reader is None:
            self.run.skipped[str(kind)] += 1
        else:
            reader(line, moment, as_dict(entry.get("data")))

    def _session_start(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        self.start = self.start or data
        self.model = self.model or as_string(data.get("selectedModel"))

    def _model_change(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        self.model = self.model or as_string(data.get("newModel"))

    def _shutdown(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        for model in as_dict(data.get("modelMetrics")).values():
            usage = as_dict(as_dict(model).get("usage"))
            self.totals.append(
                usage_of_prompt(
                    usage.get("inputTokens"),
                    cached=usage.get("cacheReadTokens"),
                    written=usage.get("cacheWriteTokens"),
                    output=usage.get("outputTokens"),
                    reasoning=usage.get("reasoningTokens"),
                )
            )

    def _system(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        shown = text_of(data.get("content"))
        listing = add_available_skills(self.run, shown)
        self.run.add_message(MAIN, "skill_listing" if listing else "system", shown, line)

    def _notification(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        self.run.add_message(MAIN, "other", text_of(data.get("content")), line)
        kind = as_dict(data.get("kind"))
        code = as_count(kind.get("exitCode"))
        if kind.get("type") == "shell_completed" and code is not None:
            self._ended(kind.get("shellId"), code)

    def _user(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        typed = text_of(data.get("content"))
        shown = self._skills.prompt(line, as_string(data.get("transformedContent")) or typed, typed)
        if shown is not None:
            self.run.add_message(MAIN, "prompt", shown, line)

    def _skill_invoked(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        self._skills.invoked(line, data)

    def _assistant(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        key = as_string(data.get("messageId")) or f"line {line}"
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = self.run.add_step(MAIN, line, moment)
            step.key = as_string(data.get("messageId"))
        step.model = as_string(data.get("model"))
        self.model = self.model or step.model
        step.usage = Usage(output=as_count(data.get("outputTokens")))
        for shown, parts in (
            (text_of(data.get("content")), step.texts),
            (as_string(data.get("reasoningText")), step.reasoning),
        ):
            if shown and shown not in parts:
                parts.append(shown)
        for given in map(as_dict, as_list(data.get("toolRequests"))):
            self._call(line, step, given.get("toolCallId"), given.get("name"), given)

    def _call(
        self, line: int, step: StepBuilder, key: Any, name: Any, given: dict[str, Any]
    ) -> None:
        if self.run.find_call(key) is None:
            arguments = as_dict(given.get("arguments"))
            call = self.run.add_call(
                step, as_string(key), as_string(name) or "unknown", arguments, line
            )
            polled = self._running.get(str(arguments.get("shellId")))
            if call.fields["action"] == "poll" and polled is not None:
                call.fields["command"] = polled.fields.get("command")
            elif call.fields["action"] == "skill":
                self._skills.called(call)

    def _tool_start(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        """A copy of a tool request; a call of its own only where no request was logged."""
        if self.run.find_call(data.get("toolCallId")) is None and self.run.steps:
            step = self.run.steps[-1]
            self._call(line, step, data.get("toolCallId"), data.get("toolName"), data)

    def _tool_complete(self, line: int, moment: float | None, data: dict[str, Any]) -> None:
        call = self.run.find_call(data.get("toolCallId"))
        if call is None:
            self.run.skipped["tool.execution_complete without call"] += 1
            return
        if data.get("success") is not True:
            message = text_of(as_dict(data.get("error")).get("message"))
            call.result = ToolResult(text=message, line=line, ok=False)
            return
        shown = text_of(as_dict(data.get("result")).get("content"))
        call.result = _result(call.fields["action"], shown, line)
        running = _RUNNING.match(shown)
        if running and call.fields["action"] == "shell":
            self._running[running[1]] = call
        elif call.fields["action"] == "poll" and call.result.exit_code is not None:
            self._ended(call.arguments.get("shellId"), call.result.exit_code)

    def _ended(self, shell: Any, code: int) -> None:
        """The exit status that a poll or a notification brings is that of the command."""
        command = self._running.get(str(shell))
        if command is not None and command.result is not None:
            command.result = replace(command.result, exit_code=code, ok=code == 0)


def _result(action: str, shown: str, line: int) -> ToolResult:
    if action in {"shell", "poll"}:
        trailer = _TRAILER.search(shown)
        if trailer is None:
            return ToolResult(text=shown, line=line)
        code = int(trailer[1])
        return ToolResult(
            text=shown, line=line, ok=code == 0, exit_code=code, clean=shown[: trailer.start()]
        )
    if action == "read":
        clean, first = strip_line_numbers(shown) or (None, None)
        return ToolResult(text=shown, line=line, ok=True, clean=clean, first_line=first)
    return ToolResult(text=shown, line=line, ok=True)

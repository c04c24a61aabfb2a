"""Tool results of Claude Code: the model's view and the harness's metadata."""

import re
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import CallBuilder
from skilljuror.logs.assembly.line_numbers import strip_line_numbers
from skilljuror.logs.raw_logs.coercion import as_count, as_dict, as_float, as_str, nested
from skilljuror.logs.raw_logs.content import text_between_tags, text_of

_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,5})(?:\n|\Z)")
_REMINDER = "<system-reminder>"


def read_result(call: CallBuilder, block: dict[str, Any], metadata: Any, line: int) -> ToolResult:
    """Result of a call; `metadata` is toolUseResult, missing for sub-agents and streams."""
    text = text_of(block.get("content"))
    facts = as_dict(metadata)
    failed = block.get("is_error") is True or text.startswith("<tool_use_error>")
    if call.action == "read":
        return _read_result(text, facts, line, failed)
    if call.action == "shell":
        return _shell_result(text, facts, line, failed)
    return ToolResult(
        text=text,
        line=line,
        ok=not failed and facts.get("success") is not False,
        clean=_clean(text),
        seconds=_seconds(facts),
    )


def _read_result(text: str, facts: dict[str, Any], line: int, failed: bool) -> ToolResult:
    if facts.get("type") == "file_unchanged":
        return ToolResult(text=text, line=line, ok=False, unchanged=True)
    if failed:
        return ToolResult(text=text, line=line, ok=False)
    file = as_dict(facts.get("file"))
    clean = as_str(file.get("content"))
    first = as_count(file.get("startLine"))
    if clean is None:
        clean, first = strip_line_numbers(text) or (_clean(text), None)
    return ToolResult(
        text=text,
        line=line,
        ok=True,
        clean=clean,
        first_line=first,
        total_lines=as_count(file.get("totalLines")),
    )


def _shell_result(text: str, facts: dict[str, Any], line: int, failed: bool) -> ToolResult:
    exit_code: int | None = None
    clean = _clean(text)
    if failed:
        match = _EXIT.match(text)
        exit_code = int(match[1]) if match else None
        clean = (clean or text)[match.end() :] if match else clean
    elif not (facts.get("returnCodeInterpretation") or facts.get("backgroundTaskId")):
        exit_code = 0
    interrupted = facts.get("interrupted") is True
    return ToolResult(
        text=text,
        line=line,
        ok=not (failed or interrupted),
        exit_code=None if interrupted else exit_code,
        clean=clean,
    )


def _clean(text: str) -> str | None:
    """Remove a reminder of the harness; None if there is none."""
    if not text.rstrip().endswith("</system-reminder>"):
        return None
    at = text.rfind(_REMINDER)
    return None if at < 0 else text[:at].removesuffix("\n\n")


def _seconds(facts: dict[str, Any]) -> float | None:
    millis = as_float(facts.get("totalDurationMs") or facts.get("durationMs"))
    return None if millis is None else millis / 1000


_STARTED = re.compile(r"Command running in background with ID: ([\w-]{1,100})")
_NOTICE_EXIT = re.compile(r"<exit_code>(-?\d{1,5})</exit_code>")
_IDS = ("bash_id", "task_id", "shell_id", "shellId")


class BackgroundCommands:
    """Commands that run in the background."""

    def __init__(self) -> None:
        self._running: dict[str, CallBuilder] = {}

    def add_poll(self, call: CallBuilder) -> None:
        """Link a polling call to the command that it polls."""
        command = self._polled_command(call)
        if command is not None:
            call.fields["command"] = command.fields.get("command")
            call.fields["workdir"] = command.fields.get("workdir")

    def add_result(self, call: CallBuilder, metadata: Any) -> None:
        """Read the notice of a background command, and later its output; only toolUseResult
        (`metadata`) reports a command moved to the background later."""
        result = call.result
        if result is None:
            return
        if call.action == "shell":
            started = _STARTED.match(result.text)
            name = started[1] if started else as_str(nested(metadata, "backgroundTaskId"))
            if name:
                self._running[name] = call
                clean = "" if started else result.clean
                call.result = replace(result, clean=clean, exit_code=None, ok=None)
        elif call.action == "poll":
            self._add_output(call, result)

    def _add_output(self, call: CallBuilder, result: ToolResult) -> None:
        tags = sorted(("stdout", "output"), key=lambda tag: result.text.find(f"<{tag}>"))
        found = (text_between_tags(result.text, tag) for tag in tags)
        clean = next((one for one in found if one is not None), None)
        if clean is not None:
            call.result = replace(result, clean=clean)
        command, code = self._polled_command(call), _NOTICE_EXIT.search(result.text)
        if command is not None and command.result is not None and code:
            exit_code = int(code[1])
            command.result = replace(command.result, exit_code=exit_code, ok=exit_code == 0)

    def _polled_command(self, call: CallBuilder) -> CallBuilder | None:
        if call.action != "poll":
            return None
        given = (as_str(call.arguments.get(name)) for name in _IDS)
        return next((self._running[id] for id in given if id in self._running), None)

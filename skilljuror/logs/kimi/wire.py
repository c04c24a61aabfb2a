"""Kimi CLI's `wire.jsonl`: what its user interface was sent, sub-agents nested (formats.md §13); and
that of Kimi Code, its successor.

The log names no session, model, version or folder; the session is the name of the log's folder.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Trajectory, Usage
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, StepBuilder, TrajectoryBuilder
from skilljuror.logs.assembly.line_numbers import strip_line_numbers
from skilljuror.logs.assembly.tool_calls import arguments_of
from skilljuror.logs.base import Parser, SessionLink, Source, UsualFolder
from skilljuror.logs.raw_logs.coercion import as_count, as_dict, as_epoch, as_str, nested
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head
from skilljuror.logs.raw_logs.jsonl import JsonLines, file_key

_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|session_\w+")
_SLASH = re.compile(r"/skill:([\w.-]{1,200})(?:\s|\Z)")
_TOTAL = re.compile(r"Total lines in file: (\d{1,9})\.")
_STATUS = re.compile(r"Command failed with exit code: (-?\d{1,9})\.")


def _event_of(record: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """(type, payload) of a record or of a sub-agent's event; None if it is neither."""
    kind = as_str(record.get("type"))
    return None if kind is None or "payload" not in record else (kind, as_dict(record["payload"]))


def _call_of(given: dict[str, Any]) -> dict[str, Any]:
    function = {"name": given.get("name"), "arguments": given.get("args")}
    return {"id": given.get("toolCallId"), "function": function}


def _result_of(given: dict[str, Any]) -> dict[str, Any]:
    value = as_dict(given.get("result"))
    value = {**value, "is_error": value.get("isError")}
    return {"tool_call_id": given.get("toolCallId"), "return_value": value}


def _status_of(given: dict[str, Any]) -> dict[str, Any]:
    used = as_dict(given.get("usage"))
    names = {
        "input_other": "inputOther", "input_cache_creation": "inputCacheCreation",
        "input_cache_read": "inputCacheRead", "output": "output",
    }  # fmt: skip
    counts = {name: used.get(theirs) for name, theirs in names.items()} if used else {}
    return {"message_id": given.get("uuid"), "token_usage": counts}


_LOOP_EVENTS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "step.begin": lambda given: ("StepBegin", given),
    "content.part": lambda given: ("ContentPart", as_dict(given.get("part"))),
    "tool.call": lambda given: ("ToolCall", _call_of(given)),
    "tool.result": lambda given: ("ToolResult", _result_of(given)),
    "step.end": lambda given: ("StatusUpdate", _status_of(given)),
}
"""Kimi Code's event -> Kimi CLI's event and its payload."""


class _Reader:
    """Adds the events of one log to a run, one method `on_TYPE` per type of event."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.model: str | None = None
        self.agents: set[str] = set()
        """Sub-agents with events in a session's own log."""
        self._steps: dict[str, StepBuilder] = {}
        """Agent -> its step that has begun."""
        self._calls: dict[tuple[str, str | None], CallBuilder] = {}

    def read(self, path: Path, agent: str) -> None:
        lines = JsonLines(path)
        for line, record in lines:
            moment = as_epoch(record.get("timestamp") or record.get("time"))
            self.run.include_time(moment)
            event = _event_of(as_dict(record.get("message")))
            if event is not None:
                self.event(agent, line, moment, *event)
            elif "time" in record:
                self._of_kimi_code(agent, line, moment, record)
            elif record.get("type") != "metadata":
                self.run.skipped[str(record.get("type"))] += 1
        self.run.add_diagnostics(lines)

    def _of_kimi_code(
        self, agent: str, line: int, moment: float | None, record: dict[str, Any]
    ) -> None:
        """Read a record of Kimi Code (protocol 1.4) as the events of Kimi CLI that it stands for."""
        kind, given = str(record.get("type")), as_dict(record.get("event"))
        if kind == "config.update":
            self.model = self.model or as_str(record.get("modelAlias"))
        elif kind == "turn.prompt":
            self.event(agent, line, moment, "TurnBegin", {"user_input": record.get("input")})
        elif kind == "context.append_loop_event" and given.get("type") in _LOOP_EVENTS:
            event, payload = _LOOP_EVENTS[str(given["type"])](given)
            self.event(agent, line, moment, event, payload)
        else:
            self.run.skipped[kind] += 1

    def event(
        self, agent: str, line: int, moment: float | None, kind: str, payload: dict[str, Any]
    ) -> None:
        method = getattr(self, f"on_{kind}", None)
        if method is None:
            self.run.skipped[kind] += 1
        else:
            method(agent, line, moment, payload)

    def _step(self, agent: str, line: int, moment: float | None) -> StepBuilder:
        if agent not in self._steps:
            self._steps[agent] = self.run.add_step(agent, line, moment)
        return self._steps[agent]

    def on_TurnBegin(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        self._steps.pop(agent, None)
        text = text_of(payload.get("user_input"))
        skill = _SLASH.match(text)
        if skill:  # its body is not in the log
            self.run.add_message(
                agent, "skill_body", "", line, skill=skill[1], command_line=line
            )  # fmt: skip
        self.run.add_message(agent, "prompt", text, line)

    on_SteerInput = on_TurnBegin

    def on_StepBegin(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        self._steps.pop(agent, None)

    on_TurnEnd = on_StepBegin

    def on_StepRetry(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        text = as_str(payload.get("error_type")) or ""
        self.run.add_fault(agent, text, as_count(payload.get("status_code")))

    def on_CompactionBegin(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        self.run.add_compaction(agent, line)

    def on_ContentPart(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        step = self._step(agent, line, moment)
        if payload.get("type") == "think":
            step.reasoning.append(text_of(payload.get("think")))
        elif text := text_of(payload):
            step.texts.append(text)

    def on_ToolCall(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        call_id, name = as_str(payload.get("id")), as_str(nested(payload, "function", "name"))
        arguments = arguments_of(nested(payload, "function", "arguments"))
        step = self._step(agent, line, moment)
        call = self.run.add_call(step, call_id, name or "unknown", arguments, line)
        self._calls[agent, call_id] = call

    def on_StatusUpdate(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        step, used = self._steps.get(agent), as_dict(payload.get("token_usage"))
        if step is None or not used:
            return
        step.key = as_str(payload.get("message_id"))
        step.usage = Usage(
            input=as_count(used.get("input_other")),
            cache_write=as_count(used.get("input_cache_creation")),
            cache_read=as_count(used.get("input_cache_read")),
            output=as_count(used.get("output")),
        )

    def on_ToolResult(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        call = self._calls.get((agent, as_str(payload.get("tool_call_id"))))
        if call is None:
            self.run.skipped["ToolResult without call"] += 1
        else:
            call.result = _result(call, as_dict(payload.get("return_value")), line)

    def on_SubagentEvent(
        self, agent: str, line: int, moment: float | None, payload: dict[str, Any]
    ) -> None:
        parent = as_str(payload.get("parent_tool_call_id") or payload.get("task_tool_call_id"))
        child, event = (
            as_str(payload.get("agent_id")) or parent,
            _event_of(as_dict(payload.get("event"))),
        )
        if child is None or event is None:
            self.run.skipped["SubagentEvent"] += 1
            return
        self.agents.add(child)
        call = self._calls.get((agent, parent))
        if call is not None:
            call.sub_agent = child
        self.event(child, line, moment, *event)


def _result(call: CallBuilder, value: dict[str, Any], line: int) -> ToolResult:
    """A result; its message says what the output leaves open."""
    output, note = text_of(value.get("output")), text_of(value.get("message"))
    ok = value.get("is_error") is not True
    code = clean = first = total = None
    if call.action == "shell":
        status = _STATUS.search(note)
        code = 0 if ok else int(status[1]) if status else None
    elif call.action == "read" and ok:
        clean, first = strip_line_numbers(output) or (None, None)
        counted = _TOTAL.search(note)
        total = int(counted[1]) if counted else None
    return ToolResult(
        text=output or note, line=line, ok=ok, exit_code=code, clean=clean, first_line=first,
        total_lines=total,
    )  # fmt: skip


class KimiWire(Parser):
    """Reads one session; logs of sub-agents are read where the session's own log lacks them."""

    agent = "kimi-cli"
    traits = AgentTraits(finds_skills=True)
    usual_folder = UsualFolder("KIMI_SHARE_DIR", ".kimi", "sessions")

    def sniff(self, source: Source) -> bool:
        """A protocol version, or a message with type and payload, in the first record."""
        first = parse_head(source.head).first
        begins = first.get("type") == "metadata" and "protocol_version" in first
        return begins or (
            "timestamp" in first and _event_of(as_dict(first.get("message"))) is not None
        )

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        reader = _Reader(run)
        reader.read(source.path, MAIN)
        for index, path in enumerate(source.siblings, 1):
            run.file = index
            if path.parent.name not in reader.agents:
                reader.read(path, path.parent.name)
        run.complete = run.complete and run.ends_with_answer()
        folder = _session_folder(source.path).name
        session = folder if _SESSION.fullmatch(folder) else None
        key = session or file_key(source.path)
        yield run.build(self, source.files, session=session, trajectory=key, model=reader.model)

    def session_link(self, source: Source) -> SessionLink:
        """A sub-agent's log is below the folder of its session."""
        agent, session = source.path.parent, _session_folder(source.path)
        is_child = agent != session and agent.name != MAIN
        return SessionLink(str(session), agent.name if is_child else None, by_path=True)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Logs of sub-agents."""
        for folder in ("subagents", "agents"):
            yield from _session_folder(path).glob(f"{folder}/*/wire.jsonl*")


def _session_folder(path: Path) -> Path:
    """Folder of a session; Kimi Code keeps the main agent's log below it, too."""
    folder = path.parent
    return folder.parent.parent if folder.parent.name in {"subagents", "agents"} else folder

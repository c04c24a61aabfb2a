"""Kimi Code's `wire.jsonl`, protocol 1.4: one log per agent of a session (formats.md §13).

The log names no session, version or folder; the session is the name of the log's folder.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import AgentTraits
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    arguments_of,
    strip_line_numbers,
    usage_of,
)
from skilljuror.logs.base import SessionLink, Source, UsualFolder
from skilljuror.logs.records import as_dict, as_epoch, as_str, parse_head, text_of

_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|session_\w+")
_SLASH = re.compile(r"/skill:([\w.-]{1,200})(?:\s|\Z)")
_TOTAL = re.compile(r"Total lines in file: (\d{1,9})\.")
_STATUS = re.compile(r"Command failed with exit code: (-?\d{1,9})\.")


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self.agent = MAIN
        self._step: StepBuilder | None = None
        """The step that has begun."""
        self._calls: dict[str | None, CallBuilder] = {}

    def read_file(self, path: Path) -> None:
        self.agent = MAIN if path.parent.name == MAIN or not _is_agent(path) else path.parent.name
        self._step, self._calls = None, {}
        super().read_file(path)

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record, or the event of the agent's loop that it holds."""
        self.run.at(line, as_epoch(record, "time"))
        event = as_dict(record, "event")
        in_loop = record.get("type") == "context.append_loop_event"
        held = event if in_loop else record
        self.take(str(held.get("type")), held)

    def on_metadata(self, record: dict[str, Any]) -> None: ...

    def on_config_update(self, record: dict[str, Any]) -> None:
        self.model = self.model or as_str(record, "modelAlias")

    def on_turn_prompt(self, record: dict[str, Any]) -> None:
        self._step = None
        text = text_of(record, "input")
        if skill := _SLASH.match(text):  # its body is not in the log
            line = self.run.line
            self.run.add_message(self.agent, "skill_body", "", skill=skill[1], command_line=line)
        self.run.add_message(self.agent, "prompt", text)

    def on_step_begin(self, event: dict[str, Any]) -> None:
        self._step = None

    def _begun(self) -> StepBuilder:
        self._step = self._step or self.run.add_step(self.agent)
        return self._step

    def on_content_part(self, event: dict[str, Any]) -> None:
        part = as_dict(event, "part")
        if part.get("type") == "think":
            self._begun().reasoning.append(text_of(part, "think"))
        else:
            self._begun().say(text_of(part))

    def on_tool_call(self, event: dict[str, Any]) -> None:
        call_id, arguments = as_str(event, "toolCallId"), arguments_of(event.get("args"))
        call = self.run.add_call(self._begun(), call_id, as_str(event, "name"), arguments)
        self._calls[call_id] = call

    def on_tool_result(self, event: dict[str, Any]) -> None:
        """Read a result; its message says what the output leaves open."""
        call = self._calls.get(as_str(event, "toolCallId"))
        call = call or self.run.answered(None, "tool.result")
        given = as_dict(event, "result")
        output, note = text_of(given, "output"), text_of(given, "message")
        ok = given.get("isError") is not True
        facts: dict[str, Any] = {}
        if call.action == "shell":
            status = _STATUS.search(note)
            facts["exit_code"] = 0 if ok else int(status[1]) if status else None
        elif call.action == "read" and ok:
            facts["clean"], facts["first_line"] = strip_line_numbers(output) or (None, None)
            total = _TOTAL.search(note)
            facts["total_lines"] = int(total[1]) if total else None
        call.result = self.run.result(output or note, ok=ok, **facts)

    def on_step_end(self, event: dict[str, Any]) -> None:
        if self._step is not None and event.get("usage"):
            self._step.key = as_str(event, "uuid")
            self._step.usage = usage_of("kimi", event.get("usage"))


class KimiCode(RecordParser):
    """Reads one session with the logs of its sub-agents."""

    agent = "kimi-cli"
    traits = AgentTraits(finds_skills=True)
    usual_folder = UsualFolder("KIMI_CODE_HOME", ".kimi-code", "sessions")
    reader = _Reader

    def sniff(self, source: Source) -> bool:
        """The first record states a protocol version."""
        first = parse_head(source.head).first
        return first.get("type") == "metadata" and "protocol_version" in first

    def read_files(self, reader: _Reader, source: Source) -> None:
        super().read_files(reader, source)
        folder = _session_folder(source.path).name
        reader.session = folder if _SESSION.fullmatch(folder) else None

    def session_link(self, source: Source) -> SessionLink:
        """The log of an agent is below the folder of its session."""
        name = source.path.parent.name
        child = name if _is_agent(source.path) and name != MAIN else None
        return SessionLink(str(_session_folder(source.path)), child, by_path=True)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Logs of sub-agents."""
        return _session_folder(path).glob("agents/*/wire.jsonl*")


def _is_agent(path: Path) -> bool:
    return path.parent.parent.name == "agents"


def _session_folder(path: Path) -> Path:
    return path.parents[2] if _is_agent(path) else path.parent

"""Qwen Code sessions: Claude Code's envelope around Gemini's messages (formats.md §13).

Calls of sub-agents are in telemetry records only, without what the sub-agents saw.
"""

import re
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import AgentTraits, ToolResult
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    TrajectoryBuilder,
    usage_of,
)
from skilljuror.logs.base import Source, UsualFolder
from skilljuror.logs.gemini_cli import read_result, text_of_response
from skilljuror.logs.records import (
    as_count,
    as_dict,
    as_dicts,
    as_str,
    nested,
    parse_head,
    remainder,
    seconds_of,
    text_of,
)

_BASE = re.compile(r"Base directory for this skill: ([^\n]{1,1000})")
_SLASH = re.compile(r"\n\n/([\w.-]{1,200}) [^\n]*\Z")
"""The command at the end of a Skill's body or of a prompt that the user wrote down as a command."""


def _is_message(record: dict[str, Any]) -> bool:
    return "uuid" in record and isinstance(nested(record, "message", "parts"), list)


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._skills: dict[str, str] = {}
        """Name of a loaded Skill -> its folder."""
        self._sub_agents: dict[str, None] = {}
        """Sub-agents whose call has no result yet."""

    def read(self, line: int, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record, "sessionId")
        self.agent_version = self.agent_version or as_str(record, "version")
        self.cwd = self.cwd or as_str(record, "cwd")
        super().read(line, record)

    def on_user(self, record: dict[str, Any]) -> None:
        text = text_of(record, "message", "parts")
        command = _SLASH.search(text)
        base = self._skills.get(command[1]) if command else None
        if command is None or base is None:
            self.run.add_message(MAIN, "prompt", text)
            return
        self.run.add_message(
            MAIN, "skill_body", text[: command.start()], skill=command[1], path=base,
            command_line=self.run.line,
        )  # fmt: skip

    def on_assistant(self, record: dict[str, Any]) -> None:
        step = self.run.add_step(key=as_str(record, "uuid"), model=as_str(record, "model"))
        tokens = as_dict(record, "usageMetadata")
        step.usage = usage_of("qwen", tokens)
        prompt = as_count(tokens, "promptTokenCount")
        # by the total, because some providers count thoughts in the output and others beside it
        output = remainder(as_count(tokens, "totalTokenCount"), prompt)
        if step.usage is not None and prompt is not None and output is not None:
            step.usage = replace(step.usage, output=output if output >= 0 else None)
        for part in as_dicts(record, "message", "parts"):
            given = as_dict(part, "functionCall")
            if given:
                call_id, name = as_str(given, "id"), as_str(given, "name")
                self.run.add_call(step, call_id, name, as_dict(given, "args"))
            else:
                step.say(text_of(part), thought=part.get("thought") is True)

    def on_tool_result(self, record: dict[str, Any]) -> None:
        status = as_str(record, "toolCallResult", "status")
        for part in as_dicts(record, "message", "parts"):
            call = self.run.find_call(nested(part, "functionResponse", "id"))
            text, failed = text_of_response([part], status)
            if call is None or text is None:
                self.run.skip("tool_result without call")
            elif call.action == "skill":
                call.result = self._skill(call, text, failed)
            else:
                call.result = read_result(self.run, call, text, failed)
                if call.action == "agent":  # ids of sub-agents begin with their type
                    type = as_str(call.arguments, "subagent_type") or ""
                    names = (name for name in self._sub_agents if name.startswith(type))
                    call.sub_agent = next(names, None)
                    self._sub_agents.pop(call.sub_agent or "", None)

    def _skill(self, call: CallBuilder, text: str, failed: bool) -> ToolResult:
        base = _BASE.match(text)
        if base:
            self._skills[call.fields["skill"] or ""] = base[1].rstrip("/")
            self.run.add_skill_root(base[1].rstrip("/").rpartition("/")[0])
        return self.run.result(text, ok=not failed and base is not None)

    def on_system(self, record: dict[str, Any]) -> None:
        kind = as_str(record, "subtype")
        if kind == "chat_compression":
            self.run.add_compaction(MAIN)
        elif kind == "rewind":
            self.run.add_rewind()
        elif kind != "ui_telemetry" or not self._telemetry(
            as_dict(record, "systemPayload", "uiEvent")
        ):
            self.run.skip(f"system/{kind}")

    def _telemetry(self, event: dict[str, Any]) -> bool:
        """Read an event of a sub-agent, or an error of the provider; False for any other."""
        name = (as_str(event, "event.name") or "").removeprefix("qwen-code.")
        prompt = as_str(event, "prompt_id") or ""
        agent = prompt.split("#")[1] if prompt.count("#") == 2 else MAIN
        if name == "api_error":
            text = as_str(event, "error_message") or as_str(event, "error") or ""
            self.run.add_fault(agent, text, as_count(event, "status_code"))
            return True
        if agent == MAIN or name not in {"api_response", "tool_call"}:
            return False
        self._sub_agents.setdefault(agent)
        step = self.run.step_of(agent, prompt)
        if name == "api_response":
            step.model = as_str(event, "model")
            step.texts = [text_of(event, "response_text")]
            step.usage = usage_of("qwen telemetry", event)
            return True
        tool, arguments = as_str(event, "function_name"), as_dict(event, "function_args")
        call = self.run.add_call(step, None, tool, arguments)
        ok, seconds = event.get("success") is True, seconds_of(event.get("duration_ms"))
        call.result = self.run.result("", ok=ok, seconds=seconds)
        return True


class QwenSession(RecordParser):
    """Reads one session."""

    agent = "qwen-code"
    traits = AgentTraits(finds_skills=True)
    usual_folder = UsualFolder("QWEN_RUNTIME_DIR", ".qwen", "projects")
    reader = _Reader
    opening = "record with a sessionId"

    def sniff(self, source: Source) -> bool:
        """A record with a uuid and the parts of a message."""
        return any(map(_is_message, parse_head(source.head).objects(b'"uuid"', b'"parts"')))

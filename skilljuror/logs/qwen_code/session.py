"""Qwen Code sessions: Claude Code's envelope around Gemini's messages (formats.md §13).

Calls of sub-agents are in telemetry records only, without what the sub-agents saw.
"""

import re
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, TrajectoryBuilder
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.base import Source, UsualFolder
from skilljuror.logs.gemini_cli.tool_results import read_result, text_of_response
from skilljuror.logs.json_lines import JsonLinesParser, RecordReader
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_float,
    as_list,
    as_str,
    nested,
    remainder,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head

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
        self.session = self.session or as_str(record.get("sessionId"))
        self.agent_version = self.agent_version or as_str(record.get("version"))
        self.cwd = self.cwd or as_str(record.get("cwd"))
        super().read(line, record)

    def finish(self) -> None:
        self.ended = self.run.ends_with_answer()

    def on_user(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        text = text_of(nested(record, "message", "parts"))
        command = _SLASH.search(text)
        base = self._skills.get(command[1]) if command else None
        if command is None or base is None:
            self.run.add_message(MAIN, "prompt", text, line)
            return
        self.run.add_message(
            MAIN, "skill_body", text[: command.start()], line, skill=command[1], path=base,
            command_line=line,
        )  # fmt: skip

    def on_assistant(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        step = self.run.add_step(MAIN, line, timestamp)
        step.key = as_str(record.get("uuid"))
        step.model = as_str(record.get("model"))
        self.model = self.model or step.model
        step.usage = _usage(as_dict(record.get("usageMetadata")))
        for part in map(as_dict, as_list(nested(record, "message", "parts"))):
            given = as_dict(part.get("functionCall"))
            if given:
                name, arguments = as_str(given.get("name")) or "unknown", as_dict(given.get("args"))
                self.run.add_call(step, as_str(given.get("id")), name, arguments, line)
            elif text := text_of(part):
                (step.reasoning if part.get("thought") is True else step.texts).append(text)

    def on_tool_result(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        status = as_str(nested(record, "toolCallResult", "status"))
        for part in as_list(nested(record, "message", "parts")):
            call = self.run.find_call(nested(part, "functionResponse", "id"))
            text, failed = text_of_response([part], status)
            if call is None or text is None:
                self.run.skipped["tool_result without call"] += 1
                continue
            if call.action == "skill":
                call.result = self._skill(call, text, line, failed)
            else:
                call.result = read_result(self.run, call, text, line, failed)
            if call.action == "agent":
                self._join(call)

    def _skill(self, call: CallBuilder, text: str, line: int, failed: bool) -> ToolResult:
        base = _BASE.match(text)
        if base:
            self._skills[call.fields["skill"] or ""] = base[1].rstrip("/")
            self.run.add_skill_root(base[1].rstrip("/").rpartition("/")[0])
        return ToolResult(text=text, line=line, ok=not failed and base is not None)

    def _join(self, call: CallBuilder) -> None:
        """Name the sub-agent of a call: their ids begin with its type."""
        type = as_str(call.arguments.get("subagent_type")) or ""
        call.sub_agent = next((one for one in self._sub_agents if one.startswith(type)), None)
        if call.sub_agent:
            del self._sub_agents[call.sub_agent]

    def on_system(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        kind, payload = as_str(record.get("subtype")), as_dict(record.get("systemPayload"))
        if kind == "chat_compression":
            self.run.add_compaction(MAIN, line)
        elif kind == "rewind":
            self.run.add_rewind(line)
        elif kind != "ui_telemetry" or not self._telemetry(
            line, timestamp, as_dict(payload.get("uiEvent"))
        ):
            self.run.skipped[f"system/{kind}"] += 1

    def _telemetry(self, line: int, timestamp: float | None, event: dict[str, Any]) -> bool:
        """Read an event of a sub-agent, or an error of the provider; False for any other."""
        name = (as_str(event.get("event.name")) or "").removeprefix("qwen-code.")
        prompt = as_str(event.get("prompt_id")) or ""
        agent = prompt.split("#")[1] if prompt.count("#") == 2 else MAIN
        if name == "api_error":
            text = as_str(event.get("error_message")) or as_str(event.get("error")) or ""
            self.run.add_fault(agent, text, as_count(event.get("status_code")))
            return True
        if agent == MAIN or name not in {"api_response", "tool_call"}:
            return False
        self._sub_agents.setdefault(agent)
        step = self.run.step_of(agent, prompt, line, timestamp)
        if name == "api_response":
            step.model = as_str(event.get("model"))
            step.texts = [text_of(event.get("response_text"))]
            step.usage = usage_of_prompt(
                event.get("input_token_count"),
                cached=event.get("cached_content_token_count"),
                output=event.get("output_token_count"),
                reasoning=event.get("thoughts_token_count"),
            )
            return True
        tool = as_str(event.get("function_name")) or "unknown"
        call = self.run.add_call(step, None, tool, as_dict(event.get("function_args")), line)
        lasted = as_float(event.get("duration_ms"))
        call.result = ToolResult(
            text="", line=line, ok=event.get("success") is True,
            seconds=None if lasted is None else lasted / 1000,
        )  # fmt: skip
        return True


def _usage(tokens: dict[str, Any]) -> Any:
    """Output by the total, because some providers count thoughts in it and others beside it."""
    prompt, total = (
        as_count(tokens.get("promptTokenCount")),
        as_count(tokens.get("totalTokenCount")),
    )
    output = remainder(total, prompt) if prompt is not None else None
    return tokens and usage_of_prompt(
        prompt,
        cached=tokens.get("cachedContentTokenCount"),
        output=tokens.get("candidatesTokenCount") if output is None else output,
        reasoning=tokens.get("thoughtsTokenCount"),
    )


class QwenSession(JsonLinesParser):
    """Reads one session."""

    agent = "qwen-code"
    traits = AgentTraits(finds_skills=True)
    usual_folder = UsualFolder("QWEN_RUNTIME_DIR", ".qwen", "projects")
    reader = _Reader
    opening = "record with a sessionId"

    def sniff(self, source: Source) -> bool:
        """A record with a uuid and the parts of a message."""
        return any(map(_is_message, parse_head(source.head).objects(b'"uuid"', b'"parts"')))

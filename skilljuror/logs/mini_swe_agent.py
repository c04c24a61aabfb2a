"""mini-swe-agent trajectories: one document, rewritten after every step.

A model without tool calls writes fenced commands, and has their output in the next user message.
"""

import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult, Usage
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    arguments_of,
    total_usage,
    usage_of_response,
)
from skilljuror.logs.base import Source
from skilljuror.logs.records import (
    as_dict,
    as_dicts,
    as_epoch,
    as_float,
    as_int,
    as_list,
    as_str,
    json_of,
    nested,
    parse_head,
    text_between_tags,
    text_of,
    unreadable,
)

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")


def read_result(
    run: TrajectoryBuilder, call: CallBuilder, text: str, extra: dict[str, Any]
) -> ToolResult:
    """Result of a call; `extra` is the message's member with the plain output."""
    facts = as_dict(json_of(text) if text.startswith("{") else None) or extra
    code, clean = as_int(facts, "returncode"), facts.get("output", extra.get("raw_output"))
    if _SUBMIT in (call.fields.get("command") or ""):
        return run.result(text, ok=True, clean=as_str(clean))
    clean = clean if isinstance(clean, str) else None
    if code is None:
        return run.result(text, ok=False if as_str(facts, "exception_info") else None, clean=clean)
    return run.result(text, exit_code=code, clean=clean)


class _Reader(RecordReader):
    """Reads messages of all shapes: chat, raw API responses, and fenced commands."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self.ended = True
        self._asked: CallBuilder | None = None
        """Command without a call id; the next message answers it."""

    def read_file(self, path: Path) -> None:
        document = self.document(path)
        given = as_dict(document.value)
        if not isinstance(given.get("messages"), list):
            raise unreadable(path, "has no list of messages")
        for number, message in document.elements(given["messages"]):
            self.read(number, as_dict(message))
        info = as_dict(given, "info")
        self.run.add_fault(MAIN, as_str(info, "exit_status") or "")
        self.agent_version = as_str(info, "mini_version")
        self.model = as_str(info, "config", "model", "model_name")
        self.cwd = as_str(info, "config", "environment", "cwd")
        usage = total_usage(step.usage for step in self.run.steps)
        cost = as_float(info, "model_stats", "instance_cost")
        if cost and (usage is None or usage.cost_usd is None):  # 0 means no price
            usage = replace(usage or Usage(), cost_usd=cost)
        self.totals.append(usage)

    def read(self, line: int, record: dict[str, Any]) -> None:
        extra = as_dict(record, "extra")
        self.run.at(line, as_epoch(extra, "timestamp"))
        kind = str(record.get("role") or record.get("type"))
        if record.get("object") == "response":
            self._items(self._assistant({"extra": extra}, record), record)
        elif kind in {"tool", "function_call_output"}:
            self.on_tool(record)
        elif kind != "assistant" and extra.get("interrupt_type") == "FormatError":
            self._format_error(record, extra)
        else:
            self.take(kind, record)

    def on_system(self, record: dict[str, Any]) -> None:
        self.run.add_message(MAIN, "system", text_of(record, "content"))

    def on_user(self, record: dict[str, Any]) -> None:
        """A prompt, or the output of a fenced command."""
        text = text_of(record, "content")
        if self._asked is None:
            self.run.add_message(MAIN, "prompt", text)
        else:
            self._asked.result = self._output(text, as_dict(record, "extra"))
            self._asked = None

    def _output(self, text: str, extra: dict[str, Any]) -> ToolResult:
        """Output of a command; a message without output reports that it was not run."""
        code, given = _CODE.search(text[:2000]), extra.get("returncode")
        if code is None and not isinstance(given, int):
            return self.run.result(text, ok=False)
        clean = as_str(extra, "raw_output")
        if clean is None:  # of a long output the start and the end
            clean = text_between_tags(text, "output")
            head, tail = (
                text_between_tags(text, "output_head"),
                text_between_tags(text, "output_tail"),
            )
            if clean is None and head is not None and tail is not None:
                clean = f"{head}\n[... elided ...]\n{tail}"
        return self.run.result(text, exit_code=int(code[1] if code else given or 0), clean=clean)

    def on_assistant(self, record: dict[str, Any]) -> None:
        self._assistant(record, as_dict(record, "extra", "response"))

    def _assistant(self, given: dict[str, Any], response: dict[str, Any]) -> StepBuilder:
        self._asked = None
        step = self.run.add_step(key=as_str(response, "id"), model=as_str(response, "model"))
        step.usage = usage_of_response(response)
        cost = as_float(given, "extra", "cost")
        if step.usage is not None and cost:  # 0 means no price
            step.usage = replace(step.usage, cost_usd=cost)
        step.say(text_of(given, "content"))
        step.say(as_str(given, "reasoning_content"), thought=True)
        for call in as_dicts(given, "tool_calls"):
            self._call(step, call.get("id"), as_dict(call, "function"))
        if given.get("role") == "assistant" and not step.calls:
            actions = (as_str(action, "command") for action in as_list(given, "extra", "actions"))
            commands = [command for command in actions if command]
            commands = commands or _FENCE.findall(text_of(given, "content"))
            if len(commands) == 1:
                self._asked = self.run.add_call(step, None, "bash", {"command": commands[0]})
        return step

    def _items(self, step: StepBuilder, response: dict[str, Any]) -> None:
        for item in as_dicts(response, "output"):
            kind = item.get("type")
            if kind == "message":
                step.texts.append(text_of(item, "content"))
            elif kind == "reasoning":
                step.reasoning.append(text_of(item, "summary"))
            elif kind == "function_call":
                self._call(step, item.get("call_id"), item)

    def _call(self, step: StepBuilder, key: Any, function: dict[str, Any]) -> None:
        arguments = arguments_of(function.get("arguments"))
        self.run.add_call(step, as_str(key), as_str(function, "name"), arguments)

    def on_tool(self, record: dict[str, Any]) -> None:
        call = self.run.answered(record.get("tool_call_id") or record.get("call_id"), "result")
        text = text_of(record, "content") or text_of(record, "output")
        call.result = read_result(self.run, call, text, as_dict(record, "extra"))

    def _format_error(self, record: dict[str, Any], extra: dict[str, Any]) -> None:
        """A billed response without a valid call: its calls were never run."""
        response = as_dict(extra, "response")
        choices = as_list(response, "choices")
        message = as_dict(choices[0], "message") if choices else {}
        self.run.moment = None
        step = self._assistant({**message, "extra": extra}, response)
        self._asked = None
        self._items(step, response)
        if not step.texts:
            step.say(as_str(extra, "model_response"))
        text = text_of(record, "content")
        for call in step.calls:
            call.result = self.run.result(text, ok=False)
        if not step.calls:
            self.run.add_message(MAIN, "other", text)


class MiniSweAgent(RecordParser):
    agent = "mini-swe-agent"
    reader = _Reader

    def sniff(self, source: Source) -> bool:
        """trajectory_format names it; that member is last, so info.mini_version counts too."""
        first = parse_head(source.head).first
        named = str(first.get("trajectory_format", "")).startswith("mini-swe-agent")
        return named or "mini_version" in as_dict(nested(first, "info"))

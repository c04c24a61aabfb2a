"""mini-swe-agent trajectories: one document, rewritten after every step."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult, Trajectory, Usage
from skilljuror.logs.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    total_usage,
)
from skilljuror.logs.assembly.token_usage import usage_of_response
from skilljuror.logs.assembly.tool_calls import arguments_of
from skilljuror.logs.base import Parser, Source
from skilljuror.logs.mini_swe_agent.observations import (
    fenced_command,
    observation_result,
    read_result,
)
from skilljuror.logs.raw_logs.coercion import (
    as_dict,
    as_epoch,
    as_float,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head
from skilljuror.logs.raw_logs.json_document import JsonDocument, JsonElement
from skilljuror.logs.raw_logs.jsonl import file_key, unreadable


class MiniSweAgent(Parser):
    agent = "mini-swe-agent"

    def sniff(self, source: Source) -> bool:
        """trajectory_format names it; that member is last, so info.mini_version counts too."""
        first = parse_head(source.head).first
        named = str(first.get("trajectory_format", "")).startswith("mini-swe-agent")
        return named or "mini_version" in as_dict(first.get("info"))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        document = JsonDocument(source.path)
        given = as_dict(document.value)
        if not isinstance(given.get("messages"), list):
            raise unreadable(source.path, "has no list of messages")
        run = TrajectoryBuilder()
        run.complete = document.complete
        reader = _Reader(run)
        for element in document.elements(given["messages"]):
            reader.message(element, as_dict(element.value))
        info = as_dict(given.get("info"))
        config = as_dict(info.get("config"))
        run.add_fault(MAIN, as_str(info.get("exit_status")) or "")
        yield run.build(
            self,
            source.files,
            trajectory=file_key(source.path),
            agent_version=as_str(info.get("mini_version")),
            model=as_str(nested(config, "model", "model_name")),
            cwd=as_str(nested(config, "environment", "cwd")),
            usage=_with_cost(
                total_usage(step.usage for step in run.steps),
                as_float(nested(info, "model_stats", "instance_cost")),
            ),
        )


class _Reader:
    """Reads messages of all shapes: chat, raw API responses, and fenced commands."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self._asked: CallBuilder | None = None
        """Command without a call id; the next message answers it."""

    def message(self, element: JsonElement, given: dict[str, Any]) -> None:
        extra = as_dict(given.get("extra"))
        moment = as_epoch(extra.get("timestamp"))
        self.run.include_time(moment)
        if given.get("object") == "response":
            step = self._assistant(element, moment, {"extra": given.get("extra")}, given)
            self._items(element, step, given)
        elif given.get("role") == "assistant":
            self._assistant(element, moment, given, as_dict(extra.get("response")))
        elif given.get("role") == "tool" or given.get("type") == "function_call_output":
            self._result(element, given, extra)
        elif extra.get("interrupt_type") == "FormatError":
            self._format_error(element, given, extra)
        elif given.get("role") == "system":
            self.run.add_message(MAIN, "system", text_of(given.get("content")), element.number)
        elif given.get("role") == "user" and self._asked is not None:
            text = text_of(given.get("content"))
            self._asked.result = observation_result(text, element.number, extra)
            self._asked = None
        elif given.get("role") == "user":
            self.run.add_message(MAIN, "prompt", text_of(given.get("content")), element.number)
        else:
            self.run.skipped[str(given.get("role") or given.get("type"))] += 1

    def _assistant(
        self,
        element: JsonElement,
        moment: float | None,
        given: dict[str, Any],
        response: dict[str, Any],
    ) -> StepBuilder:
        step = self.run.add_step(MAIN, element.number, moment)
        step.key = as_str(response.get("id"))
        step.model = as_str(response.get("model"))
        cost = as_float(nested(given, "extra", "cost"))
        step.usage = usage_of_response(response)
        if step.usage is not None and cost:  # 0 means no price
            step.usage = replace(step.usage, cost_usd=cost)
        for text, parts in (
            (text_of(given.get("content")), step.texts),
            (as_str(given.get("reasoning_content")), step.reasoning),
        ):
            if text:
                parts.append(text)
        for call in map(as_dict, as_list(given.get("tool_calls"))):
            function = as_dict(call.get("function"))
            self._call(element, step, call.get("id"), function)
        self._fenced(element, step, given)
        return step

    def _fenced(self, element: JsonElement, step: StepBuilder, given: dict[str, Any]) -> None:
        """The command of a model without tool calls."""
        self._asked = None
        if given.get("role") != "assistant" or step.calls:
            return
        command = fenced_command(text_of(given.get("content")), as_dict(given.get("extra")))
        if command is not None:
            arguments = {"command": command}
            self._asked = self.run.add_call(step, None, "bash", arguments, element.number)

    def _items(self, element: JsonElement, step: StepBuilder, response: dict[str, Any]) -> None:
        for item in map(as_dict, as_list(response.get("output"))):
            kind = item.get("type")
            if kind == "message":
                step.texts.append(text_of(item.get("content")))
            elif kind == "reasoning":
                step.reasoning.append(text_of(item.get("summary")))
            elif kind == "function_call":
                self._call(element, step, item.get("call_id"), item)

    def _call(
        self, element: JsonElement, step: StepBuilder, key: Any, function: dict[str, Any]
    ) -> None:
        call_id = as_str(key)
        name = as_str(function.get("name")) or "unknown"
        arguments = arguments_of(function.get("arguments"))
        self.run.add_call(step, call_id, name, arguments, element.number)

    def _result(self, element: JsonElement, given: dict[str, Any], extra: dict[str, Any]) -> None:
        call = self.run.find_call(given.get("tool_call_id") or given.get("call_id"))
        if call is None:
            self.run.skipped["result without call"] += 1
            return
        text = text_of(given.get("content")) or text_of(given.get("output"))
        call.result = read_result(call, text, element.number, extra)

    def _format_error(
        self, element: JsonElement, given: dict[str, Any], extra: dict[str, Any]
    ) -> None:
        """A billed response without a valid call: its calls were never run."""
        response = as_dict(extra.get("response"))
        choices = as_list(response.get("choices"))
        message = as_dict(nested(choices[0], "message")) if choices else {}
        step = self._assistant(element, None, {**message, "extra": extra}, response)
        self._asked = None
        self._items(element, step, response)
        if not step.texts and (spoken := as_str(extra.get("model_response"))):
            step.texts.append(spoken)
        text = text_of(given.get("content"))
        for call in step.calls:
            call.result = ToolResult(text=text, line=element.number, ok=False)
        if not step.calls:
            self.run.add_message(MAIN, "other", text, element.number)


def _with_cost(usage: Usage | None, stated: float | None) -> Usage | None:
    """Add the cost of the run if no message has one; 0 means no price."""
    if not stated or (usage is not None and usage.cost_usd is not None):
        return usage
    return replace(usage or Usage(), cost_usd=stated)

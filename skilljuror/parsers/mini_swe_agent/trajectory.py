"""mini-swe-agent trajectories: one document, rewritten after every step (formats.md §6)."""

from collections.abc import Iterator
from typing import Any, ClassVar

import orjson
from msgspec.structs import replace

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import ToolResult, Trajectory, Usage
from skilljuror.parsers.assembly.builders import (
    MAIN,
    CallDraft,
    RunDraft,
    StepDraft,
    patched,
    total_usage,
)
from skilljuror.parsers.assembly.token_usage import usage_of_response
from skilljuror.parsers.base import Source
from skilljuror.parsers.mini_swe_agent.observations import command_of, observed, read_result
from skilljuror.parsers.raw_logs.coercion import epoch, number, record, rows, string, text
from skilljuror.parsers.raw_logs.file_head import peek
from skilljuror.parsers.raw_logs.json_document import Document, Element
from skilljuror.parsers.raw_logs.jsonl import file_key


class MiniSweAgent:
    """Reads one trajectory."""

    format: ClassVar[str] = "mini-swe-agent"
    native: ClassVar[int] = 0

    def sniff(self, source: Source) -> bool:
        """A trajectory_format of that name; it stands last, so info.mini_version counts too."""
        first = peek(source.head).first
        named = str(first.get("trajectory_format", "")).startswith("mini-swe-agent")
        return named or "mini_version" in record(first.get("info"))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        document = Document(source.path)
        given = record(document.value)
        if not isinstance(given.get("messages"), list):
            problem = f"{str(source.path)!r} has no list of messages"
            raise TrajectoryError(problem, file=str(source.path))
        run = RunDraft()
        run.complete = document.complete
        reader = _Reader(run)
        for element in document.elements("messages"):
            reader.message(element, record(element.value))
        info = record(given.get("info"))
        config = record(info.get("config"))
        yield run.freeze(
            trajectory=file_key(source.path),
            format=self.format,
            files=(str(source.path),),
            agent="mini-swe-agent",
            agent_version=string(info.get("mini_version")),
            model=string(record(config.get("model")).get("model_name")),
            cwd=string(record(config.get("environment")).get("cwd")),
            usage=_with_cost(
                total_usage(step.usage for step in run.steps),
                number(record(info.get("model_stats")).get("instance_cost")),
            ),
        )


class _Reader:
    """Reads messages of all shapes: chat, raw API responses, and commands in fences."""

    def __init__(self, run: RunDraft) -> None:
        self.run = run
        self._asked: CallDraft | None = None
        """A command without a call id, which the next message answers."""

    def message(self, element: Element, given: dict[str, Any]) -> None:
        """Read one message."""
        extra = record(given.get("extra"))
        moment = epoch(extra.get("timestamp"))
        self.run.seen_at(moment)
        if given.get("object") == "response":
            self._response(element, moment, given)
        elif given.get("role") == "assistant":
            self._assistant(element, moment, given, record(extra.get("response")))
        elif given.get("role") == "tool" or given.get("type") == "function_call_output":
            self._result(element, moment, given, extra)
        elif extra.get("interrupt_type") == "FormatError":
            self._format_error(element, given, extra)
        elif given.get("role") == "system":
            self.run.message(MAIN, "system", text(given.get("content")), element.line)
        elif given.get("role") == "user" and self._asked is not None:
            self._asked.result = observed(text(given.get("content")), element.line, extra)
            self._asked = None
        elif given.get("role") == "user":
            self.run.message(MAIN, "prompt", text(given.get("content")), element.line)
        else:
            self.run.skipped[str(given.get("role") or given.get("type"))] += 1

    def _assistant(
        self,
        element: Element,
        moment: float | None,
        given: dict[str, Any],
        response: dict[str, Any],
    ) -> StepDraft:
        step = self.run.step(MAIN, element.line, moment)
        step.key = string(response.get("id"))
        step.model = string(response.get("model"))
        cost = number(record(given.get("extra")).get("cost"))
        usage = usage_of_response(response)
        step.usage = patched_cost(usage, cost)
        for shown, parts in (
            (text(given.get("content")), step.said),
            (string(given.get("reasoning_content")), step.reasoning),
        ):
            if shown:
                parts.append(shown)
        for call in map(record, rows(given.get("tool_calls"))):
            function = record(call.get("function"))
            self._call(element, step, call.get("id"), function)
        self._fenced(element, step, given)
        return step

    def _fenced(self, element: Element, step: StepDraft, given: dict[str, Any]) -> None:
        """The command of a model that calls no tools."""
        self._asked = None
        if given.get("role") != "assistant" or step.calls:
            return
        command = command_of(text(given.get("content")), record(given.get("extra")))
        if command is not None:
            arguments = {"command": command}
            self._asked = self.run.call(step, None, "bash", arguments, element.line)

    def _response(self, element: Element, moment: float | None, given: dict[str, Any]) -> None:
        self._items(
            element, self._assistant(element, moment, {"extra": given.get("extra")}, given), given
        )

    def _items(self, element: Element, step: StepDraft, response: dict[str, Any]) -> None:
        for item in map(record, rows(response.get("output"))):
            kind = item.get("type")
            if kind == "message":
                step.said.append(text(item.get("content")))
            elif kind == "reasoning":
                step.reasoning.append(text(item.get("summary")))
            elif kind == "function_call":
                self._call(element, step, item.get("call_id"), item)

    def _call(self, element: Element, step: StepDraft, key: Any, function: dict[str, Any]) -> None:
        call_id = string(key)
        name = string(function.get("name")) or "unknown"
        arguments = _arguments(function.get("arguments"))
        self.run.call(step, call_id, name, arguments, element.line_of(call_id))

    def _result(
        self, element: Element, moment: float | None, given: dict[str, Any], extra: dict[str, Any]
    ) -> None:
        call = self.run.find_call(given.get("tool_call_id") or given.get("call_id"))
        if call is None:
            self.run.skipped["result without call"] += 1
            return
        shown = text(given.get("content")) or text(given.get("output"))
        call.result = read_result(call, shown, element.line, extra)

    def _format_error(self, element: Element, given: dict[str, Any], extra: dict[str, Any]) -> None:
        """A billed response without a usable call: its calls were never run."""
        response = record(extra.get("response"))
        choices = rows(response.get("choices"))
        message = record(record(choices[0]).get("message")) if choices else {}
        step = self._assistant(element, None, {**message, "extra": extra}, response)
        self._asked = None
        self._items(element, step, response)
        if not step.said and (spoken := string(extra.get("model_response"))):
            step.said.append(spoken)
        shown = text(given.get("content"))
        for call in step.calls:
            call.result = ToolResult(text=shown, line=element.line, ok=False)
        if not step.calls:
            self.run.message(MAIN, "other", shown, element.line)


def _with_cost(usage: Usage | None, stated: float | None) -> Usage | None:
    """The usage with the cost of the whole run where no message has one; 0 is no price."""
    if not stated or (usage is not None and usage.cost_usd is not None):
        return usage
    return replace(usage or Usage(), cost_usd=stated)


def patched_cost(usage: Any, cost: float | None) -> Any:
    """The usage with a cost; 0 means that the price is unknown."""
    return patched(usage, cost_usd=cost) if usage is not None and cost else usage


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    try:
        return record(orjson.loads(given)) if isinstance(given, str) else {}
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return {"input": given}

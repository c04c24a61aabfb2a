"""The stdout of `codex exec --json`.

A last resort without response boundaries, times, tokens per call and calls of sub-agents. Steps are
inferred: text before a command belongs to it, and overlapping commands belong together.
"""

import shlex
from typing import Any

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, StepBuilder, TrajectoryBuilder
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.base import LogKind, Source
from skilljuror.logs.codex import AGENT, TRAITS
from skilljuror.logs.codex.messages import SKILL_LIST_CUT, says_list_cut
from skilljuror.logs.json_lines import JsonLinesParser, RecordReader
from skilljuror.logs.raw_logs.coercion import as_dict, as_int, as_list, as_str, nested
from skilljuror.logs.raw_logs.file_head import parse_head

_PARTS = {"agent_message": "texts", "reasoning": "reasoning"}
"""Item type -> list of the step that its text goes into."""
_SHELLS = ("bash", "sh", "zsh")
_LONGEST_WARNING = 220
"""Characters."""


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._step: StepBuilder | None = None
        self._open: dict[str, CallBuilder] = {}
        """Started items that have not ended."""

    def on_thread_started(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record.get("thread_id"))

    def on_turn_started(
        self, line: int, timestamp: float | None, record: dict[str, Any]
    ) -> None: ...

    def on_turn_completed(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.ended = True
        self._step = None
        usage = as_dict(record.get("usage"))
        if usage:
            self.totals.append(
                usage_of_prompt(
                    usage.get("input_tokens"),
                    cached=usage.get("cached_input_tokens"),
                    written=usage.get("cache_write_input_tokens"),
                    output=usage.get("output_tokens"),
                    reasoning=usage.get("reasoning_output_tokens"),
                )
            )

    def on_turn_failed(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.ended = True
        message = nested(record, "error", "message") or record.get("message")
        self.run.add_fault(MAIN, as_str(message) or "")
        self._warn(line, message)

    on_error = on_turn_failed

    def _warn(self, line: int, message: Any) -> None:
        warning = f"line {line}: {as_str(message) or 'error'}"
        self.run.warnings.append(warning[:_LONGEST_WARNING])

    def on_item_started(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        item = as_dict(record.get("item"))
        kind = str(item.get("type"))
        if kind in _PARTS:
            step = self._step_at(line, after_calls=True)
            getattr(step, _PARTS[kind]).append(as_str(item.get("text")) or "")
        elif kind == "error":
            message = item.get("message")
            self._warn(line, SKILL_LIST_CUT if says_list_cut(message) else message)
        else:
            call = self._open.get(str(item.get("id"))) or self._call_started(line, kind, item)
            if record["type"] == "item.completed":
                self._call_ended(line, call, item)

    on_item_completed = on_item_started

    def _step_at(self, line: int, *, after_calls: bool) -> StepBuilder:
        """Step of an item: text after a call, or a call after a result, starts a new response."""
        self.run.fault = None  # an answer, in a step that may have begun before
        if self._step is None or (self._step.calls and (after_calls or not self._open)):
            self._step = self.run.add_step(MAIN, line)
        return self._step

    def _call_started(self, line: int, kind: str, item: dict[str, Any]) -> CallBuilder:
        step = self._step_at(line, after_calls=False)
        name = as_str(item.get("tool")) if kind == "collab_tool_call" else kind
        call = self.run.add_call(step, as_str(item.get("id")), name or kind, _arguments(item), line)
        self._open[str(item.get("id"))] = call
        return call

    def _call_ended(self, line: int, call: CallBuilder, item: dict[str, Any]) -> None:
        self._open.pop(str(item.get("id")), None)
        exit_code = as_int(item.get("exit_code"))
        output = item.get("aggregated_output")
        ok = exit_code == 0 if exit_code is not None else item.get("status") == "completed"
        call.result = ToolResult(
            text=output if isinstance(output, str) else "", line=line, ok=ok, exit_code=exit_code
        )
        for thread in as_list(item.get("receiver_thread_ids"))[:1]:
            if call.action == "agent":
                call.sub_agent = as_str(thread)


class CodexExec(JsonLinesParser):
    agent = AGENT
    traits = TRAITS
    kind = LogKind.STREAM
    reader = _Reader
    opening = "thread.started record with a thread_id"

    def sniff(self, source: Source) -> bool:
        """The first object is of type thread.started."""
        return parse_head(source.head).first.get("type") == "thread.started"


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "command_execution":
        return {"command": _script(as_str(item.get("command")) or "")}
    if item.get("type") == "file_change":
        changes = [as_dict(change) for change in as_list(item.get("changes"))]
        return {"changes": changes, "path": changes[0].get("path") if changes else None}
    given = ("prompt", "query", "server", "arguments", "items")
    return {name: item[name] for name in given if name in item}


def _script(command: str) -> str:
    """The script of `/bin/bash -lc '...'`, unquoted."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[1] in {"-c", "-lc"} and words[0].endswith(_SHELLS):
        return words[2]
    return command

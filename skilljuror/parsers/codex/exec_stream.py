"""The stdout of `codex exec --json` (formats.md §3.4).

A last resort: it has no response boundaries, no times, no tokens per call and no inner
calls of sub-agents. Steps are inferred: what is said before a command belongs to it, and
commands that are started before another has ended belong together.
"""

import shlex
from collections.abc import Iterator
from typing import Any, ClassVar

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import ToolResult, Trajectory, Usage
from skilljuror.parsers.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    total_usage,
)
from skilljuror.parsers.assembly.token_usage import usage_of_prompt
from skilljuror.parsers.base import Source
from skilljuror.parsers.raw_logs.coercion import as_dict, as_list, as_string
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.jsonl import JsonLines

_SAID = {"agent_message": "texts", "reasoning": "reasoning"}
_SHELLS = ("bash", "sh", "zsh")


class CodexExec:
    """Reads one stream."""

    format: ClassVar[str] = "codex-exec"
    native: ClassVar[int] = 1

    def sniff(self, source: Source) -> bool:
        """The first object is of type thread.started."""
        return parse_head(source.head).first.get("type") == "thread.started"

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = TrajectoryBuilder()
        reader = _Reader(run)
        lines = JsonLines(source.path)
        for line, entry in lines:
            reader.record(line, entry)
        run.add_diagnostics(lines)
        if reader.thread is None:
            problem = f"{str(source.path)!r} has no thread.started record with a thread_id"
            raise TrajectoryError(problem, file=str(source.path))
        run.complete = run.complete and reader.ended
        yield run.build(
            trajectory=reader.thread,
            session=reader.thread,
            format=self.format,
            files=(str(source.path),),
            agent="codex",
            usage=total_usage(reader.totals),
        )


class _Reader:
    """Reads the records of a stream."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.thread: str | None = None
        self.totals: list[Usage] = []
        self.ended = False
        self._step: StepBuilder | None = None
        self._open: dict[str, CallBuilder] = {}
        """Items that were started and have not ended."""

    def record(self, line: int, entry: dict[str, Any]) -> None:
        """Read one record."""
        kind = as_string(entry.get("type"))
        item = as_dict(entry.get("item"))
        if kind == "thread.started":
            self.thread = self.thread or as_string(entry.get("thread_id"))
        elif kind in {"item.started", "item.completed"}:
            self._item(line, item, ended=kind == "item.completed")
        elif kind == "turn.completed":
            self._turn(as_dict(entry.get("usage")))
        elif kind in {"turn.failed", "error"}:
            self._failed(line, entry)
        elif kind != "turn.started":
            self.run.skipped[str(kind)] += 1

    def _turn(self, usage: dict[str, Any]) -> None:
        self.ended = True
        self._step = None
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

    def _failed(self, line: int, entry: dict[str, Any]) -> None:
        self.ended = True
        message = as_string(as_dict(entry.get("error")).get("message")) or as_string(
            entry.get("message")
        )
        self.run.warnings.append(f"line {line}: {message or 'error'}"[:220])

    def _item(self, line: int, item: dict[str, Any], *, ended: bool) -> None:
        kind = str(item.get("type"))
        if kind in _SAID:
            spoken = self._step_at(line, after_calls=True)
            getattr(spoken, _SAID[kind]).append(as_string(item.get("text")) or "")
        elif kind == "error":
            self.run.warnings.append(
                f"line {line}: {as_string(item.get('message')) or 'error'}"[:220]
            )
        else:
            call = self._open.get(str(item.get("id"))) or self._started(line, kind, item)
            if ended:
                self._ended(line, call, item)

    def _step_at(self, line: int, *, after_calls: bool) -> StepBuilder:
        """The step of an item: words after a call are a new response, so is a call after a result."""
        if self._step is None or (self._step.calls and (after_calls or not self._open)):
            self._step = self.run.add_step(MAIN, line)
        return self._step

    def _started(self, line: int, kind: str, item: dict[str, Any]) -> CallBuilder:
        step = self._step_at(line, after_calls=False)
        name = as_string(item.get("tool")) if kind == "collab_tool_call" else kind
        call = self.run.add_call(
            step, as_string(item.get("id")), name or kind, _arguments(item), line
        )
        self._open[str(item.get("id"))] = call
        return call

    def _ended(self, line: int, call: CallBuilder, item: dict[str, Any]) -> None:
        self._open.pop(str(item.get("id")), None)
        code = item.get("exit_code")
        exit_code = code if isinstance(code, int) else None
        output = item.get("aggregated_output")
        ok = exit_code == 0 if exit_code is not None else item.get("status") == "completed"
        call.result = ToolResult(
            text=output if isinstance(output, str) else "", line=line, ok=ok, exit_code=exit_code
        )
        for child in as_list(item.get("receiver_thread_ids"))[:1]:
            if call.fields["action"] == "agent":
                call.sub_agent = as_string(child)


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "command_execution":
        return {"command": _script(as_string(item.get("command")) or "")}
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

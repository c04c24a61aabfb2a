"""Gemini CLI's stdout, `--output-format stream-json` (formats.md §5.2).

A last resort: the text of what was read is not in it, nor any exit status. Steps are
inferred: what is said and called up to the next result or prompt is one.
"""

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
from skilljuror.parsers.raw_logs.coercion import as_dict, as_epoch, as_string, text_of
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.jsonl import JsonLines


def _is_init(entry: dict[str, Any]) -> bool:
    return (
        entry.get("type") == "init"
        and as_string(entry.get("session_id")) is not None
        and "subtype" not in entry
    )


class GeminiStream:
    """Reads one stream."""

    format: ClassVar[str] = "gemini-stream"
    native: ClassVar[int] = 1

    def sniff(self, source: Source) -> bool:
        """A record of type init with a session_id."""
        return any(map(_is_init, parse_head(source.head).entries(b'"init"')))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = TrajectoryBuilder()
        reader = _Reader(run)
        lines = JsonLines(source.path)
        for line, entry in lines:
            moment = as_epoch(entry.get("timestamp"))
            run.include_time(moment)
            reader.record(line, moment, entry)
        run.add_diagnostics(lines)
        if reader.session is None:
            problem = f"{str(source.path)!r} has no init record with a session_id"
            raise TrajectoryError(problem, file=str(source.path))
        run.complete = run.complete and reader.ended
        yield run.build(
            trajectory=reader.session,
            session=reader.session,
            format=self.format,
            files=(str(source.path),),
            agent="gemini-cli",
            model=reader.model,
            usage=total_usage(reader.totals),
        )


class _Reader:
    """Reads the records of a stream."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.session: str | None = None
        self.model: str | None = None
        self.totals: list[Usage] = []
        self.ended = False
        self._open: StepBuilder | None = None

    def record(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        """Read one record."""
        kind = entry.get("type")
        if kind == "init":
            self.session = self.session or as_string(entry.get("session_id"))
            self.model = self.model or as_string(entry.get("model"))
        elif kind == "message":
            self._message(line, moment, entry)
        elif kind == "tool_use":
            self._tool_use(line, moment, entry)
        elif kind == "tool_result":
            self._tool_result(line, moment, entry)
        elif kind == "result":
            self._result(line, entry)
        else:
            self.run.skipped[str(kind)] += 1

    def _step(self, line: int, moment: float | None) -> StepBuilder:
        if self._open is None:
            self._open = self.run.add_step(MAIN, line, moment)
            self._open.model = self.model
        return self._open

    def _message(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        shown = text_of(entry.get("content"))
        if entry.get("role") == "assistant":
            step = self._step(line, moment)
            step.texts = ["".join([*step.texts, shown])]
            return
        self._open = None
        self.run.add_message(MAIN, "prompt", shown, line)

    def _tool_use(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        name = as_string(entry.get("tool_name")) or "unknown"
        step = self._step(line, moment)
        self.run.add_call(
            step, as_string(entry.get("tool_id")), name, as_dict(entry.get("parameters")), line
        )

    def _tool_result(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        self._open = None
        call = self.run.find_call(entry.get("tool_id"))
        if call is None:
            self.run.skipped["tool_result without call"] += 1
            return
        shown = text_of(entry.get("output"))
        message = as_string(as_dict(entry.get("error")).get("message"))
        call.result = ToolResult(text=message or shown, line=line, ok=_ok(call, entry))

    def _result(self, line: int, entry: dict[str, Any]) -> None:
        self.ended = True
        self._open = None
        if entry.get("status") == "error":
            message = as_string(as_dict(entry.get("error")).get("message")) or "error"
            self.run.warnings.append(f"line {line}: {message[:200]}")
        stats = as_dict(entry.get("stats"))
        if stats:
            self.totals.append(
                usage_of_prompt(
                    stats.get("input_tokens"),
                    cached=stats.get("cached"),
                    output=stats.get("output_tokens"),
                )
            )


def _ok(call: CallBuilder, entry: dict[str, Any]) -> bool | None:
    """A command that fails has status "success" too."""
    if entry.get("status") != "success":
        return False
    return None if call.fields["action"] == "shell" else True

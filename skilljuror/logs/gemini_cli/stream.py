"""Gemini CLI's stdout, `--output-format stream-json`.

A last resort without file contents and exit statuses. Steps are inferred: text and calls up to the
next result or prompt.
"""

from typing import Any

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import MAIN, StepBuilder, TrajectoryBuilder
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.base import LogKind, Source
from skilljuror.logs.gemini_cli import AGENT, TRAITS
from skilljuror.logs.json_lines import JsonLinesParser, RecordReader
from skilljuror.logs.raw_logs.coercion import as_dict, as_str, nested
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head


def _is_init(record: dict[str, Any]) -> bool:
    return (
        record.get("type") == "init"
        and as_str(record.get("session_id")) is not None
        and "subtype" not in record
    )


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._open: StepBuilder | None = None

    def on_init(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record.get("session_id"))
        self.model = self.model or as_str(record.get("model"))

    def _step(self, line: int, timestamp: float | None) -> StepBuilder:
        if self._open is None:
            self._open = self.run.add_step(MAIN, line, timestamp)
            self._open.model = self.model
        return self._open

    def on_message(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        text = text_of(record.get("content"))
        if record.get("role") == "assistant":
            step = self._step(line, timestamp)
            step.texts = ["".join([*step.texts, text])]
            return
        self._open = None
        self.run.add_message(MAIN, "prompt", text, line)

    def on_tool_use(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        name = as_str(record.get("tool_name")) or "unknown"
        step = self._step(line, timestamp)
        self.run.add_call(
            step, as_str(record.get("tool_id")), name, as_dict(record.get("parameters")), line
        )

    def on_tool_result(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self._open = None
        call = self.run.find_call(record.get("tool_id"))
        if call is None:
            self.run.skipped["tool_result without call"] += 1
            return
        text = text_of(record.get("output"))
        message = as_str(nested(record, "error", "message"))
        ok = None if call.action == "shell" else True  # failing commands also have "success"
        if record.get("status") != "success":
            ok = False
        call.result = ToolResult(text=message or text, line=line, ok=ok)

    def on_result(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.ended = True
        self._open = None
        if record.get("status") == "error":
            message = as_str(nested(record, "error", "message")) or "error"
            self.run.warnings.append(f"line {line}: {message[:200]}")
            self.run.add_fault(MAIN, message)
        stats = as_dict(record.get("stats"))
        if stats:
            self.totals.append(
                usage_of_prompt(
                    stats.get("input_tokens"),
                    cached=stats.get("cached"),
                    output=stats.get("output_tokens"),
                )
            )


class GeminiStream(JsonLinesParser):
    agent = AGENT
    traits = TRAITS
    kind = LogKind.STREAM
    reader = _Reader
    opening = "init record with a session_id"

    def sniff(self, source: Source) -> bool:
        """A record of type init with a session_id."""
        return any(map(_is_init, parse_head(source.head).objects(b'"init"')))

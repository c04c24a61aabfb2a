"""Claude Code's stdout, `--output-format stream-json`.

It lacks output tokens per message, attachments and attribution, so a session file is preferred.
"""

from typing import Any

from skilljuror.base.trajectory import OfferedSkill, Usage
from skilljuror.logs.assembly.builders import MAIN, TrajectoryBuilder, total_usage
from skilljuror.logs.base import LogKind, Source
from skilljuror.logs.claude_code import AGENT, TRAITS
from skilljuror.logs.claude_code.messages import (
    ClaudeMessages,
    ClaudeRecord,
    add_api_error,
    usage_of,
)
from skilljuror.logs.claude_code.session import BUNDLED
from skilljuror.logs.json_lines import JsonLinesParser, RecordReader
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_float,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head


def _is_init(record: dict[str, Any]) -> bool:
    return (
        record.get("type") == "system"
        and record.get("subtype") == "init"
        and as_str(record.get("session_id")) is not None
    )


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._sub_agents: dict[str, str] = {}
        """Call id -> id of the sub-agent that it started."""
        self._unstated = 0
        """Index of the first step not covered by a result."""
        self._compacted = False
        """Whether a compaction's summary is still due."""
        self._messages = ClaudeMessages(run, output_tokens=False)

    def finish(self) -> None:
        """Rename sub-agents to their ids, which may follow their first messages."""
        self.run.rename_agents(self._sub_agents)

    def on_user(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        agent = as_str(record.get("parent_tool_use_id")) or MAIN
        entry = ClaudeRecord(agent, line, as_dict(record.get("message")), timestamp)
        entry.tool_use_result = record.get("tool_use_result")
        entry.from_harness = record.get("isSynthetic") is True
        entry.is_summary = self._is_summary(entry)
        if record["type"] == "assistant" and record.get("error"):
            text = text_of(entry.message.get("content"))
            add_api_error(self.run, agent, record["error"], text, None)
        if record["type"] == "assistant":
            self._messages.add_assistant(entry)
            return
        self._messages.add_user(entry)
        sub_agent = as_str(nested(entry.tool_use_result, "agentId"))
        for block in as_list(entry.message.get("content")):
            call_id = as_str(nested(block, "tool_use_id"))
            if sub_agent and call_id:
                self._sub_agents.setdefault(call_id, sub_agent)

    on_assistant = on_user

    def _is_summary(self, entry: ClaudeRecord) -> bool:
        """Whether a record is the harness's first text after a compaction."""
        is_summary = self._compacted and entry.from_harness and entry.agent == MAIN
        self._compacted = self._compacted and not is_summary
        return is_summary

    def on_system(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        kind = record.get("subtype")
        if _is_init(record):
            self._init(record)
        elif kind == "compact_boundary":
            self.run.add_compaction(MAIN, line)  # re-injected text is not in a stream
            self._compacted = True
        elif kind == "task_started":
            self._task_started(record)
        else:
            self.run.skipped[f"system/{kind}"] += 1
        if kind == "api_retry":
            status = record.get("error_status")  # missing if the connection failed
            add_api_error(self.run, MAIN, kind, f"{record.get('error')}, status {status}", status)

    def _init(self, record: dict[str, Any]) -> None:
        """Read the start of a process; a resumed session has several."""
        if self.session is None:
            self.session = as_str(record.get("session_id"))
            self.agent_version = as_str(record.get("claude_code_version"))
            self.model = as_str(record.get("model"))
            self.cwd = as_str(record.get("cwd"))
        names = record.get("skills")
        if isinstance(names, list):
            known = [name for name in names if isinstance(name, str)]
            self.run.add_offered(OfferedSkill(name, bundled=name in BUNDLED) for name in known)

    def _task_started(self, record: dict[str, Any]) -> None:
        call_id = as_str(record.get("tool_use_id"))
        sub_agent = as_str(record.get("task_id"))
        if call_id and sub_agent:
            self._sub_agents.setdefault(call_id, sub_agent)
            call = self.run.find_call(call_id)
            if call is not None and call.action == "agent":
                call.sub_agent = sub_agent

    def on_result(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        """Read the end of a process. `subtype` is "success" on errors too."""
        self.ended = True
        if record.get("is_error") is True:
            self.run.warnings.append(f"line {line}: error: {text_of(record.get('result'))[:200]}")
        models = [as_dict(usage) for usage in as_dict(record.get("modelUsage")).values()]
        if models:
            steps = [step.usage for step in self.run.steps[self._unstated :]]
            self._unstated = len(self.run.steps)
            self._add_total(total_usage(map(_model_usage, models)), total_usage(steps))
        elif usage := usage_of(as_dict(record.get("usage")), record.get("total_cost_usd")):
            self.totals.append(usage)  # the main agent's, in versions without a model

    def _add_total(self, total: Usage | None, steps: Usage | None) -> None:
        """Add a reported total; `steps` is the usage of the steps since the last one.

        A process with several prompts reports a running total after each; a resumed session starts
        again from zero.
        """
        if total is None:
            return
        if self.totals and _is_running_total(self.totals[-1], total, steps):
            self.totals.pop()
        self.totals.append(total)


class ClaudeStream(JsonLinesParser):
    agent = AGENT
    traits = TRAITS
    kind = LogKind.STREAM
    reader = _Reader
    opening = "system record of subtype init"

    def sniff(self, source: Source) -> bool:
        """A system record of subtype init with a session_id."""
        return any(map(_is_init, parse_head(source.head).objects(b'"init"')))


def _is_running_total(before: Usage, total: Usage, steps: Usage | None) -> bool:
    """Whether a total includes the previous one: no class is smaller, and the steps leave more of
    the prompt unexplained than a new process's side requests would."""
    classes = ((before.input, total.input), (before.cache_write, total.cache_write),
               (before.cache_read, total.cache_read), (before.output, total.output))  # fmt: skip
    grown = all((earlier or 0) <= (later or 0) for earlier, later in classes)
    return grown and 2 * (_prompt_tokens(total) - _prompt_tokens(steps)) >= _prompt_tokens(before)


def _prompt_tokens(usage: Usage | None) -> int:
    if usage is None:
        return 0
    return sum(part or 0 for part in (usage.input, usage.cache_write, usage.cache_read))


def _model_usage(usage: dict[str, Any]) -> Usage:
    """One model's totals, sub-agents included."""
    return Usage(
        input=as_count(usage.get("inputTokens")),
        cache_write=as_count(usage.get("cacheCreationInputTokens")),
        cache_read=as_count(usage.get("cacheReadInputTokens")),
        output=as_count(usage.get("outputTokens")),
        cost_usd=as_float(usage.get("costUSD")),
    )

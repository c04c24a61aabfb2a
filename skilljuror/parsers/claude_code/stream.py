"""Claude Code's stdout, `--output-format stream-json` (formats.md §4.2).

A second choice: it has no output tokens per message, no attachments and no attribution.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import OfferedSkill, Trajectory, Usage
from skilljuror.parsers.assembly.builders import MAIN, TrajectoryBuilder, total_usage
from skilljuror.parsers.base import Source
from skilljuror.parsers.claude_code.messages import ClaudeMessages, ClaudeRecord, thinking_tokens
from skilljuror.parsers.claude_code.session import BUNDLED
from skilljuror.parsers.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_list,
    as_number,
    as_string,
    text_of,
)
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.jsonl import JsonLines


def _is_init(entry: dict[str, Any]) -> bool:
    return (
        entry.get("type") == "system"
        and entry.get("subtype") == "init"
        and as_string(entry.get("session_id")) is not None
    )


class ClaudeStream:
    """Reads one stream."""

    format: ClassVar[str] = "claude-stream"
    native: ClassVar[int] = 1

    def sniff(self, source: Source) -> bool:
        """A system record of subtype init with a session_id."""
        return any(map(_is_init, parse_head(source.head).entries(b'"init"')))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = TrajectoryBuilder()
        reader = _Reader(run)
        lines = JsonLines(source.path)
        for line, entry in lines:
            reader.record(line, entry)
        run.add_diagnostics(lines)
        init = reader.init
        if init is None:
            problem = f"{str(source.path)!r} has no system record of subtype init"
            raise TrajectoryError(problem, file=str(source.path))
        run.rename_agents(reader.agents)
        run.complete = run.complete and reader.ended
        session = str(init["session_id"])
        yield run.build(
            trajectory=session,
            session=session,
            format=self.format,
            files=(str(source.path),),
            agent="claude-code",
            agent_version=as_string(init.get("claude_code_version")),
            model=as_string(init.get("model")),
            cwd=as_string(init.get("cwd")),
            usage=total_usage(reader.totals) or total_usage(step.usage for step in run.steps),
        )


class _Reader:
    """Reads the records of a stream."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.init: dict[str, Any] | None = None
        self.agents: dict[str, str] = {}
        """id of the call that started a sub-agent -> id of the sub-agent"""
        self.ended = False
        self._stated = _Stated()
        self._unstated = 0
        """Index of the first step that no result tells of yet."""
        self._compacted = False
        """Whether the summary of a compaction is still to come."""
        self._messages = ClaudeMessages(run, output_tokens=False)

    @property
    def totals(self) -> list[Usage]:
        """What the processes of the run say they used."""
        return self._stated.usages

    def record(self, line: int, entry: dict[str, Any]) -> None:
        """Read one record."""
        kind = as_string(entry.get("type"))
        moment = as_epoch(entry.get("timestamp"))
        self.run.include_time(moment)
        if kind == "system":
            self._system(line, entry)
        elif kind == "result":
            self._result(line, entry)
        elif kind in {"user", "assistant"}:
            self._message(line, moment, entry)
        else:
            self.run.skipped[str(kind)] += 1

    def _message(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        agent = as_string(entry.get("parent_tool_use_id")) or MAIN
        found = ClaudeRecord(agent, line, as_dict(entry.get("message")), moment)
        found.result = entry.get("tool_use_result")
        found.meta = entry.get("isSynthetic") is True
        found.summary = self._is_summary(found)
        if entry["type"] == "assistant":
            self._messages.assistant(found)
            return
        self._messages.user(found)
        child = as_string(as_dict(found.result).get("agentId"))
        for block in as_list(found.message.get("content")):
            started = as_string(as_dict(block).get("tool_use_id"))
            if child and started:
                self.agents.setdefault(started, child)

    def _is_summary(self, found: ClaudeRecord) -> bool:
        """Whether a record is the first text that the harness gives after a compaction."""
        summary = self._compacted and found.meta and found.agent == MAIN
        self._compacted = self._compacted and not summary
        return summary

    def _system(self, line: int, entry: dict[str, Any]) -> None:
        kind = entry.get("subtype")
        if _is_init(entry):
            self._started(entry)
        elif kind == "compact_boundary":
            self.run.add_compaction(MAIN)
            self._compacted = True
        elif kind == "task_started":
            self._task(entry)
        else:
            self.run.skipped[f"system/{kind}"] += 1

    def _started(self, entry: dict[str, Any]) -> None:
        self.init = self.init or entry
        names = entry.get("skills")
        if isinstance(names, list):
            known = [name for name in names if isinstance(name, str)]
            self.run.add_offered(OfferedSkill(name, bundled=name in BUNDLED) for name in known)

    def _task(self, entry: dict[str, Any]) -> None:
        started, child = as_string(entry.get("tool_use_id")), as_string(entry.get("task_id"))
        if started and child:
            self.agents.setdefault(started, child)
            call = self.run.find_call(started)
            if call is not None and call.fields["action"] == "agent":
                call.sub_agent = child

    def _result(self, line: int, entry: dict[str, Any]) -> None:
        """The end of a run; a resumed one has several. `subtype` is "success" on errors too."""
        self.ended = True
        if entry.get("is_error") is True:
            self.run.warnings.append(f"line {line}: error: {text_of(entry.get('result'))[:200]}")
        models = [as_dict(usage) for usage in as_dict(entry.get("modelUsage")).values()]
        if models:
            steps = [step.usage for step in self.run.steps[self._unstated :]]
            self._stated.add(total_usage(map(_model_usage, models)), total_usage(steps))
            self._unstated = len(self.run.steps)
        elif usage := as_dict(entry.get("usage")):
            self.totals.append(_main_usage(usage, entry.get("total_cost_usd")))


class _Stated:
    """The totals of a stream. A process that answers several prompts states its running total
    after each; a process that resumes the session counts from zero."""

    def __init__(self) -> None:
        self.usages: list[Usage] = []
        """One per process."""

    def add(self, now: Usage | None, steps: Usage | None) -> None:
        """Take over a total; `steps` is what the log shows of the work since the last one."""
        if now is None:
            return
        before = self.usages[-1] if self.usages else None
        if before is not None and _goes_on(before, now, steps):
            self.usages.pop()
        self.usages.append(now)


def _goes_on(before: Usage, now: Usage, steps: Usage | None) -> bool:
    """Whether a total holds the one before it: no class is smaller, and the work shown leaves more
    of the prompt unexplained than side requests of a new process would."""
    classes = ((before.input, now.input), (before.cache_write, now.cache_write),
               (before.cache_read, now.cache_read), (before.output, now.output))  # fmt: skip
    grown = all((one or 0) <= (other or 0) for one, other in classes)
    return grown and 2 * (_prompt(now) - _prompt(steps)) >= _prompt(before)


def _prompt(usage: Usage | None) -> int:
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
        cost_usd=as_number(usage.get("costUSD")),
    )


def _main_usage(usage: dict[str, Any], cost: Any) -> Usage:
    return Usage(
        input=as_count(usage.get("input_tokens")),
        cache_write=as_count(usage.get("cache_creation_input_tokens")),
        cache_read=as_count(usage.get("cache_read_input_tokens")),
        output=as_count(usage.get("output_tokens")),
        reasoning=thinking_tokens(usage),
        cost_usd=as_number(cost),
    )

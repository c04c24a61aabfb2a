"""Messages of Claude Code, shared by its session files and its stdout stream.

A step is one API message: records with one message id belong together and
repeat its usage. Results are joined by tool_use_id in file order.
"""

import re
from collections import Counter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.trajectory import MessageKind, Usage
from skilljuror.logs.assembly.builders import StepBuilder, TrajectoryBuilder
from skilljuror.logs.claude_code.skill_bodies import BODY_PREFIX, SkillBodies, reloaded_skill
from skilljuror.logs.claude_code.tool_results import BackgroundCommands, read_result
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_float,
    as_int,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.content import IMAGE, text_of

SYNTHETIC = "<synthetic>"
_OWN_ERRORS = frozenset({"invalid_request", "max_output_tokens"})
"""Kinds of API errors that the request or the answer itself caused."""
_COMMAND = re.compile(r"\s*<command-(?:name>|(?:message|args)>.*<command-name>)", re.DOTALL)
"""A slash command's record; other texts may quote one."""
_ORPHAN = "user/tool_result without call"
_LOCAL = (
    "<local-command-", "[Request interrupted", "<bash-", "<task-notification>", '{"task_id":',
)  # fmt: skip


class ClaudeRecord(Struct):
    """One user or assistant record, from either kind of file."""

    agent: str
    line: int
    message: dict[str, Any]
    timestamp: float | None
    from_harness: bool = False
    """Written by the harness rather than a person."""
    tool_use_result: Any = None
    """The harness's own copy of a tool result."""
    source_call: str | None = None
    """Call that caused it."""
    is_summary: bool = False
    """The summary of a compaction."""


class ClaudeMessages:
    """Reads user and assistant messages into a run."""

    def __init__(self, run: TrajectoryBuilder, *, output_tokens: bool = True) -> None:
        self.run = run
        self._output_tokens = output_tokens
        self._bodies = SkillBodies(run)
        self._background = BackgroundCommands()
        self._early_results: dict[str, tuple[ClaudeRecord, dict[str, Any]]] = {}
        """Id of a call that has not appeared yet -> its result."""

    def add_assistant(self, entry: ClaudeRecord) -> None:
        """Read one record of an API message: a block of text, thinking or a call."""
        message = entry.message
        if message.get("model") == SYNTHETIC:
            self.run.skipped["assistant/<synthetic>"] += 1
            return
        key = as_str(message.get("id"))
        step = self.run.step_of(entry.agent, key, entry.line, entry.timestamp)
        step.model = step.model or as_str(message.get("model"))
        usage = usage_of(as_dict(message.get("usage")), output=self._output_tokens)
        step.usage = _merged_usage(step.usage, usage)
        content = message.get("content")
        if isinstance(content, str):
            step.texts.append(content)
        for block in as_list(content):
            self._block(entry, step, as_dict(block))
        for number, part in enumerate(as_list(nested(message, "usage", "iterations"))):
            if nested(part, "type") == "advisor_message":
                self._advisor(entry, key and f"{key}/{number}", as_dict(part))

    def _advisor(self, entry: ClaudeRecord, key: str | None, usage: dict[str, Any]) -> None:
        """Add a response of the model that advises the agent within a message of its own; the
        message's usage leaves it out."""
        step = self.run.step_of("advisor", key, entry.line, entry.timestamp)
        step.model = as_str(usage.get("model"))
        step.usage = usage_of(usage, output=self._output_tokens)

    def _block(self, entry: ClaudeRecord, step: StepBuilder, block: dict[str, Any]) -> None:
        kind = as_str(block.get("type"))
        if kind == "text":
            _append(step.texts, block.get("text"))
        elif kind == "thinking":
            _append(step.reasoning, block.get("thinking"))
        elif kind in {"tool_use", "server_tool_use"}:
            self._tool_use(entry, step, block)

    def _tool_use(self, entry: ClaudeRecord, step: StepBuilder, block: dict[str, Any]) -> None:
        call_id = as_str(block.get("id"))
        if call_id is not None and any(call.call_id == call_id for call in step.calls):
            return
        name = as_str(block.get("name")) or "unknown"
        call = self.run.add_call(step, call_id, name, as_dict(block.get("input")), entry.line)
        if call.action == "skill":
            self._bodies.add_call(entry.agent, call)
        elif call.action == "poll":
            self._background.add_poll(call)
        early = self._early_results.pop(call_id, None) if self._early_results and call_id else None
        if early is not None:
            self.run.skipped -= Counter([_ORPHAN])
            self._tool_result(*early)

    def add_user(self, entry: ClaudeRecord) -> None:
        """Read tool results, prompts, Skill bodies and notes of the harness."""
        content = entry.message.get("content")
        if isinstance(content, str):
            self._text(entry, content)
            return
        blocks = as_list(content)
        if (
            len(blocks) > 1
            and sum(as_dict(block).get("type") == "tool_result" for block in blocks) > 1
        ):
            entry.tool_use_result = None  # it belongs to one of them; the log does not say which
        for block in blocks:
            kind = nested(block, "type")
            if kind == "tool_result":
                self._tool_result(entry, block)
            elif kind == "text":
                self._text(entry, text_of(block))
            elif kind == "image":
                self._text(entry, IMAGE)

    def add_queued(self, agent: str, line: int, text: str, *, by_user: bool = True) -> None:
        """Read what was said to an agent while it worked."""
        harness = not by_user or text.startswith(_LOCAL)
        self.run.add_message(agent, "other" if harness else "prompt", text, line)

    def _tool_result(self, entry: ClaudeRecord, block: dict[str, Any]) -> None:
        call_id = as_str(block.get("tool_use_id"))
        call = self.run.find_call(call_id)
        if call is None:
            self.run.skipped[_ORPHAN] += 1
            if call_id is not None:
                self._early_results[call_id] = entry, block
            return
        call.result = read_result(call, block, entry.tool_use_result, entry.line)
        self._background.add_result(call, entry.tool_use_result)
        sub_agent = as_str(nested(entry.tool_use_result, "agentId"))
        if sub_agent and call.action in {"agent", "skill"}:
            call.sub_agent = sub_agent

    def _text(self, entry: ClaudeRecord, text: str) -> None:
        if text.startswith(BODY_PREFIX):
            self._bodies.add_body(entry.agent, entry.line, text, entry.source_call)
        elif not (entry.from_harness or entry.is_summary) and _COMMAND.match(text):
            self._bodies.add_command(entry.agent, entry.line, text)
        elif not (entry.from_harness and self._loaded(entry, text)):
            self.run.add_message(entry.agent, _kind(entry, text), text, entry.line)

    def _loaded(self, entry: ClaudeRecord, text: str) -> bool:
        """Whether a text of the harness answers a Skill call or a slash command."""
        name = reloaded_skill(text)
        if name is not None:
            self._bodies.add_reload_notice(entry.agent, entry.line, text, name, entry.source_call)
            return True
        call = entry.source_call
        return call is not None and self._bodies.add_expansion(entry.agent, entry.line, text, call)


def add_api_error(run: TrajectoryBuilder, agent: str, kind: Any, text: str, status: Any) -> None:
    """Record an API error of Claude Code's `kind` (older versions name none), or a retry."""
    if kind not in _OWN_ERRORS:
        run.add_fault(agent, f"{kind or ''} {text}", as_int(status), api=isinstance(kind, str))


def usage_of(usage: dict[str, Any], cost: Any = None, *, output: bool = True) -> Usage | None:
    """Usage of one message or run, without `output` tokens where these are meaningless; thinking
    tokens are part of them and missing in older versions."""
    if not usage:
        return None
    thinking = as_count(nested(usage, "output_tokens_details", "thinking_tokens"))
    return Usage(
        input=as_count(usage.get("input_tokens")),
        cache_write=as_count(usage.get("cache_creation_input_tokens")),
        cache_read=as_count(usage.get("cache_read_input_tokens")),
        output=as_count(usage.get("output_tokens")) if output else None,
        reasoning=thinking if output else None,
        cost_usd=as_float(cost),
    )


def _kind(entry: ClaudeRecord, text: str) -> MessageKind:
    if entry.is_summary:
        return "summary"
    if entry.from_harness or text.startswith(_LOCAL):
        return "other"
    return "prompt"


def _append(parts: list[str], value: Any) -> None:
    if isinstance(value, str) and value:
        parts.append(value)


def _merged_usage(before: Usage | None, now: Usage | None) -> Usage | None:
    """Merge the usage that records of one message repeat; output grows while it streams."""
    if before is None or now is None or before == now:
        return now or before
    early, late = (now, before) if (before.output or 0) > (now.output or 0) else (before, now)
    return replace(late, **{
        name: getattr(early, name)
        for name in late.__struct_fields__
        if getattr(late, name) is None
    })  # fmt: skip

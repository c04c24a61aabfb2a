"""Messages of Claude Code, shared by its session files and its stdout stream.

Facts: formats.md §4. A step is one API message: records with the same message id belong
together and repeat its usage. Results are joined by tool_use_id in file order.
"""

import re
from collections import Counter
from typing import Any

from msgspec.structs import replace

from skilljuror.models.trajectory import MessageKind, Usage
from skilljuror.parsers.assembly.builders import StepBuilder, TrajectoryBuilder
from skilljuror.parsers.claude_code.skill_bodies import BODY_PREFIX, SkillBodies, reloaded_skill
from skilljuror.parsers.claude_code.tool_results import BackgroundCommands, read_result
from skilljuror.parsers.raw_logs.coercion import (
    IMAGE,
    as_count,
    as_dict,
    as_list,
    as_string,
    text_of,
)

SYNTHETIC = "<synthetic>"
_COMMAND = re.compile(r"\s*<command-(?:name|message|args)>")
"""How the record of a slash command begins; other texts may quote one."""
_ORPHAN = "user/tool_result without call"
_LOCAL = ("<local-command-", "[Request interrupted", "<bash-", "<task-notification>")


class ClaudeRecord:
    """The facts of one user or assistant record, whichever file it came from."""

    __slots__ = (
        "agent", "from_harness", "is_summary", "line", "message", "source_call", "timestamp",
        "tool_use_result",
    )  # fmt: skip

    def __init__(
        self, agent: str, line: int, message: dict[str, Any], timestamp: float | None
    ) -> None:
        self.agent = agent
        self.line = line
        self.message = message
        self.timestamp = timestamp
        self.from_harness = False
        """Written by the harness, not by a person."""
        self.tool_use_result: Any = None
        """What the harness keeps beside a tool result, for itself."""
        self.source_call: str | None = None
        """Call that caused it."""
        self.is_summary = False
        """It is the summary of a compaction."""


class ClaudeMessages:
    """Reads user and assistant messages into a run."""

    def __init__(self, run: TrajectoryBuilder, *, output_tokens: bool = True) -> None:
        self.run = run
        self._output_tokens = output_tokens
        self._steps: dict[tuple[str, str], StepBuilder] = {}
        self._bodies = SkillBodies(run)
        self._background = BackgroundCommands()
        self._early_results: dict[str, tuple[ClaudeRecord, dict[str, Any]]] = {}
        """Id of a call that did not come yet -> its result."""

    def add_assistant(self, entry: ClaudeRecord) -> None:
        """One record of an API message: a block of text, thinking or a call."""
        message = entry.message
        if message.get("model") == SYNTHETIC:
            self.run.skipped["assistant/<synthetic>"] += 1
            return
        step = self._step(entry)
        step.usage = _merged_usage(step.usage, self._usage(as_dict(message.get("usage"))))
        content = message.get("content")
        if isinstance(content, str):
            step.texts.append(content)
        for block in as_list(content):
            self._block(entry, step, as_dict(block))

    def _step(self, entry: ClaudeRecord) -> StepBuilder:
        """The step that a record belongs to; without an id it is one of its own."""
        identity = as_string(entry.message.get("id"))
        step = None if identity is None else self._steps.get((entry.agent, identity))
        if step is None:
            step = self.run.add_step(entry.agent, entry.line, entry.timestamp)
            step.model = as_string(entry.message.get("model"))
            step.key = identity
            if identity is not None:
                self._steps[entry.agent, identity] = step
        return step

    def _block(self, entry: ClaudeRecord, step: StepBuilder, block: dict[str, Any]) -> None:
        kind = as_string(block.get("type"))
        if kind == "text":
            _append(step.texts, block.get("text"))
        elif kind == "thinking":
            _append(step.reasoning, block.get("thinking"))
        elif kind in {"tool_use", "server_tool_use"}:
            self._tool_use(entry, step, block)

    def _tool_use(self, entry: ClaudeRecord, step: StepBuilder, block: dict[str, Any]) -> None:
        call_id = as_string(block.get("id"))
        if call_id is not None and any(call.call_id == call_id for call in step.calls):
            return
        name = as_string(block.get("name")) or "unknown"
        call = self.run.add_call(step, call_id, name, as_dict(block.get("input")), entry.line)
        if call.action == "skill":
            self._bodies.add_call(entry.agent, call)
        elif call.action == "poll":
            self._background.add_poll(call)
        early = self._early_results.pop(call_id, None) if self._early_results and call_id else None
        if early is not None:
            self.run.skipped -= Counter([_ORPHAN])
            self._tool_result(*early)

    def _usage(self, usage: dict[str, Any]) -> Usage | None:
        if not usage:
            return None
        return Usage(
            input=as_count(usage.get("input_tokens")),
            cache_write=as_count(usage.get("cache_creation_input_tokens")),
            cache_read=as_count(usage.get("cache_read_input_tokens")),
            output=as_count(usage.get("output_tokens")) if self._output_tokens else None,
            reasoning=thinking_tokens(usage) if self._output_tokens else None,
        )

    def add_user(self, entry: ClaudeRecord) -> None:
        """Results of tools, prompts, skill bodies, and what the harness puts in between."""
        content = entry.message.get("content")
        if isinstance(content, str):
            self._text(entry, content)
            return
        blocks = as_list(content)
        if len(blocks) > 1 and sum(map(_is_result, blocks)) > 1:
            entry.tool_use_result = None  # it is that of one of them, and nothing says of which
        for block in blocks:
            kind = as_dict(block).get("type")
            if kind == "tool_result":
                self._tool_result(entry, block)
            elif kind == "text":
                self._text(entry, text_of(block))
            elif kind == "image":
                self._text(entry, IMAGE)

    def _tool_result(self, entry: ClaudeRecord, block: dict[str, Any]) -> None:
        call_id = as_string(block.get("tool_use_id"))
        call = self.run.find_call(call_id)
        if call is None:
            self.run.skipped[_ORPHAN] += 1
            if call_id is not None:
                self._early_results[call_id] = entry, block
            return
        call.result = read_result(call, block, entry.tool_use_result, entry.line)
        self._background.add_result(call, entry.tool_use_result)
        sub_agent = as_string(as_dict(entry.tool_use_result).get("agentId"))
        if sub_agent and call.action in {"agent", "skill"}:
            call.sub_agent = sub_agent

    def _text(self, entry: ClaudeRecord, text: str) -> None:
        if text.startswith(BODY_PREFIX):
            self._bodies.add_body(entry.agent, entry.line, text, entry.source_call)
        elif not (entry.from_harness or entry.is_summary) and _is_command(text):
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


def _is_command(text: str) -> bool:
    return "<command-name>" in text and _COMMAND.match(text) is not None


def _is_result(block: Any) -> bool:
    return as_dict(block).get("type") == "tool_result"


def thinking_tokens(usage: dict[str, Any]) -> int | None:
    """Tokens of thinking, a part of the output; older versions do not tell them apart."""
    return as_count(as_dict(usage.get("output_tokens_details")).get("thinking_tokens"))


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
    """Records of one message repeat its usage; output grows while it streams, and a class that
    one of them leaves out is that of the other."""
    if before is None or now is None or before == now:
        return now or before
    early, late = (now, before) if (before.output or 0) > (now.output or 0) else (before, now)
    return replace(late, **{
        name: getattr(early, name)
        for name in late.__struct_fields__
        if getattr(late, name) is None
    })  # fmt: skip

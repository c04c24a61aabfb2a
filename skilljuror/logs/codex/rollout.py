"""Codex rollout files: one JSON Lines file per thread, sub-agents in their own files.

A step is a sequence of model items (reasoning, assistant message, call) up to
the next output or user message.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult, Trajectory
from skilljuror.logs.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    total_usage,
)
from skilljuror.logs.assembly.tool_calls import arguments_of
from skilljuror.logs.base import Parser, SessionLink, Source, UsualFolder
from skilljuror.logs.codex import AGENT, TRAITS
from skilljuror.logs.codex.code_cell import CodeCell, command_of
from skilljuror.logs.codex.code_mode import MAX_PROGRAM, read_program
from skilljuror.logs.codex.inherited import COPY_UNSURE, own_start, parent_thread, turn_of
from skilljuror.logs.codex.messages import (
    SKILL_LIST_CUT,
    add_developer_message,
    add_user_message,
    says_list_cut,
)
from skilljuror.logs.codex.token_usage import UsageMeter
from skilljuror.logs.codex.tool_results import read_output, without_line_numbers
from skilljuror.logs.raw_logs.coercion import (
    as_dict,
    as_epoch,
    as_float,
    as_int,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.decoded import name_of_log
from skilljuror.logs.raw_logs.file_head import parse_head, read_head
from skilljuror.logs.raw_logs.jsonl import JsonLines, unreadable

_EVENTS = frozenset({"token_count", "turn_aborted", "task_complete", "item_completed", "warning"})
_ITEMS = frozenset({"CommandExecution", "CollabAgentToolCall"})


def session_meta(head: bytes) -> dict[str, Any]:
    """Payload of the first session_meta in a file's head, or {}."""
    for entry in parse_head(head).objects(b'"session_meta"'):
        if entry.get("type") == "session_meta" and nested(entry, "payload", "id"):
            return as_dict(entry["payload"])
    return {}


class CodexRollout(Parser):
    """Reads one thread and its sub-agent threads."""

    agent = AGENT
    traits = TRAITS
    usual_folder = UsualFolder("CODEX_HOME", ".codex", "sessions")

    def sniff(self, source: Source) -> bool:
        """A session_meta record whose payload has an id."""
        return bool(session_meta(source.head))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        turns: set[str] = set()
        main = _Thread(run, MAIN, turns)
        main.read(source.path)
        if main.meta.get("id") is None:
            raise unreadable(source.path, "has no session_meta record with an id")
        usages, over = [main.meter.total], main.over
        thread = str(main.meta["id"])
        for index, path in enumerate(source.siblings, 1):
            run.file = index
            goes_on = session_meta(read_head(path)).get("id") == thread
            child = _Thread(run, MAIN if goes_on else None, turns)
            child.read(path)
            usages.append(child.meter.total)
            over = child.over if goes_on else over
        run.complete = run.complete and (over or run.ends_with_answer())
        yield run.build(
            self,
            source.files,
            session=thread,
            agent_version=as_str(main.meta.get("cli_version")),
            model=main.model,
            cwd=as_str(main.meta.get("cwd")) or main.cwd,
            home=_home(run),
            usage=total_usage(usages),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's thread is read with the root thread, and a thread's later file, whose history
        is based on an earlier one, with the first."""
        meta = session_meta(source.head)
        thread = as_str(meta.get("id"))
        if thread is None:
            return None
        parent = parent_thread(meta)
        if parent is None:
            file, base = name_of_log(source.path), nested(meta, "history_base", "thread_id")
            goes_on = base and (base == thread or not file.endswith(thread))
            return SessionLink(thread, file if goes_on else None)
        return SessionLink(as_str(meta.get("session_id")) or parent, thread)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Threads of the same day."""
        return path.parent.glob("rollout-*.jsonl*")


def _home(run: TrajectoryBuilder) -> str | None:
    for root in run.skill_roots:
        head, found, _ = root.partition("/.codex/")
        if found and head:
            return head
    return None


def _unread_event(payload: dict[str, Any]) -> str | None:
    """Name of an event that repeats a response item or is bookkeeping, or None."""
    name = as_str(payload.get("type"))
    if name not in _EVENTS:
        return f"event_msg/{name}"
    item = as_str(nested(payload, "item", "type"))
    copied = name == "item_completed" and item not in _ITEMS
    return f"event_msg/item_completed/{item}" if copied else None


class _Thread:
    """Reads one rollout file into the run."""

    def __init__(self, run: TrajectoryBuilder, agent: str | None, turns: set[str]) -> None:
        self.run = run
        self.agent = agent
        """Id of the agent; None before session_meta."""
        self._turns = turns
        """Turns of the run's threads read so far."""
        self._own_from = 0
        """First line that is no copy of another thread's history."""
        self._unsure = False
        """Whether that is a guess, so that the thread's tokens are unknown."""
        self.meta: dict[str, Any] = {}
        self.model: str | None = None
        self.cwd: str | None = None
        self.meter = UsageMeter()
        self._open: StepBuilder | None = None
        self._last: StepBuilder | None = None
        self._running: dict[str, CallBuilder] = {}
        """Running commands by the session id that write_stdin polls."""
        self._cells: dict[str, CodeCell] = {}
        """Id of a call that awaits output of a program -> the program."""
        self._waited: dict[str, CodeCell] = {}
        """Id of a program that runs on -> the program."""
        self._cell: CodeCell | None = None
        """The program that ran last, until it ends."""
        self.over = False
        """Whether the last turn ended, by the agent or a person."""

    @property
    def _name(self) -> str:
        return self.agent or "unknown"

    def read(self, path: Path) -> None:
        lines = JsonLines(path)
        first = stamp = None
        for line, entry in lines:
            kind = entry.get("type")
            reader = self._readers.get(kind) if isinstance(kind, str) else None
            payload = entry.get("payload")
            if reader is None or not isinstance(payload, dict):
                self.run.skipped[str(kind)] += 1
                continue
            unread = _unread_event(payload) if kind == "event_msg" else None
            if unread is not None:
                self.run.skipped[unread] += 1
                continue
            stamp = entry.get("timestamp")
            if first is None:
                first = stamp
            if kind == "session_meta":
                self._meta(path, line, payload)
            elif line < self._own_from:
                self._copy(reader, line, stamp, payload)
            else:
                self._end_copy()
                self._turns.update(filter(None, [turn_of(payload)]))
                reader(self, line, stamp, payload)
        self._end_copy()
        self.run.include_time(as_epoch(first))
        self.run.include_time(as_epoch(stamp))
        self.run.add_diagnostics(lines)

    def _meta(self, path: Path, line: int, payload: dict[str, Any]) -> None:
        """Read the thread's session_meta; one of another thread begins a copy of that one's history."""
        first = not self.meta
        if first:
            self.meta = payload
            self.agent = self.agent or as_str(payload.get("id"))
            self.meter.forked = bool(payload.get("forked_from_id") or payload.get("history_base"))
        copy = payload.get("id") != self.meta.get("id")
        if self._own_from or not (
            copy or (first and (self.meter.forked or parent_thread(payload)))
        ):
            return
        self._own_from, self._unsure = own_start(path, self.meta, self._turns, copied=copy)
        if self._unsure:
            self.run.warnings.append(f"line {line}: {COPY_UNSURE}")

    def _copy(self, reader: Any, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        """Read a record of the other thread as context."""
        self.run.inheriting = True
        if payload.get("type") == "token_count":
            self.meter.inherit(as_dict(payload.get("info")))
        elif reader in {self._readers["response_item"], self._readers["turn_context"]}:
            reader(self, line, stamp, payload)

    def _end_copy(self) -> None:
        if self.run.inheriting:
            self.run.inheriting, self._open, self._last = False, None, None

    def _turn_context(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        self.model = as_str(payload.get("model")) or self.model
        self.cwd = self.cwd or as_str(payload.get("cwd"))

    def _response_item(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        reader = self._items.get(kind) if isinstance(kind, str) else None
        if reader is None:
            self.run.skipped[f"response_item/{kind}"] += 1
            return
        reader(self, line, stamp, payload)

    def _step(self, line: int, stamp: Any, item: dict[str, Any]) -> StepBuilder:
        self.over = False
        if self._open is None:
            self._open = self._last = self.run.add_step(self._name, line, as_epoch(stamp))
            self._open.model = self.model
            self._open.key = as_str(item.get("id"))
        return self._open

    def _message(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        role = payload.get("role")
        if role == "assistant":
            text = text_of(payload.get("content"))
            self._step(line, stamp, payload).texts.append(text)
            return
        self._open = None
        self.over = False
        if role == "user":
            add_user_message(self.run, self._name, line, payload)
        else:
            add_developer_message(self.run, self._name, line, payload)

    def _reasoning(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        step = self._step(line, stamp, payload)
        text = text_of(payload.get("summary")) or text_of(payload.get("content"))
        if text:
            step.reasoning.append(text)

    def _add_call(
        self, line: int, stamp: Any, payload: dict[str, Any], arguments: dict[str, Any]
    ) -> CallBuilder:
        name = as_str(payload.get("name")) or str(payload.get("type"))
        step = self._step(line, stamp, payload)
        call = self.run.add_call(step, as_str(payload.get("call_id")), name, arguments, line)
        if name == "read_file" and call.fields.get("start"):
            call.fields["start"] = max(1, call.fields["start"] - 1)
        return call

    def _function_call(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        arguments = arguments_of(payload.get("arguments"))
        call = self._add_call(line, stamp, payload, arguments)
        self._join_poll(call)
        cell = self._waited.get(str(arguments.get("cell_id")))
        if cell is not None:
            self._cells[str(payload.get("call_id"))] = cell

    def _join_poll(self, call: CallBuilder) -> None:
        polled = self._running.get(str(call.arguments.get("session_id")))
        if call.action == "poll" and polled is not None:
            call.fields["command"] = polled.fields.get("command")
            call.fields["workdir"] = polled.fields.get("workdir")

    def _custom_call(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        given = payload.get("input")
        if payload.get("name") != "exec" or not isinstance(given, str):
            self._add_call(line, stamp, payload, {"input": given})
            return
        program = read_program(given[:MAX_PROGRAM])
        calls = []
        for name, arguments in program.calls:
            calls.append(self._add_call(line, stamp, {**payload, "name": name}, arguments))
            self._join_poll(calls[-1])
        if program.unread or not calls:
            calls.append(self._add_call(line, stamp, payload, {"input": given}))
            calls[-1].fields["unknown"] = program.unread
        self._cell = CodeCell(line, calls, program.shown)
        self._cells[str(payload.get("call_id"))] = self._cell

    def _local_shell(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        action = as_dict(payload.get("action"))
        self._add_call(line, stamp, {**payload, "name": "local_shell"}, action)

    def _hosted_call(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        given = payload.get("arguments") or payload.get("action")
        self._add_call(line, stamp, payload, arguments_of(given))

    def _hosted_output(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        self._open = None
        call = self.run.find_call(payload.get("call_id"))
        if call is not None:
            call.result = ToolResult(text="", line=line, ok=payload.get("status") == "completed")

    def _output(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        self._open = None
        call = self.run.find_call(payload.get("call_id"))
        if call is None:
            self.run.skipped["response_item/output without call"] += 1
            return
        cell = self._cells.pop(str(payload.get("call_id")), None)
        if cell is not None:
            self._cell_output(line, cell, call, payload)
            return
        earlier = call.result
        call.result, running = read_output(text_of(payload.get("output")), line)
        if call.action == "read":
            call.result = without_line_numbers(call.result)
        if earlier is not None and earlier.exit_code is not None:
            call.result = replace(
                call.result, exit_code=earlier.exit_code, ok=earlier.ok,
                seconds=earlier.seconds or call.result.seconds,
            )  # fmt: skip
        if running is not None:
            self._running.setdefault(running, call)
        self._finish_polled(call)

    def _cell_output(
        self, line: int, cell: CodeCell, call: CallBuilder, payload: dict[str, Any]
    ) -> None:
        cell.add_output(payload.get("output"), line)
        if call not in cell.calls:
            call.result = ToolResult(text="", line=line)
        self._running = {**cell.running, **self._running}
        for one in cell.calls:
            self._finish_polled(one)
        if cell.name is not None:
            self._waited[cell.name] = cell
        elif cell is self._cell:
            self._cell = None

    def _finish_polled(self, poll: CallBuilder) -> None:
        """A poll's exit status is that of the command."""
        if poll.action != "poll" or poll.result is None or poll.result.exit_code is None:
            return
        command = self._running.pop(str(poll.arguments.get("session_id")), None)
        if command is not None and command.result is not None:
            command.result = replace(
                command.result, exit_code=poll.result.exit_code, ok=poll.result.ok
            )

    def _event(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "token_count" and not self._unsure:
            self._book(self.meter.token_count(as_dict(payload.get("info"))))
        elif kind == "item_completed":
            self._item(line, as_dict(payload.get("item")))
        elif kind == "task_complete":
            self._task_complete(line, payload)
        elif kind == "turn_aborted":
            self._open, self.over = None, True
        elif kind == "warning" and says_list_cut(payload.get("message")):
            self.run.warnings.append(f"line {line}: {SKILL_LIST_CUT}")
        else:
            self.run.skipped[f"event_msg/{kind}"] += 1

    def _item(self, line: int, item: dict[str, Any]) -> None:
        call = self.run.find_call(item.get("id"))
        if call is None:
            if item.get("type") == "CommandExecution" and self._cell is not None:
                self._add_to_cell(self._cell, item)
            return
        if item.get("type") == "CommandExecution":
            self._command_execution(line, call, item)
        for child in as_list(item.get("receiver_thread_ids"))[:1]:
            if item.get("tool") == "spawn_agent":
                call.sub_agent = as_str(child)

    def _add_to_cell(self, cell: CodeCell, item: dict[str, Any]) -> None:
        """Join a command that a program ran to its call, or add the call."""
        number = cell.call_of(item)
        if number is None and self._open is not None:
            number = len(cell.calls)
            first = cell.calls[0]
            cell.calls.append(
                self.run.add_call(
                    self._open, first.call_id, "exec_command", command_of(item), cell.line
                )
            )
        if number is not None:
            cell.items[number] = item

    def _command_execution(self, line: int, call: CallBuilder, item: dict[str, Any]) -> None:
        code = as_int(item.get("exit_code"))
        if code is None:
            return
        before = call.result or ToolResult(text="", line=line)
        call.result = replace(
            before, exit_code=code, ok=code == 0, seconds=_seconds(item) or before.seconds
        )

    def _task_complete(self, line: int, payload: dict[str, Any]) -> None:
        self._open, self.over = None, True
        error = as_str(nested(payload, "error", "message"))
        if error:
            info = nested(payload, "error", "codex_error_info")
            self.run.add_fault(self._name, f"{error} {json.dumps(info)}" if info else error)
            self.run.warnings.append(f"line {line}: the agent ended with an error: {error[:200]}")

    def _token_usage(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        self._book(self.meter.usage_record(payload))

    def _book(self, usage: Any) -> None:
        if usage is not None and self._last is not None and self._last.usage is None:
            self._last.usage = usage

    def _compacted(self, line: int, stamp: Any, payload: dict[str, Any]) -> None:
        summary = as_str(payload.get("message")) or ""
        last, self._open = self._last, None
        text = "\n".join(last.texts) if last else ""
        if last and text and not last.calls and summary.endswith(text):
            self.run.remove_step(last)
            self._last = None
        self.run.add_compaction(self._name, line, self._kept(payload))
        if summary:
            self.run.add_message(self._name, "summary", summary, line)

    def _kept(self, payload: dict[str, Any]) -> list[tuple[int, int]] | None:
        """Places of the messages that the new context repeats; None if the log does not have it."""
        history = payload.get("replacement_history")
        if not isinstance(history, list):
            return None
        repeated = TrajectoryBuilder()
        for item in map(as_dict, history):
            if item.get("role") == "user":
                add_user_message(repeated, self._name, 0, item)
        texts = {(one.kind, one.text) for one in repeated.messages}
        own = (one for one in self.run.messages if one.agent == self._name)
        return [(one.line, one.line) for one in own if (one.kind, one.text) in texts]

    _items: ClassVar = {
        "message": _message,
        "reasoning": _reasoning,
        "function_call": _function_call,
        "custom_tool_call": _custom_call,
        "function_call_output": _output,
        "custom_tool_call_output": _output,
        "local_shell_call": _local_shell,
        "web_search_call": _hosted_call,
        "tool_search_call": _hosted_call,
        "tool_search_output": _hosted_output,
    }
    _readers: ClassVar = {
        "session_meta": _turn_context,  # read by _meta
        "turn_context": _turn_context,
        "response_item": _response_item,
        "event_msg": _event,
        "token_usage_record": _token_usage,
        "compacted": _compacted,
    }
    """Record type -> reader; on the class, to avoid reference cycles."""


def _seconds(item: dict[str, Any]) -> float | None:
    duration = as_dict(item.get("duration"))
    whole, nanos = as_float(duration.get("secs")), as_float(duration.get("nanos"))
    if whole is None:
        return None
    return whole + (nanos or 0.0) / 1e9

"""Codex CLI: rollout files, and the stdout of `codex exec --json`.

A rollout is one JSON Lines file per thread, sub-agents in their own files. A step is a sequence of
model items (reasoning, assistant message, call) up to the next output or user message.

A sub-agent or a fork may start its file with a copy of another thread's records, stamped anew; a
fork with a `history_base` names that history instead of copying it. In code mode one call of `exec`
runs a program that calls the other tools (`codex_programs`).

The stream is a last resort without response boundaries, times, tokens per call and calls of
sub-agents. Its steps are inferred: text before a command belongs to it, and overlapping commands
belong together.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import (
    AgentTraits,
    MessageKind,
    OfferedSkill,
    ToolResult,
    Usage,
)
from skilljuror.logs.assembly import (
    MAIN,
    USAGE,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    arguments_of,
    strip_line_numbers,
    total_usage,
    usage_of,
)
from skilljuror.logs.base import LogKind, SessionLink, Source, UsualFolder
from skilljuror.logs.codex_programs import CodeCell, command_of, read_program
from skilljuror.logs.records import (
    JsonLines,
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_float,
    as_int,
    as_list,
    as_str,
    json_of,
    name_of_log,
    nested,
    parse_head,
    read_head,
    text_of,
)

AGENT = "codex"
TRAITS = AgentTraits(finds_skills=True)
SKILL_LIST_CUT = "the list of Skills exceeded its budget: the agent was shown less of it"
"""Warning that `quality_flags` looks for."""

_COPY_UNSURE = (
    "the log does not say where the history copied from another thread ends; only the last turn"
    " counts, and its tokens are unknown"
)
_TIMED = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4})-7")
"""Time at the start of an id (UUID version 7)."""
_LISTING = "<skills_instructions>"
_ROOT = re.compile(r"- `(?P<alias>r\d+)` = `(?P<path>[^`\n]+)`")
_SKILL = re.compile(r"- (?P<name>[^\s:]+(?::[^\s:]+)*): .*\(file: (?P<path>[^()\n]+)\)$")
_ALIAS = re.compile(r"(r\d+)/(.*)")
_INJECTED = re.compile(
    r"<skill>\s*<name>(?P<name>[^<\n]*)</name>\s*<path>(?P<path>[^<\n]*)</path>\n?"
)
_NOT_THE_USER = (
    "<environment_context>", "<subagent_notification>", "# AGENTS.md instructions",
    "<turn_aborted>", "<user_instructions>", "<INSTRUCTIONS>", "<apps_instructions>",
    "<permissions instructions>", "<collaboration_mode>", "<user_shell_command>",
)  # fmt: skip
_FRAME = re.compile(
    r"Chunk ID: \w+\nWall time: (?P<wall>\d{1,9}(?:\.\d{1,20})?) seconds?\n"
    r"Process (?:exited with code (?P<code>-?\d{1,9})|running with session ID (?P<running>\d+))\n"
    r"(?:Original token count: \d+\n)?Output:\n"
    r"(?:Warning: truncated output \(original token count: \d+\)\n)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
"""Frame around a shell command's output."""
_PATCH_FRAME = re.compile(
    r"(?:Wall time: (?:\d{1,9}(?:\.\d{1,20})?) seconds?\nOutput:\n)?"
    r"(?:Exit code: (?P<code>-?\d{1,9})\n)?Wall time: (?P<wall>\d{1,9}(?:\.\d{1,20})?) seconds?\n"
    r"(?:Total output lines: \d+\n)?Output:\n"
)
"""Frame around the output of apply_patch and of other servers' tools."""
_FAILURES = ("unsupported call: ", "apply_patch verification failed", "write_stdin failed: ",
             "failed to parse function arguments", "exec_command failed", "aborted by user",
             "exec command rejected", "failed in sandbox", "execution error", "sandbox error")  # fmt: skip
_OLDER = '{"output":'
"""Start of a shell output in older versions."""
_PIECES = '[{"type":"text"'
"""Start of an answer from another server's tool."""
_WARNING_CHARACTERS = 220


# Messages


def says_list_cut(warning: Any) -> bool:
    """Whether a warning reports a Skill list truncated to fit a budget."""
    return "skills context budget" in str(warning)


def add_user_text(run: TrajectoryBuilder, agent: str, text: str, label: str | None = None) -> None:
    """Classify and add one text of a user-role message; `label` is Codex's own."""
    injected = _INJECTED.match(text)
    if injected and label in {None, "skills.selected_skill_instructions"}:
        body = text[injected.end() :].removesuffix("</skill>")
        skill, path = injected["name"].strip(), injected["path"].strip()
        run.add_message(agent, "skill_body", body, skill=skill, path=path)
        return
    if label is not None and label != "unknown":
        prompt = label.startswith("user.")
    else:
        prompt = not text.startswith(_NOT_THE_USER)
    run.add_message(agent, "prompt" if prompt else "other", text)


def _add_user_message(run: TrajectoryBuilder, agent: str, payload: dict[str, Any]) -> None:
    labels = as_list(payload, "internal_chat_message_metadata_passthrough", "content_item_kinds")
    for index, part in enumerate(as_list(payload, "content")):
        if text := as_str(part, "text"):
            label = as_str(labels[index]) if index < len(labels) else None
            add_user_text(run, agent, text, label)


def add_system_text(run: TrajectoryBuilder, agent: str, text: str) -> None:
    """Add one text of a developer message; its Skill list becomes the offered Skills. A session
    without Skills still has such a message: its offer is known to be empty."""
    listing = _LISTING in text
    kind: MessageKind = "skill_listing" if listing else "system"
    run.add_message(agent, kind, text)
    roots: dict[str, str] = {}
    skills = []
    for entry in text.split("\n") if listing else ():
        if root := _ROOT.match(entry):
            roots[root["alias"]] = root["path"]
        elif skill := _SKILL.match(entry):
            path = skill["path"]
            alias = _ALIAS.match(path)
            if alias and alias[1] in roots:
                path = f"{roots[alias[1]]}/{alias[2]}"
            run.add_skill_root(path.rpartition("/")[0].rpartition("/")[0])
            bundled = "/skills/.system/" in path
            skills.append(
                OfferedSkill(skill["name"], path, bundled, len(entry.encode(errors="replace")))
            )
    run.add_offered(skills)


# Results


def read_output(run: TrajectoryBuilder, text: str) -> tuple[ToolResult, str | None]:
    """Return (result, session id of a command that is still running)."""
    older = as_dict(json_of(text)) if text.startswith(_OLDER) else {}
    if isinstance(older.get("output"), str):
        facts = as_dict(older, "metadata")
        return run.result(
            text, exit_code=as_int(facts, "exit_code"), clean=older["output"],
            seconds=as_float(facts, "duration_seconds"),
        ), None  # fmt: skip
    frame = _FRAME.match(text) or _PATCH_FRAME.match(text)
    if frame is None:
        return run.result(text, ok=False if text.startswith(_FAILURES) else None), None
    wall, code = frame.group("wall", "code")
    clean = text[frame.end() :]
    if clean[:60].replace(" ", "").startswith(_PIECES):
        pieces = json_of(clean)
        texts = (as_str(piece, "text") for piece in as_list(pieces))
        clean = clean if pieces is None else "\n".join(filter(None, texts))
    exit_code = None if code is None else int(code)
    result = run.result(text, exit_code=exit_code, clean=clean, seconds=float(wall))
    return result, frame["running"] if frame.re is _FRAME else None


# Tokens


Counts = tuple[int | None, ...]
"""Input, cached, written, output and reasoning tokens."""

_COUNTED = ("input", "cache_read", "cache_write", "output", "reasoning")


def _counts(stated: dict[str, Any]) -> Counts:
    return tuple(as_count(stated, getattr(USAGE["codex"], name)) for name in _COUNTED)


class UsageMeter:
    """Collects the usage of one thread.

    New files have one token_usage_record per response. Old ones repeat a cumulative total, whose
    differences count, not the sum of the "last" figures.
    """

    def __init__(self) -> None:
        self.forked = False
        """Whether the totals include those of another thread, whose history this one inherits."""
        self._records: dict[str, Usage | None] = {}
        self._differences: list[Usage | None] = []
        self._before: Counts = ()

    @property
    def total(self) -> Usage | None:
        """Usage of the thread, or None if not logged."""
        return total_usage(self._records.values() if self._records else self._differences)

    def usage_record(self, payload: dict[str, Any]) -> Usage | None:
        """Count a token_usage_record; None if its response was already counted."""
        response = str(payload.get("response_id") or len(self._records))
        if response in self._records:
            return None
        usage = self._records[response] = usage_of("codex", payload.get("usage"))
        return usage

    def inherit(self, info: dict[str, Any]) -> None:
        """Take the total of a repeated token_count event as the one before the thread's own."""
        total = _counts(as_dict(info, "total_token_usage"))
        self._before = total if total[0] is not None else self._before

    def token_count(self, info: dict[str, Any]) -> Usage | None:
        """Count a token_count event; None for a repeated total or if usage records exist. After a
        reset (a resumed thread) the last response counts."""
        total = _counts(as_dict(info, "total_token_usage"))
        if self._records or total[0] is None or total == self._before:
            return None
        if self._before:
            pairs = zip(total, self._before, strict=True)
            change = tuple(None if now is None else now - (old or 0) for now, old in pairs)
        else:
            change = _counts(as_dict(info, "last_token_usage")) if self.forked else total
        if any(count is not None and count < 0 for count in change):
            change = _counts(as_dict(info, "last_token_usage"))
        self._before = total
        if not any(change):
            return None
        names = (getattr(USAGE["codex"], name) for name in _COUNTED)
        usage = usage_of("codex", dict(zip(names, change, strict=True)))
        self._differences.append(usage)
        return usage


# Rollouts


def session_meta(head: bytes) -> dict[str, Any]:
    """Payload of the first session_meta in a file's head, or {}."""
    for record in parse_head(head).objects(b'"session_meta"'):
        if record.get("type") == "session_meta" and nested(record, "payload", "id"):
            return as_dict(record, "payload")
    return {}


def _parent(meta: dict[str, Any]) -> str | None:
    """Thread that spawned this one."""
    spawn = as_str(meta, "source", "subagent", "thread_spawn", "parent_thread_id")
    return as_str(meta, "parent_thread_id") or spawn


class _ThreadReader(RecordReader):
    """Reads one rollout file into the run; its records are envelopes of a payload."""

    def __init__(self, run: TrajectoryBuilder, turns: set[str] | None = None) -> None:
        super().__init__(run)
        self.agent: str | None = None
        """Id of the agent; None before session_meta."""
        self.turns: set[str] = set() if turns is None else turns
        """Turns of the run's threads read so far."""
        self.meta: dict[str, Any] = {}
        self.meter = UsageMeter()
        self._path = Path()
        self._first: Any = None
        """Timestamp of the first record."""
        self._stamp: Any = None
        """Timestamp of the record being read."""
        self._own_from = 0
        """First line that is no copy of another thread's history."""
        self._unsure = False
        """Whether that is a guess, so that the thread's tokens are unknown."""
        self._open: StepBuilder | None = None
        self._last: StepBuilder | None = None
        self._cells: dict[str, CodeCell] = {}
        """Id of a call that awaits output of a program -> the program."""
        self._waited: dict[str, CodeCell] = {}
        """Id of a program that runs on -> the program."""
        self._cell: CodeCell | None = None
        """The program that ran last, until it ends."""

    @property
    def name(self) -> str:
        return self.agent or "unknown"

    def read_file(self, path: Path) -> None:
        self._path = path
        super().read_file(path)
        self._end_copy()
        self.run.include_time(as_epoch(self._first))
        self.run.include_time(as_epoch(self._stamp))

    def read(self, line: int, record: dict[str, Any]) -> None:
        kind, payload = record.get("type"), record.get("payload")
        name = str(kind)
        if kind == "event_msg" and isinstance(payload, dict):
            name = f"event_msg/{as_str(payload, 'type')}"
            if name == "event_msg/item_completed":
                name = f"{name}/{as_str(payload, 'item', 'type')}"
        method = getattr(self, f"on_{name.replace('/', '_')}", None)
        if method is None or not isinstance(payload, dict):
            self.run.skip(name)
            return
        self.run.line, self._stamp = line, record.get("timestamp")
        self._first = self._stamp if self._first is None else self._first
        if kind == "session_meta":
            self.on_session_meta(payload)
        elif line < self._own_from:
            self._copy(name, method, payload)
        else:
            self._end_copy()
            if turn := as_str(payload, "turn_id"):
                self.turns.add(turn)
            method(payload)

    def on_session_meta(self, payload: dict[str, Any]) -> None:
        """Read the thread's session_meta; one of another thread begins a copy of that one's history."""
        first = not self.meta
        if first:
            self.meta = payload
            self.session, self.cwd = as_str(payload, "id"), as_str(payload, "cwd")
            self.agent_version = as_str(payload, "cli_version")
            self.agent = self.agent or self.session
            self.meter.forked = bool(payload.get("forked_from_id") or payload.get("history_base"))
        copy = payload.get("id") != self.meta.get("id")
        replayed = first and (self.meter.forked or _parent(payload))
        if not self._own_from and (copy or replayed):
            self._own_from, self._unsure = self._own_start(copied=copy)
            if self._unsure:
                self.run.warn(_COPY_UNSURE)

    def _own_start(self, *, copied: bool) -> tuple[int, bool]:
        """Return the first line of the thread's own history, and whether that is a guess.

        `copied` says that a copy is in the file. Turns are copied if another thread has them, or if
        they are older than the thread by the time in their ids. Without either, the last turn is
        taken as own: a fork is written when its first turn starts.
        """
        meta, known = self.meta, self.turns
        ordinal = as_int(meta, "subagent_history_start_ordinal")
        copied = copied or bool(meta.get("forked_from_id") and not meta.get("history_base"))
        turns: dict[str, int] = {}
        line = 0
        for line, record in JsonLines(self._path):
            payload = as_dict(record, "payload")
            if record.get("type") == "session_meta":
                copied = copied or payload.get("id") not in {None, meta.get("id")}
            elif ordinal is not None and (as_int(record, "ordinal") or 0) >= ordinal:
                return line, False
            elif record.get("type") == "turn_context" or payload.get("type") == "task_started":
                turns.setdefault(as_str(payload, "turn_id") or f"line {line}", line)
        born = _TIMED.match(str(meta.get("id")))
        older = []
        for turn in turns:
            dated = _TIMED.match(turn)
            before = born and dated and dated[1] < born[1]
            older += [turn] if (copied and turn in known) or before else []
        if not (copied or older) and ordinal is None:
            return 0, False
        names, ends = list(turns), [*turns.values(), line + 1]
        if older or ordinal is not None:
            return ends[names.index(older[-1]) + 1 if older else -1], False
        if known or (born and names and _TIMED.match(names[0])):
            return ends[0], False
        return ends[max(0, len(names) - 1)], len(names) != 2

    def _copy(self, name: str, method: Any, payload: dict[str, Any]) -> None:
        """Read a record of the other thread as context."""
        self.run.inheriting = True
        if name == "event_msg/token_count":
            self.meter.inherit(as_dict(payload, "info"))
        elif name in {"response_item", "turn_context"}:
            method(payload)

    def _end_copy(self) -> None:
        if self.run.inheriting:
            self.run.inheriting, self._open, self._last = False, None, None

    def on_turn_context(self, payload: dict[str, Any]) -> None:
        self.model = as_str(payload, "model") or self.model
        self.cwd = self.cwd or as_str(payload, "cwd")

    def on_response_item(self, payload: dict[str, Any]) -> None:
        kind = f"response_item/{payload.get('type')}"
        method = getattr(self, f"on_{kind.replace('/', '_')}", None)
        if method is None:
            self.run.skip(kind)
        else:
            method(payload)

    def _step(self, item: dict[str, Any]) -> StepBuilder:
        self.ended = False
        if self._open is None:
            self.run.moment = as_epoch(self._stamp)
            key = as_str(item, "id")
            self._open = self._last = self.run.add_step(self.name, key=key, model=self.model)
        return self._open

    def on_response_item_message(self, payload: dict[str, Any]) -> None:
        role = payload.get("role")
        if role == "assistant":
            self._step(payload).texts.append(text_of(payload, "content"))
            return
        self._open, self.ended = None, False
        if role == "user":
            _add_user_message(self.run, self.name, payload)
            return
        for part in as_list(payload, "content"):
            if text := as_str(part, "text"):
                add_system_text(self.run, self.name, text)

    def on_response_item_reasoning(self, payload: dict[str, Any]) -> None:
        text = text_of(payload, "summary") or text_of(payload, "content")
        self._step(payload).say(text, thought=True)

    def _add_call(self, payload: dict[str, Any], arguments: dict[str, Any]) -> CallBuilder:
        name = as_str(payload, "name") or str(payload.get("type"))
        step = self._step(payload)
        call = self.run.add_call(step, as_str(payload, "call_id"), name, arguments)
        if name == "read_file" and call.fields.get("start"):  # Codex counts from 1
            call.fields["start"] = max(1, call.fields["start"] - 1)
        return call

    def on_response_item_function_call(self, payload: dict[str, Any]) -> None:
        arguments = arguments_of(payload.get("arguments"))
        self._add_call(payload, arguments)
        cell = self._waited.get(str(arguments.get("cell_id")))
        if cell is not None:
            self._cells[str(payload.get("call_id"))] = cell

    def on_response_item_custom_tool_call(self, payload: dict[str, Any]) -> None:
        given = payload.get("input")
        if payload.get("name") != "exec" or not isinstance(given, str):
            self._add_call(payload, {"input": given})
            return
        program = read_program(given)
        calls = [
            self._add_call({**payload, "name": name}, arguments)
            for name, arguments in program.calls
        ]
        if program.unread or not calls:
            calls.append(self._add_call(payload, {"input": given}))
            calls[-1].fields["unknown"] = program.unread
        self._cell = CodeCell(self.run.line, calls, program.shown)
        self._cells[str(payload.get("call_id"))] = self._cell

    def on_response_item_local_shell_call(self, payload: dict[str, Any]) -> None:
        self._add_call({**payload, "name": "local_shell"}, as_dict(payload, "action"))

    def on_response_item_web_search_call(self, payload: dict[str, Any]) -> None:
        given = payload.get("arguments") or payload.get("action")
        self._add_call(payload, arguments_of(given))

    on_response_item_tool_search_call = on_response_item_web_search_call

    def on_response_item_tool_search_output(self, payload: dict[str, Any]) -> None:
        self._open = None
        call = self.run.find_call(payload.get("call_id"))
        if call is not None:
            call.result = self.run.result("", ok=payload.get("status") == "completed")

    def on_response_item_function_call_output(self, payload: dict[str, Any]) -> None:
        self._open = None
        call = self.run.answered(payload.get("call_id"), "response_item/output")
        cell = self._cells.pop(str(payload.get("call_id")), None)
        if cell is not None:
            self._cell_output(cell, call, payload)
            return
        earlier = call.result
        result, running = read_output(self.run, text_of(payload, "output"))
        numbered = strip_line_numbers(result.text) if call.action == "read" else None
        if numbered is not None:
            result = replace(result, clean=numbered[0], first_line=numbered[1], ok=True)
        if earlier is not None and earlier.exit_code is not None:
            result = replace(
                result, exit_code=earlier.exit_code, ok=earlier.ok,
                seconds=earlier.seconds or result.seconds,
            )  # fmt: skip
        call.result = result
        if running is not None and call.action != "poll":
            self.run.running[running] = call
        self._end_polled(call)

    on_response_item_custom_tool_call_output = on_response_item_function_call_output

    def _cell_output(self, cell: CodeCell, call: CallBuilder, payload: dict[str, Any]) -> None:
        cell.add_output(self.run, payload.get("output"))
        if call not in cell.calls:
            call.result = self.run.result("")
        for inner in cell.calls:
            self._end_polled(inner)
        if cell.name is not None:
            self._waited[cell.name] = cell
        elif cell is self._cell:
            self._cell = None

    def _end_polled(self, poll: CallBuilder) -> None:
        """Give the exit status of a poll to its command, whose session is then over."""
        if poll.result is not None and poll.result.exit_code is not None:
            self.run.end_polled(poll, poll.result.exit_code)
            self.run.running.pop(str(poll.arguments.get("session_id")), None)

    def on_event_msg_token_count(self, payload: dict[str, Any]) -> None:
        if not self._unsure:
            self._book(self.meter.token_count(as_dict(payload, "info")))

    def on_token_usage_record(self, payload: dict[str, Any]) -> None:
        self._book(self.meter.usage_record(payload))

    def _book(self, usage: Usage | None) -> None:
        if usage is not None and self._last is not None and self._last.usage is None:
            self._last.usage = usage

    def on_event_msg_item_completed_CommandExecution(self, payload: dict[str, Any]) -> None:
        item = as_dict(payload, "item")
        call, code = self.run.find_call(item.get("id")), as_int(item, "exit_code")
        if call is None and self._cell is not None:
            self._add_to_cell(self._cell, item)
        elif call is not None and code is not None:
            whole = as_float(item, "duration", "secs")
            nanos = as_float(item, "duration", "nanos") or 0.0
            before = call.result or self.run.result("")
            seconds = before.seconds if whole is None else whole + nanos / 1e9
            call.result = replace(before, exit_code=code, ok=code == 0, seconds=seconds)

    def on_event_msg_item_completed_CollabAgentToolCall(self, payload: dict[str, Any]) -> None:
        item = as_dict(payload, "item")
        call = self.run.find_call(item.get("id"))
        for child in as_list(item, "receiver_thread_ids")[:1]:
            if call is not None and item.get("tool") == "spawn_agent":
                call.sub_agent = as_str(child)

    def _add_to_cell(self, cell: CodeCell, item: dict[str, Any]) -> None:
        """Join a command that a program ran to its call, or add the call."""
        number = cell.call_of(item)
        if number is None and self._open is not None:
            number = len(cell.calls)
            call_id = cell.calls[0].call_id
            line, self.run.line = self.run.line, cell.line
            call = self.run.add_call(self._open, call_id, "exec_command", command_of(item))
            self.run.line = line
            cell.calls.append(call)
        if number is not None:
            cell.items[number] = item

    def on_event_msg_task_complete(self, payload: dict[str, Any]) -> None:
        self._open, self.ended = None, True
        error = as_str(payload, "error", "message")
        if error:
            info = nested(payload, "error", "codex_error_info")
            self.run.add_fault(self.name, f"{error} {json.dumps(info)}" if info else error)
            self.run.warn(f"the agent ended with an error: {error[:200]}")

    def on_event_msg_turn_aborted(self, payload: dict[str, Any]) -> None:
        self._open, self.ended = None, True

    def on_event_msg_warning(self, payload: dict[str, Any]) -> None:
        if says_list_cut(payload.get("message")):
            self.run.warn(SKILL_LIST_CUT)
        else:
            self.run.skip("event_msg/warning")

    def on_compacted(self, payload: dict[str, Any]) -> None:
        summary = as_str(payload, "message") or ""
        last, self._open = self._last, None
        text = "\n".join(last.texts) if last else ""
        if last and text and not last.calls and summary.endswith(text):
            self.run.remove_step(last)
            self._last = None
        self.run.add_compaction(self.name, self._kept(payload))
        if summary:
            self.run.add_message(self.name, "summary", summary)

    def _kept(self, payload: dict[str, Any]) -> list[tuple[int, int]] | None:
        """Places of the messages that the new context repeats; None if the log does not have it."""
        if not isinstance(payload.get("replacement_history"), list):
            return None
        repeated = TrajectoryBuilder()
        for item in as_dicts(payload, "replacement_history"):
            if item.get("role") == "user":
                _add_user_message(repeated, self.name, item)
        texts = {(message.kind, message.text) for message in repeated.messages}
        own = (message for message in self.run.messages if message.agent == self.name)
        return [(one.line, one.line) for one in own if (one.kind, one.text) in texts]

    def finish(self) -> None:
        for root in self.run.skill_roots:
            head, found, _ = root.partition("/.codex/")
            if found and head:
                self.home = head
                break


class CodexRollout(RecordParser):
    """Reads one thread and its sub-agent threads."""

    agent = AGENT
    traits = TRAITS
    usual_folder = UsualFolder("CODEX_HOME", ".codex", "sessions")
    reader = _ThreadReader
    opening = "session_meta record with an id"

    def sniff(self, source: Source) -> bool:
        """A session_meta record whose payload has an id."""
        return bool(session_meta(source.head))

    def read_files(self, reader: _ThreadReader, source: Source) -> None:
        reader.agent = MAIN
        reader.read_file(source.path)
        reader.totals.append(reader.meter.total)
        for reader.run.file, path in enumerate(source.siblings, 1):
            child = _ThreadReader(reader.run, reader.turns)
            goes_on = session_meta(read_head(path)).get("id") == reader.session
            child.agent = MAIN if goes_on else None
            child.read_file(path)
            reader.totals.append(child.meter.total)
            reader.ended = child.ended if goes_on else reader.ended

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's thread is read with the root thread, and a thread's later file, whose history
        is based on an earlier one, with the first."""
        meta = session_meta(source.head)
        thread, parent = as_str(meta, "id"), _parent(meta)
        if thread is None:
            return None
        if parent is not None:
            return SessionLink(as_str(meta, "session_id") or parent, thread)
        file, base = name_of_log(source.path), nested(meta, "history_base", "thread_id")
        goes_on = base and (base == thread or not file.endswith(thread))
        return SessionLink(thread, file if goes_on else None)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Threads of the same day."""
        return path.parent.glob("rollout-*.jsonl*")


# Stream


class _StreamReader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._step: StepBuilder | None = None
        self._open: dict[str, CallBuilder] = {}
        """Started items that have not ended."""

    def on_thread_started(self, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record, "thread_id")

    def on_turn_started(self, record: dict[str, Any]) -> None: ...

    def on_turn_completed(self, record: dict[str, Any]) -> None:
        self.ended = True
        self._step = None
        self.totals.append(usage_of("codex", record.get("usage")))

    def on_turn_failed(self, record: dict[str, Any]) -> None:
        self.ended = True
        message = nested(record, "error", "message") or record.get("message")
        self.run.add_fault(MAIN, as_str(message) or "")
        self._warn(message)

    on_error = on_turn_failed

    def _warn(self, message: Any) -> None:
        warning = f"line {self.run.line}: {as_str(message) or 'error'}"
        self.run.warnings.append(warning[:_WARNING_CHARACTERS])

    def on_item_started(self, record: dict[str, Any]) -> None:
        item = as_dict(record, "item")
        kind, key = str(item.get("type")), str(item.get("id"))
        if kind in {"agent_message", "reasoning"}:
            text = as_str(item, "text") or ""
            step = self._step_at(after_calls=True)
            (step.reasoning if kind == "reasoning" else step.texts).append(text)
        elif kind == "error":
            message = item.get("message")
            self._warn(SKILL_LIST_CUT if says_list_cut(message) else message)
        else:
            call = self._open.get(key)
            if call is None:
                step = self._step_at(after_calls=False)
                name = as_str(item, "tool") if kind == "collab_tool_call" else kind
                call = self.run.add_call(step, as_str(item, "id"), name or kind, _arguments(item))
                self._open[key] = call
            if record["type"] == "item.completed":
                self._open.pop(key, None)
                self._end(call, item)

    on_item_completed = on_item_started

    def _step_at(self, *, after_calls: bool) -> StepBuilder:
        """Step of an item: text after a call, or a call after a result, starts a new response."""
        self.run.fault = None  # an answer, in a step that may have begun before
        if self._step is None or (self._step.calls and (after_calls or not self._open)):
            self._step = self.run.add_step()
        return self._step

    def _end(self, call: CallBuilder, item: dict[str, Any]) -> None:
        code, output = as_int(item, "exit_code"), item.get("aggregated_output")
        ok = code == 0 if code is not None else item.get("status") == "completed"
        text = output if isinstance(output, str) else ""
        call.result = self.run.result(text, ok=ok, exit_code=code)
        for thread in as_list(item, "receiver_thread_ids")[:1]:
            if call.action == "agent":
                call.sub_agent = as_str(thread)


class CodexExec(RecordParser):
    agent = AGENT
    traits = TRAITS
    kind = LogKind.STREAM
    reader = _StreamReader
    opening = "thread.started record with a thread_id"

    def sniff(self, source: Source) -> bool:
        """The first object is of type thread.started."""
        return parse_head(source.head).first.get("type") == "thread.started"


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "command_execution":
        command = as_str(item, "command") or ""
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        shell = len(words) == 3 and words[1] in {"-c", "-lc"}
        if shell and words[0].endswith(("bash", "sh", "zsh")):
            command = words[2]  # the script of `/bin/bash -lc '...'`
        return {"command": command}
    if item.get("type") == "file_change":
        changes = as_dicts(item, "changes")
        return {"changes": changes, "path": changes[0].get("path") if changes else None}
    given = ("prompt", "query", "server", "arguments", "items")
    return {name: item[name] for name in given if name in item}

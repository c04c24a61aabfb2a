"""Claude Code: session files with those of their sub-agents, and the stdout stream.

A step is one API message: records with one message id belong together and repeat its usage. Results
are joined by tool_use_id in file order. The stream (`--output-format stream-json`) lacks output
tokens per message, attachments and attribution, so a session file is preferred.
"""

import re
from collections.abc import Iterator
from glob import escape
from itertools import chain
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
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    strip_line_numbers,
    total_usage,
    usage_of,
)
from skilljuror.logs.base import LogKind, SessionLink, Source, UsualFolder
from skilljuror.logs.records import (
    IMAGE,
    FileHead,
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_int,
    as_list,
    as_str,
    name_of_log,
    nested,
    parse_head,
    seconds_of,
    text_between_tags,
    text_of,
)

AGENT = "claude-code"
TRAITS = AgentTraits(
    finds_skills=True, keeps_folder=True, lists_every_skill=True, lists_folder_names=True
)
BUNDLED = frozenset(
    ("batch", "claude-api", "code-review", "dataviz", "debug", "deep-research", "doctor",
     "fewer-permission-prompts", "init", "keybindings-help", "loop", "plugin-authoring", "review",
     "run", "run-skill-generator", "security-review", "simplify", "update-config", "verify",
     "workflow-authoring"),
)  # fmt: skip
"""Skills built into Claude Code (2.1.197 and 2.1.328); its listing has no paths."""
BODY_PREFIX = "Base directory for this skill: "

_AGAIN = re.compile(
    r"\s*(?:\(Re-invocation of /(?P<one>[^\s,]+)|Skill /(?P<other>\S+) (?:is already|was) loaded )"
)
"""Text in place of a body that was already loaded."""
_SYNTHETIC = "<synthetic>"
_OWN_ERRORS = frozenset({"invalid_request", "max_output_tokens"})
"""Kinds of API errors that the request or the answer itself caused."""
_COMMAND = re.compile(r"\s*<command-(?:name>|(?:message|args)>.*<command-name>)", re.DOTALL)
"""A slash command's record; other texts may quote one."""
_LOCAL = (
    "<local-command-", "[Request interrupted", "<bash-", "<task-notification>", '{"task_id":',
)  # fmt: skip
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,5})(?:\n|\Z)")
_REMINDER = "<system-reminder>"
_STARTED = re.compile(r"Command running in background with ID: ([\w-]{1,100})")
_NOTICE_EXIT = re.compile(r"<exit_code>(-?\d{1,5})</exit_code>")
_TYPES = frozenset({"user", "assistant", "attachment", "system", "progress"})
_TYPE_FIRST = b'{"type":"'
_PARENT = b'"parentUuid"'
"""Member of every conversation record."""


# Results


def read_result(run: TrajectoryBuilder, call: CallBuilder, block: Any, metadata: Any) -> ToolResult:
    """Result of a call as the model saw it; `metadata` is toolUseResult, missing for sub-agents and
    streams."""
    text = text_of(block, "content")
    facts = as_dict(metadata)
    failed = as_dict(block).get("is_error") is True or text.startswith("<tool_use_error>")
    if call.action == "read":
        return _file_read(run, text, facts, failed)
    clean = _without_reminder(text)
    if call.action != "shell":
        ok = not failed and facts.get("success") is not False
        seconds = seconds_of(facts.get("totalDurationMs") or facts.get("durationMs"))
        return run.result(text, ok=ok, clean=clean, seconds=seconds)
    exit_code: int | None = None
    if failed:
        match = _EXIT.match(text)
        exit_code = int(match[1]) if match else None
        clean = (clean or text)[match.end() :] if match else clean
    elif not (facts.get("returnCodeInterpretation") or facts.get("backgroundTaskId")):
        exit_code = 0
    if facts.get("interrupted") is True:
        return run.result(text, ok=False, clean=clean)
    return run.result(text, ok=not failed, exit_code=exit_code, clean=clean)


def _file_read(
    run: TrajectoryBuilder, text: str, facts: dict[str, Any], failed: bool
) -> ToolResult:
    if facts.get("type") == "file_unchanged":
        return run.result(text, ok=False, unchanged=True)
    if failed:
        return run.result(text, ok=False)
    clean, first = as_str(facts, "file", "content"), as_count(facts, "file", "startLine")
    if clean is None:
        clean, first = strip_line_numbers(text) or (_without_reminder(text), None)
    total = as_count(facts, "file", "totalLines")
    return run.result(text, ok=True, clean=clean, first_line=first, total_lines=total)


def _without_reminder(text: str) -> str | None:
    """Remove a reminder of the harness; None if there is none."""
    if not text.rstrip().endswith("</system-reminder>"):
        return None
    at = text.rfind(_REMINDER)
    return None if at < 0 else text[:at].removesuffix("\n\n")


# Skill bodies


class SkillBodies:
    """Matches the text of a loaded Skill with its Skill call or slash command."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self._slash: dict[str, tuple[int, str]] = {}
        """Agent -> (line, name) of the latest slash command."""
        self._waiting: dict[str, list[CallBuilder]] = {}
        """Agent -> Skill calls without a body so far."""

    def add_call(self, agent: str, call: CallBuilder) -> None:
        self._waiting.setdefault(agent, []).append(call)

    def add_command(self, agent: str, text: str) -> None:
        """Add a slash command; built-in ones have no body."""
        name = text.partition("<command-name>")[2].partition("</command-name>")[0]
        name = name.strip().lstrip("/")
        self._slash[agent] = (self.run.line, name)
        self.run.add_message(agent, "slash", text, skill=name or None)

    def add_body(self, agent: str, text: str, source_call: str | None) -> None:
        base = text[len(BODY_PREFIX) :].partition("\n")[0].strip().rstrip("/")
        root, _, folder = base.rpartition("/")
        self.run.add_skill_root(root)
        self._add(agent, text, folder, source_call, path=base)

    def add_notice(self, agent: str, text: str, source_call: str | None) -> bool:
        """Add the harness's notice for a Skill that is already in the context, or the text of a
        command that a Skill call expanded; False if it is neither."""
        again = _AGAIN.match(text)
        if again:
            name = again["one"] or again["other"]
            if not self._add(agent, text, _tail(name), source_call, name=name):
                self.run.add_message(agent, "other", text)
            return True
        call = self._answered(agent, "", source_call) if source_call is not None else None
        if call is not None:
            skill = call.fields.get("skill")
            self.run.add_message(agent, "skill_body", text, skill=skill, call_id=call.call_id)
        return call is not None

    def _add(
        self, agent: str, text: str, folder: str, source_call: str | None, *,
        path: str | None = None, name: str | None = None,
    ) -> bool:  # fmt: skip
        """Add a body with the call or command behind it; False if there is neither, which a body
        with a path does not need."""
        call = self._answered(agent, folder, source_call)
        slash = None if call else self._slash.pop(agent, None)
        if slash is not None and _tail(slash[1]) != folder:
            slash = None
        if path is None and call is None and slash is None:
            return False
        asked = call.fields.get("skill") if call else None
        if path is not None:
            asked = asked or (slash[1] if slash else folder)
        elif call is None:
            asked = name
        self.run.add_message(
            agent, "skill_body", text, skill=asked, path=path,
            call_id=call.call_id if call else source_call,
            command_line=slash[0] if slash else None,
        )  # fmt: skip
        return True

    def _answered(self, agent: str, folder: str, source_call: str | None) -> CallBuilder | None:
        """The call by id, else the last waiting call of that name."""
        waiting = self._waiting.get(agent, [])
        for call in reversed(waiting):
            by_name = source_call is None and _tail(call.fields.get("skill") or "") == folder
            if by_name or (source_call is not None and call.call_id == source_call):
                waiting.remove(call)
                return call
        return None


def _tail(name: str) -> str:
    return name.rpartition(":")[2]


# Messages


class _MessageReader(RecordReader):
    """Reads user and assistant messages, which sessions and streams share."""

    output_tokens = True
    """Whether the output tokens of a message mean anything."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self.agent = MAIN
        """Agent of the record being read."""
        self.from_harness = False
        """Whether the harness wrote it rather than a person."""
        self.is_summary = False
        """Whether it is the summary of a compaction."""
        self.source_call: str | None = None
        """Call that caused it."""
        self.metadata: Any = None
        """The harness's own copy of its tool result."""
        self._bodies = SkillBodies(run)

    def add_assistant(self, message: dict[str, Any]) -> None:
        """Read one record of an API message: a block of text, thinking or a call."""
        if message.get("model") == _SYNTHETIC:
            self.run.skip("assistant/<synthetic>")
            return
        key = as_str(message, "id")
        step = self.run.step_of(self.agent, key)
        step.model = step.model or as_str(message, "model")
        step.usage = _merged(step.usage, self._usage(as_dict(message, "usage")))
        content = message.get("content")
        if isinstance(content, str):
            step.texts.append(content)
        for block in as_dicts(content):
            kind = block.get("type")
            if kind == "text":
                step.say(as_str(block, "text"))
            elif kind == "thinking":
                step.say(as_str(block, "thinking"), thought=True)
            elif kind in ("tool_use", "server_tool_use"):
                self._call(step, block)
        for number, part in enumerate(as_dicts(message, "usage", "iterations")):
            if part.get("type") == "advisor_message":
                # a model that advises the agent within a message, whose usage leaves it out
                advice = self.run.step_of("advisor", key and f"{key}/{number}")
                advice.model = as_str(part, "model")
                advice.usage = self._usage(part)

    def _usage(self, stated: dict[str, Any]) -> Usage | None:
        usage = usage_of("claude", stated)
        if usage is None or self.output_tokens:
            return usage
        return replace(usage, output=None, reasoning=None)

    def _call(self, step: StepBuilder, block: dict[str, Any]) -> None:
        call_id = as_str(block, "id")
        if call_id is not None and any(call.call_id == call_id for call in step.calls):
            return
        call = self.run.add_call(step, call_id, as_str(block, "name"), as_dict(block, "input"))
        if call.action == "skill":
            self._bodies.add_call(self.agent, call)

    def add_user(self, message: dict[str, Any]) -> None:
        """Read tool results, prompts, Skill bodies and notes of the harness."""
        content = message.get("content")
        if isinstance(content, str):
            self._text(content)
            return
        blocks = as_dicts(content)
        results = sum(block.get("type") == "tool_result" for block in blocks)
        # of several results the log does not say whose copy it holds
        self.metadata = None if results > 1 else self.metadata
        for block in blocks:
            kind = block.get("type")
            if kind == "tool_result":
                self._result(self.metadata, block)
            elif kind == "text":
                self._text(text_of(block))
            elif kind == "image":
                self._text(IMAGE)

    def add_queued(self, text: str, *, by_user: bool = True, **place: Any) -> None:
        """Read what was said to an agent while it worked."""
        harness = not by_user or text.startswith(_LOCAL)
        self.run.add_message(self.agent, "other" if harness else "prompt", text, **place)

    def _result(self, metadata: Any, block: dict[str, Any]) -> None:
        call = self.run.answered(block.get("tool_use_id"), "user/tool_result")
        result = call.result = read_result(self.run, call, block, metadata)
        if call.action == "shell":
            started = _STARTED.match(result.text)
            name = started[1] if started else as_str(metadata, "backgroundTaskId")
            if name:
                self.run.running[name] = call
                clean = "" if started else result.clean
                call.result = replace(result, clean=clean, exit_code=None, ok=None)
        elif call.action == "poll":
            self._poll(call, result)
        sub_agent = as_str(metadata, "agentId")
        if sub_agent and call.action in {"agent", "skill"}:
            call.sub_agent = sub_agent

    def _poll(self, call: CallBuilder, result: ToolResult) -> None:
        """Read the output of a background command, and its exit status."""
        tags = sorted(("stdout", "output"), key=lambda tag: result.text.find(f"<{tag}>"))
        outputs = (text_between_tags(result.text, tag) for tag in tags)
        clean = next((output for output in outputs if output is not None), None)
        if clean is not None:
            call.result = replace(result, clean=clean)
        code = _NOTICE_EXIT.search(result.text)
        self.run.end_polled(call, int(code[1]) if code else None)

    def _text(self, text: str) -> None:
        if text.startswith(BODY_PREFIX):
            self._bodies.add_body(self.agent, text, self.source_call)
        elif not (self.from_harness or self.is_summary) and _COMMAND.match(text):
            self._bodies.add_command(self.agent, text)
        elif not (
            self.from_harness and self._bodies.add_notice(self.agent, text, self.source_call)
        ):
            harness = self.from_harness or text.startswith(_LOCAL)
            kind: MessageKind = "summary" if self.is_summary else "other" if harness else "prompt"
            self.run.add_message(self.agent, kind, text)

    def add_api_error(self, kind: Any, text: str, status: Any) -> None:
        """Record an API error of Claude Code's `kind` (older versions name none), or a retry."""
        if kind not in _OWN_ERRORS:
            text = f"{kind or ''} {text}"
            self.run.add_fault(self.agent, text, as_int(status), api=isinstance(kind, str))


def _merged(before: Usage | None, now: Usage | None) -> Usage | None:
    """Merge the usage that records of one message repeat; output grows while it streams."""
    if before is None or now is None or before == now:
        return now or before
    early, late = (now, before) if (before.output or 0) > (now.output or 0) else (before, now)
    names = (name for name in late.__struct_fields__ if getattr(late, name) is None)
    return replace(late, **{name: getattr(early, name) for name in names})


# Sessions


def session_record(head: bytes) -> dict[str, Any]:
    """First conversation record in a file's head, or {}."""
    return next(_conversation(head), {})


def _conversation(head: bytes) -> Iterator[dict[str, Any]]:
    """Conversation records in a file's head, also behind long bookkeeping."""
    at = head.find(_PARENT) if head.startswith(_TYPE_FIRST) else -1
    behind = FileHead(head[head.rfind(b"\n", 0, at) + 1 :]).objects() if at >= 0 else ()
    for record in chain(parse_head(head).objects(b'"sessionId"', b'"uuid"'), behind):
        identified = as_str(record, "sessionId") and record.get("uuid")
        if identified and as_str(record, "type") in _TYPES:
            yield record


def _is_message(record: dict[str, Any]) -> bool:
    """Whether it is a prompt, an answer or a result."""
    content = nested(record, "message", "content")
    return record.get("type") in {"user", "assistant"} and isinstance(content, str | list)


class _SessionReader(_MessageReader):
    """Reads the records of all files of one session."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._alone: str | None = None
        """Id of the sub-agent whose file was given without its session."""
        self._compacted: set[str] = set()
        """Agents whose context was compacted and who were not prompted since."""
        self._attaches = False
        """Whether the log holds attachments; older versions do not write what they restore."""
        self._seen: dict[str, tuple[int, int]] = {}
        """Id of a record -> its file and line."""
        self._queue: list[tuple[int, str | None]] = []
        """Waiting prompts with their lines; without their text if another record has it."""

    def read_file(self, path: Path) -> None:
        super().read_file(path)
        if not self._attaches:
            self.run.compactions = [replace(one, kept=None) for one in self.run.compactions]

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record, unless it repeats another: nested in a parent's file, or copied on resume."""
        kind = record.get("type")
        self.run.line = line
        self._attaches = self._attaches or kind == "attachment"
        if kind in _TYPES:
            held = {"progress": "data", "attachment": "attachment"}.get(str(kind))
            name = as_dict(record, held).get("type") if held else None
            if held and getattr(self, f"on_{kind}_{name}", None) is None:
                self.run.skip(f"{kind}/{name}")
            elif self._is_new(record):
                self._note(record)
                self.take(f"{kind}_{name}" if held else str(kind), record)
        else:
            self.take("queue_operation" if kind == "queue-operation" else str(kind), record)

    def _is_new(self, record: dict[str, Any]) -> bool:
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return True
        if uuid in self._seen:
            self.run.skip("repeated record")
            return False
        self._seen[uuid] = self.run.file, self.run.line
        return True

    def _note(self, record: dict[str, Any]) -> None:
        """Read what every conversation record says of session and agent."""
        self.note_session(record)
        self.run.inheriting = isinstance(record.get("forkedFrom"), dict)
        self.run.at(self.run.line, as_epoch(record.get("timestamp")))
        agent = as_str(record, "agentId") or "sidechain"
        child = record.get("isSidechain") is True and agent != self._alone
        self._turn(record, agent if child else MAIN)

    def note_session(self, record: dict[str, Any]) -> None:
        if self.session is None:
            self.session = as_str(record, "sessionId")
            if record.get("isSidechain") is True:
                self._alone = as_str(record, "agentId")
        self.agent_version = self.agent_version or as_str(record, "version")
        self.cwd = self.cwd or as_str(record, "cwd")

    def _turn(self, record: dict[str, Any], agent: str) -> None:
        self.agent = agent
        self.from_harness = record.get("isMeta") is True
        self.is_summary = record.get("isCompactSummary") is True
        self.source_call = as_str(record, "sourceToolUseID")
        self.metadata = record.get("toolUseResult")

    def finish(self) -> None:
        if self.session is not None:
            self.trajectory = "/".join(filter(None, (self.session, self._alone)))
            self.session = self.trajectory
        for root in self.run.skill_roots:  # the parent of .claude outside the working directory
            head, found, _ = root.partition("/.claude/")
            inside = self.cwd and f"{self.cwd}/".startswith(f"{head}/")
            if found and ((head and not inside) or "/.claude/plugins/" in root):
                self.home = head
                break

    def on_user(self, record: dict[str, Any]) -> None:
        messages = self.run.messages
        before = len(messages)
        self.add_user(as_dict(record, "message"))
        if any(message.kind == "prompt" for message in messages[before:]):
            self._compacted.discard(self.agent)
            self.ended = self.ended and self.agent != MAIN

    def on_assistant(self, record: dict[str, Any]) -> None:
        """Read an answer, or an API error in its place."""
        failed = record.get("isApiErrorMessage") is True
        if self.agent == MAIN:
            self.ended = failed
        if failed:
            text = text_of(record, "message", "content")
            self.add_api_error(record.get("error"), text, record.get("apiErrorStatus"))
            self.run.warn(f"API error: {text[:200]}")
        self.add_assistant(as_dict(record, "message"))

    def on_progress_agent_progress(self, record: dict[str, Any]) -> None:
        """Read a sub-agent's message that older versions nest in the parent's file."""
        inner, agent = as_dict(record, "data", "message"), as_str(record, "data", "agentId")
        if agent is None:
            self.run.skip("progress/agent_progress")
            return
        if not self._is_new(inner):
            return
        call = self.run.find_call(record.get("parentToolUseID"))
        if call is not None and call.action == "agent":
            call.sub_agent = agent
        self.run.moment = as_epoch(inner.get("timestamp"))
        self._turn(inner, agent)
        if inner.get("type") == "assistant":
            self.add_assistant(as_dict(inner, "message"))
        elif inner.get("type") == "user":
            self.add_user(as_dict(inner, "message"))

    def on_system(self, record: dict[str, Any]) -> None:
        kind = record.get("subtype")
        if kind == "compact_boundary":
            self.run.add_compaction(self.agent, self._kept(as_dict(record, "compactMetadata")))
            self._compacted.add(self.agent)
        elif kind == "api_error":  # a retry
            text = as_str(record, "error", "formatted") or text_of(record, "error", "message")
            self.add_api_error(kind, text, nested(record, "error", "status"))
        else:
            self.run.skip(f"system/{kind}")

    def _kept(self, metadata: dict[str, Any]) -> list[tuple[int, int]] | None:
        """Places of the messages that stay; None if some of them are in another file, or unnamed."""
        ids = as_list(metadata, "preservedMessages", "uuids")
        stay = [self._seen.get(str(uuid), (-1, 0)) for uuid in ids]
        known = bool(ids) or "preservedSegment" not in metadata
        if not known or any(file != self.run.file for file, _ in stay):
            return None
        return [(line, line) for _, line in stay]

    def on_attachment_queued_command(self, record: dict[str, Any]) -> None:
        """A prompt given while a tool ran."""
        held = as_dict(record, "attachment")
        text = as_str(held, "prompt") or text_of(held, "prompt")
        by_user = held.get("commandMode") in {None, "prompt"} and held.get("isMeta") is not True
        by_user = by_user and nested(held, "origin", "kind") in {None, "human"}
        self._queue = [(at, None if waiting == text else waiting) for at, waiting in self._queue]
        self.add_queued(text, by_user=by_user)

    def on_queue_operation(self, record: dict[str, Any]) -> None:
        """A prompt that waits for the agent. One that is removed was given to it within its turn, in
        older versions without any other record."""
        operation = record.get("operation")
        if operation == "enqueue":
            self._queue.append((self.run.line, as_str(record, "content")))
        elif operation == "popAll":  # back to the person, to edit
            self._queue.clear()
        elif self._queue and operation in {"dequeue", "remove"}:
            at, text = self._queue.pop(0)
            if operation == "remove" and text:
                self.agent = MAIN
                self.add_queued(text, line=at)

    def on_attachment_skill_listing(self, record: dict[str, Any]) -> None:
        text = as_str(record, "attachment", "content") or ""
        names = [name for name in as_list(record, "attachment", "names") if isinstance(name, str)]
        entries = {  # lines `- name: description`; plugin names contain a colon
            line[2:].partition(": ")[0].rstrip(":").strip(): len(line.encode(errors="replace"))
            for line in text.split("\n")
            if line.startswith("- ")
        }
        self.run.add_offered(
            OfferedSkill(name, bundled=name in BUNDLED, listing_bytes=entries.get(name))
            for name in names or entries
            if name
        )
        self.run.add_message(self.agent, "skill_listing", text)

    def on_attachment_file(self, record: dict[str, Any]) -> None:
        """A file in the context without a call: named in a prompt, or restored after compaction."""
        held = as_dict(record, "attachment")
        path = as_str(held, "content", "file", "filePath") or as_str(held, "filename")
        kind: MessageKind = "reinjected" if self.agent in self._compacted else "other"
        text = as_str(held, "content", "file", "content") or ""
        self.run.add_message(self.agent, kind, text, path=path)

    def on_attachment_invoked_skills(self, record: dict[str, Any]) -> None:
        """Skills restored after a compaction."""
        for given in as_dicts(record, "attachment", "skills"):
            name, text = as_str(given, "name"), as_str(given, "content")
            if name and text and text.strip():
                self.run.add_message(self.agent, "reinjected", text, skill=name)


class ClaudeSession(RecordParser):
    """Reads one session and the files of its sub-agents."""

    agent = AGENT
    traits = TRAITS
    usual_folder = UsualFolder("CLAUDE_CONFIG_DIR", ".claude", "projects")
    reader = _SessionReader
    opening = "record with a sessionId and a uuid"

    def sniff(self, source: Source) -> bool:
        """A message with content in a conversation record with sessionId and uuid."""
        return any(map(_is_message, _conversation(source.head)))

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's file belongs to its session. A session that goes on under a new id may begin
        with the records of the old one."""
        record = session_record(source.head)
        session = as_str(record, "sessionId")
        if session is None:
            return None
        if record.get("isSidechain") is True:
            return SessionLink(session, as_str(record, "agentId"))
        return SessionLink(session, origin=as_str(record, "uuid"))

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Logs of sub-agents."""
        name = escape(name_of_log(path))
        yield from path.parent.glob(f"{name}/subagents/**/*.jsonl*")
        yield from path.parent.glob("agent-*.jsonl*")


# Stream


def _is_init(record: dict[str, Any]) -> bool:
    """Whether it starts a process; a resumed session has several."""
    opens = record.get("type") == "system" and record.get("subtype") == "init"
    return opens and as_str(record, "session_id") is not None


class _StreamReader(_MessageReader):
    output_tokens = False

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._sub_agents: dict[str, str] = {}
        """Call id -> id of the sub-agent that it started."""
        self._unstated = 0
        """Index of the first step not covered by a result."""
        self._compacted = False
        """Whether a compaction's summary is still due."""

    def finish(self) -> None:
        """Rename sub-agents to their ids, which may follow their first messages."""
        self.run.rename_agents(self._sub_agents)

    def _turn(self, record: dict[str, Any]) -> dict[str, Any]:
        """The message of a record; the first text of the harness after a compaction is its summary."""
        self.agent = as_str(record, "parent_tool_use_id") or MAIN
        self.metadata = record.get("tool_use_result")
        self.from_harness = record.get("isSynthetic") is True
        self.is_summary = self._compacted and self.from_harness and self.agent == MAIN
        self._compacted = self._compacted and not self.is_summary
        return as_dict(record, "message")

    def on_assistant(self, record: dict[str, Any]) -> None:
        message = self._turn(record)
        if record.get("error"):
            self.add_api_error(record["error"], text_of(message, "content"), None)
        self.add_assistant(message)

    def on_user(self, record: dict[str, Any]) -> None:
        message = self._turn(record)
        self.add_user(message)
        sub_agent = as_str(self.metadata, "agentId")
        for block in as_list(message, "content"):
            call_id = as_str(block, "tool_use_id")
            if sub_agent and call_id:
                self._sub_agents.setdefault(call_id, sub_agent)

    def on_system(self, record: dict[str, Any]) -> None:
        kind = record.get("subtype")
        self.agent = MAIN
        if _is_init(record):
            if self.session is None:
                self.session = as_str(record, "session_id")
                self.agent_version = as_str(record, "claude_code_version")
                self.model = as_str(record, "model")
                self.cwd = as_str(record, "cwd")
            if isinstance(record.get("skills"), list):
                names = [name for name in record["skills"] if isinstance(name, str)]
                self.run.add_offered(OfferedSkill(name, bundled=name in BUNDLED) for name in names)
        elif kind == "compact_boundary":
            self.run.add_compaction(MAIN)  # re-injected text is not in a stream
            self._compacted = True
        elif kind == "task_started":
            call_id, sub_agent = as_str(record, "tool_use_id"), as_str(record, "task_id")
            if call_id and sub_agent:
                self._sub_agents.setdefault(call_id, sub_agent)
                call = self.run.find_call(call_id)
                if call is not None and call.action == "agent":
                    call.sub_agent = sub_agent
        else:
            self.run.skip(f"system/{kind}")
        if kind == "api_retry":
            status = record.get("error_status")  # missing if the connection failed
            self.add_api_error(kind, f"{record.get('error')}, status {status}", status)

    def on_result(self, record: dict[str, Any]) -> None:
        """Read the end of a process, with its total and sub-agents. `subtype` is "success" on errors
        too.

        A process with several prompts reports a running total after each; a resumed session starts
        again from zero.
        """
        self.ended = True
        if record.get("is_error") is True:
            self.run.warn(f"error: {text_of(record, 'result')[:200]}")
        models = [
            usage_of("claude model", stated) for stated in as_dict(record, "modelUsage").values()
        ]
        if models:
            total = total_usage(models)
            steps = total_usage(step.usage for step in self.run.steps[self._unstated :])
            self._unstated = len(self.run.steps)
            if total is not None:
                if self.totals and _is_running_total(self.totals[-1], total, steps):
                    self.totals.pop()
                self.totals.append(total)
        else:  # the main agent's, in versions without a model
            self.totals.append(
                usage_of("claude", record.get("usage"), record.get("total_cost_usd"))
            )


def _is_running_total(before: Usage | None, total: Usage, steps: Usage | None) -> bool:
    """Whether a total includes the previous one: no class is smaller, and the `steps` since leave
    more of the prompt unexplained than a new process's side requests would."""
    if before is None:
        return False
    names = ("input", "cache_write", "cache_read", "output")
    grown = all((getattr(before, name) or 0) <= (getattr(total, name) or 0) for name in names)
    return grown and 2 * (_prompt_tokens(total) - _prompt_tokens(steps)) >= _prompt_tokens(before)


def _prompt_tokens(usage: Usage | None) -> int:
    if usage is None:
        return 0
    return sum(part or 0 for part in (usage.input, usage.cache_write, usage.cache_read))


class ClaudeStream(RecordParser):
    agent = AGENT
    traits = TRAITS
    kind = LogKind.STREAM
    reader = _StreamReader
    opening = "system record of subtype init"

    def sniff(self, source: Source) -> bool:
        """A system record of subtype init with a session_id."""
        return any(map(_is_init, parse_head(source.head).objects(b'"init"')))

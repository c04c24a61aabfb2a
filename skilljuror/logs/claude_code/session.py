"""Claude Code session files and their sub-agent files."""

from collections.abc import Iterator, Sequence
from glob import escape
from heapq import merge
from itertools import chain
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from skilljuror.base.trajectory import MessageKind, OfferedSkill, Trajectory
from skilljuror.logs.assembly.builders import MAIN, TrajectoryBuilder
from skilljuror.logs.base import Parser, SessionLink, Source, UsualFolder
from skilljuror.logs.claude_code import AGENT, TRAITS
from skilljuror.logs.claude_code.messages import ClaudeMessages, ClaudeRecord, add_api_error
from skilljuror.logs.raw_logs.coercion import as_dict, as_epoch, as_list, as_str, nested
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.decoded import name_of_log
from skilljuror.logs.raw_logs.file_head import LONG_HEAD_BYTES, FileHead, parse_head, read_head
from skilljuror.logs.raw_logs.jsonl import JsonLines, unreadable

BUNDLED = frozenset(
    ("batch", "claude-api", "code-review", "dataviz", "debug", "deep-research", "doctor",
     "fewer-permission-prompts", "init", "keybindings-help", "loop", "plugin-authoring", "review",
     "run", "run-skill-generator", "security-review", "simplify", "update-config", "verify",
     "workflow-authoring"),
)  # fmt: skip
"""Skills built into Claude Code (2.1.197 and 2.1.328); its listing has no paths."""

_TYPES = frozenset({"user", "assistant", "attachment", "system", "progress"})
_HELD = {"progress": "data", "attachment": "attachment"}
"""Records of many kinds -> member with their kind."""
_TYPE_FIRST = b'{"type":"'
_PARENT = b'"parentUuid"'
"""Member of every conversation record."""
_WANTED = frozenset({"agent_progress", "skill_listing", "file", "invoked_skills", "queued_command"})


def session_record(head: bytes) -> dict[str, Any]:
    """First conversation record in a file's head, or {}."""
    return next(_conversation(head), {})


def _conversation(head: bytes) -> Iterator[dict[str, Any]]:
    first_records = parse_head(head).objects(b'"sessionId"', b'"uuid"')
    for entry in chain(first_records, _behind_bookkeeping(head)):
        identified = as_str(entry.get("sessionId")) and entry.get("uuid")
        if identified and as_str(entry.get("type")) in _TYPES:
            yield entry


def _is_message(entry: dict[str, Any]) -> bool:
    """Whether it is a prompt, an answer or a result."""
    content = nested(entry, "message", "content")
    return entry.get("type") in {"user", "assistant"} and isinstance(content, str | list)


def _behind_bookkeeping(head: bytes) -> Iterator[dict[str, Any]]:
    """Messages after long bookkeeping."""
    at = head.find(_PARENT) if head.startswith(_TYPE_FIRST) else -1
    if at >= 0:
        yield from FileHead(head[head.rfind(b"\n", 0, at) + 1 :]).objects()


class ClaudeSession(Parser):
    """Reads one session and the files of its sub-agents."""

    agent = AGENT
    traits = TRAITS
    usual_folder = UsualFolder("CLAUDE_CONFIG_DIR", ".claude", "projects")

    def sniff(self, source: Source) -> bool:
        """A message with content in a conversation record with sessionId and uuid."""
        return any(map(_is_message, _conversation(source.head)))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        reader = _Reader(run)
        files, own = list(enumerate(source.files)), name_of_log(source.path)
        parts = [(index, path) for index, path in files if name_of_log(path) == own]
        reader.read(parts)
        for index, path in files:
            if name_of_log(path) != own:
                reader.read([(index, path)])
        if reader.session is None:
            reader.note(session_record(read_head(source.path, LONG_HEAD_BYTES)))
        if reader.session is None:
            raise unreadable(source.path, "has no record with a sessionId and a uuid")
        run.complete = run.complete and (reader.failed or run.ends_with_answer())
        key = "/".join(filter(None, (reader.session, reader.alone)))
        yield run.build(
            self,
            source.files,
            session=key,
            agent_version=reader.version,
            model=_model(run),
            cwd=reader.cwd,
            home=_home(run, reader.cwd),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's file belongs to its session. A session continues under the same name in
        another project folder when its agent changes directory. A session that goes on under a new
        id may begin with the records of the old one."""
        record = session_record(source.head)
        session = as_str(record.get("sessionId"))
        if session is None:
            return None
        if record.get("isSidechain") is True:
            return SessionLink(session, as_str(record.get("agentId")))
        moves = name_of_log(source.path) == session
        below = source.path.parent.parent if moves else None
        return SessionLink(session, parts_below=below, origin=as_str(record.get("uuid")))

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Logs of sub-agents, and files of the same name in other project folders."""
        name = escape(name_of_log(path))
        yield from path.parent.glob(f"{name}/subagents/**/*.jsonl*")
        yield from path.parent.glob("agent-*.jsonl*")
        yield from path.parent.parent.glob(f"*/{name}.jsonl*")


def _model(run: TrajectoryBuilder) -> str | None:
    """First model of the main agent, else of a sub-agent."""
    known = [step for step in run.steps if step.model and not step.inherited]
    return next((step for step in known if step.agent == MAIN), known[0]).model if known else None


def _home(run: TrajectoryBuilder, cwd: str | None) -> str | None:
    """The parent of .claude in a Skill root outside the working directory."""
    for root in run.skill_roots:
        head, found, _ = root.partition("/.claude/")
        if found and head and not (cwd and f"{cwd}/".startswith(f"{head}/")):
            return head
        if found and "/.claude/plugins/" in root:
            return head
    return None


def _unread(kind: str, entry: dict[str, Any]) -> str | None:
    """Name of a bookkeeping record, or None."""
    name = as_dict(entry.get(_HELD[kind])).get("type")
    return None if isinstance(name, str) and name in _WANTED else f"{kind}/{name}"


Timed = tuple[float, int, int, dict[str, Any]]
"""(time, file, line, record)"""


def _timed(file: int, lines: JsonLines) -> Iterator[Timed]:
    """Records of a file with their timestamp, else the previous one."""
    latest = -inf
    for line, entry in lines:
        latest = max(latest, as_epoch(entry.get("timestamp")) or latest)
        yield latest, file, line, entry


class _Reader:
    """Reads the records of all files of one session."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.messages = ClaudeMessages(run)
        self.session: str | None = None
        self.version: str | None = None
        self.cwd: str | None = None
        self.alone: str | None = None
        """Id of the sub-agent whose file was given without its session."""
        self.failed = False
        """Whether the last answer was an API error."""
        self._compacted: set[str] = set()
        """Agents whose context was compacted and who were not prompted since."""
        self._timestamp: float | None = None
        """Timestamp of the current record."""
        self._attaches = False
        """Whether the log holds attachments; older versions do not write what they restore."""
        self._seen: dict[str, tuple[int, int]] = {}
        """Id of a record -> its file and line."""
        self._queue: list[tuple[int, str | None]] = []
        """Waiting prompts with their lines; without their text if another record has it."""

    def read(self, parts: Sequence[tuple[int, Path]]) -> None:
        """Read all records of a file, or of the files of one conversation."""
        logs = [(index, JsonLines(path)) for index, path in parts]
        if len(logs) == 1:
            ((self.run.file, lines),) = logs
            for line, entry in lines:
                self._take(line, entry)
        else:
            for _, self.run.file, line, entry in merge(
                *(_timed(index, lines) for index, lines in logs), key=itemgetter(0)
            ):
                self._take(line, entry)
        for _, lines in logs:
            self.run.add_diagnostics(lines)
        if not self._attaches:
            self.run.compactions = [replace(one, kept=None) for one in self.run.compactions]

    def _take(self, line: int, entry: dict[str, Any]) -> None:
        kind = entry.get("type")
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        self._attaches = self._attaches or kind == "attachment"
        if kind == "queue-operation":
            self._queue_operation(line, entry)
        elif reader is None:
            self.run.skipped[str(kind)] += 1
        elif kind in _HELD and (name := _unread(kind, entry)) is not None:
            self.run.skipped[name] += 1
        elif self._is_new(entry, line):
            self.run.inheriting = isinstance(entry.get("forkedFrom"), dict)
            self.note(entry)
            reader(self, line, entry)

    def _is_new(self, entry: dict[str, Any], line: int) -> bool:
        """False for a repeated record: nested in a parent's file, or copied on resume."""
        uuid = entry.get("uuid")
        if not isinstance(uuid, str):
            return True
        if uuid in self._seen:
            self.run.skipped["repeated record"] += 1
            return False
        self._seen[uuid] = self.run.file, line
        return True

    def note(self, entry: dict[str, Any]) -> None:
        """Read session metadata from a conversation record."""
        if self.session is None:
            self.session = as_str(entry.get("sessionId"))
            if entry.get("isSidechain") is True:
                self.alone = as_str(entry.get("agentId"))
        self.version = self.version or as_str(entry.get("version"))
        self.cwd = self.cwd or as_str(entry.get("cwd"))
        self._timestamp = as_epoch(entry.get("timestamp"))
        self.run.include_time(self._timestamp)

    def _agent(self, entry: dict[str, Any]) -> str:
        if entry.get("isSidechain") is not True:
            return MAIN
        agent = as_str(entry.get("agentId")) or "sidechain"
        return MAIN if agent == self.alone else agent

    def _record(self, line: int, entry: dict[str, Any], agent: str) -> ClaudeRecord:
        return ClaudeRecord(
            agent, line, as_dict(entry.get("message")), self._timestamp,
            from_harness=entry.get("isMeta") is True,
            tool_use_result=entry.get("toolUseResult"),
            source_call=as_str(entry.get("sourceToolUseID")),
            is_summary=entry.get("isCompactSummary") is True,
        )  # fmt: skip

    def _user(self, line: int, entry: dict[str, Any]) -> None:
        agent, messages = self._agent(entry), self.run.messages
        before = len(messages)
        self.messages.add_user(self._record(line, entry, agent))
        if len(messages) > before and any(new.kind == "prompt" for new in messages[before:]):
            self._compacted.discard(agent)
            self.failed = self.failed and agent != MAIN

    def _assistant(self, line: int, entry: dict[str, Any]) -> None:
        failed = entry.get("isApiErrorMessage") is True
        if self._agent(entry) == MAIN:
            self.failed = failed
        if failed:
            text = text_of(nested(entry, "message", "content"))
            status = entry.get("apiErrorStatus")
            add_api_error(self.run, self._agent(entry), entry.get("error"), text, status)
            self.run.warnings.append(f"line {line}: API error: {text[:200]}")
        self.messages.add_assistant(self._record(line, entry, self._agent(entry)))

    def _progress(self, line: int, entry: dict[str, Any]) -> None:
        """Read a sub-agent's message that older versions nest in the parent's file."""
        data = as_dict(entry.get("data"))
        inner = as_dict(data.get("message"))
        agent = as_str(data.get("agentId"))
        if agent is None:
            self.run.skipped["progress/agent_progress"] += 1
            return
        if not self._is_new(inner, line):
            return
        call = self.run.find_call(entry.get("parentToolUseID"))
        if call is not None and call.action == "agent":
            call.sub_agent = agent
        self._timestamp = as_epoch(inner.get("timestamp"))
        record = self._record(line, inner, agent)
        if inner.get("type") == "assistant":
            self.messages.add_assistant(record)
        elif inner.get("type") == "user":
            self.messages.add_user(record)

    def _system(self, line: int, entry: dict[str, Any]) -> None:
        kind = entry.get("subtype")
        if kind == "compact_boundary":
            agent = self._agent(entry)
            self.run.add_compaction(agent, line, self._kept(as_dict(entry.get("compactMetadata"))))
            self._compacted.add(agent)
        elif kind == "api_error":  # a retry
            error = as_dict(entry.get("error"))
            text = as_str(error.get("formatted")) or text_of(error.get("message"))
            add_api_error(self.run, self._agent(entry), kind, text, error.get("status"))
        else:
            self.run.skipped[f"system/{kind}"] += 1

    def _kept(self, metadata: dict[str, Any]) -> list[tuple[int, int]] | None:
        """Places of the messages that stay; None if some of them are in another file, or unnamed."""
        ids = as_list(nested(metadata, "preservedMessages", "uuids"))
        stay = [self._seen.get(str(one), (-1, 0)) for one in ids]
        known = bool(ids) or "preservedSegment" not in metadata
        if not known or any(file != self.run.file for file, _ in stay):
            return None
        return [(line, line) for _, line in stay]

    def _attachment(self, line: int, entry: dict[str, Any]) -> None:
        held, agent = as_dict(entry.get("attachment")), self._agent(entry)
        kind = held.get("type")
        if kind == "skill_listing":
            self._listing(line, agent, held)
        elif kind == "file":
            self._file(line, agent, held)
        elif kind == "queued_command":
            self._queued(line, agent, held)
        else:
            self._invoked(line, agent, held)

    def _queued(self, line: int, agent: str, held: dict[str, Any]) -> None:
        """A prompt given while a tool ran."""
        text = as_str(held.get("prompt")) or text_of(held.get("prompt"))
        by_user = held.get("commandMode") in {None, "prompt"} and held.get("isMeta") is not True
        by_user = by_user and nested(held, "origin", "kind") in {None, "human"}
        self._queue = [(at, None if one == text else one) for at, one in self._queue]
        self.messages.add_queued(agent, line, text, by_user=by_user)

    def _queue_operation(self, line: int, entry: dict[str, Any]) -> None:
        """A prompt that waits for the agent. One that is removed was given to it within its turn, in
        older versions without any other record."""
        operation = entry.get("operation")
        if operation == "enqueue":
            self._queue.append((line, as_str(entry.get("content"))))
        elif operation == "popAll":  # back to the person, to edit
            self._queue.clear()
        elif self._queue and operation in {"dequeue", "remove"}:
            at, text = self._queue.pop(0)
            if operation == "remove" and text:
                self.messages.add_queued(MAIN, at, text)

    def _listing(self, line: int, agent: str, held: dict[str, Any]) -> None:
        text = as_str(held.get("content")) or ""
        names = [name for name in as_list(held.get("names")) if isinstance(name, str)]
        if not names:
            names = [name for name in map(_listed, text.split("\n")) if name]
        self.run.add_offered(OfferedSkill(name, bundled=name in BUNDLED) for name in names)
        self.run.add_message(agent, "skill_listing", text, line)

    def _file(self, line: int, agent: str, held: dict[str, Any]) -> None:
        """A file in the context without a call: named in a prompt, or restored after compaction."""
        file = as_dict(nested(held, "content", "file"))
        path = as_str(file.get("filePath")) or as_str(held.get("filename"))
        kind: MessageKind = "reinjected" if agent in self._compacted else "other"
        text = as_str(file.get("content")) or ""
        self.run.add_message(agent, kind, text, line, path=path)

    def _invoked(self, line: int, agent: str, held: dict[str, Any]) -> None:
        """Skills restored after a compaction."""
        for given in map(as_dict, as_list(held.get("skills"))):
            name, text = as_str(given.get("name")), as_str(given.get("content"))
            if name and text and text.strip():
                self.run.add_message(agent, "reinjected", text, line, skill=name)

    _readers: ClassVar = {
        "user": _user,
        "assistant": _assistant,
        "attachment": _attachment,
        "system": _system,
        "progress": _progress,
    }
    """Record type -> reader; on the class, to avoid reference cycles."""


def _listed(entry: str) -> str | None:
    """Name in `- name: description`; plugin names contain a colon."""
    if not entry.startswith("- "):
        return None
    return entry[2:].partition(": ")[0].rstrip(":").strip() or None

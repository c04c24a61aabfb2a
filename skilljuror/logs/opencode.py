"""OpenCode: session exports (one document per session, sub-agents in their own) and the database.

The database, from version 1.2 on, has rows that hold what an export holds (formats.md §13). It is read
from a scratch copy of the database and its write-ahead log: even a reader that asks for no writing can
change the files beside a database.
"""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Trajectory
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    strip_line_numbers,
    usage_of,
)
from skilljuror.logs.base import SessionLink, Source
from skilljuror.logs.records import (
    as_dict,
    as_dicts,
    as_epoch,
    as_float,
    as_int,
    as_list,
    as_str,
    json_of,
    nested,
    parse_head,
    text_of,
    unreadable,
)

AGENT = "opencode"
TRAITS = AgentTraits(finds_skills=True)

_SKILL = re.compile(r'\s*<skill_content name="([^"\n]{1,200})">')
_BASE = re.compile(r"^Base directory for this skill: (?:file://)?([^\n]{1,1000})", re.MULTILINE)
_WRAPPED = re.compile(r"<(file|content)>\n")
_MAGIC = b"SQLite format 3\x00"
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG = "-wal"
_TABLES = {"session", "message", "part"}
_SESSIONS = "SELECT id, parent_id, directory, version FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"


class _Reader(RecordReader):
    """Reads messages with their parts."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self.agent: str | None = MAIN
        """Agent of the messages; None for a sub-agent, which has the id of its session."""

    def read_file(self, path: Path) -> None:
        document = self.document(path)
        if not isinstance(document.value, dict):
            raise unreadable(path, "is not an OpenCode export")
        info = as_dict(document.value, "info")
        if self.agent == MAIN:
            self.session, self.cwd = as_str(info, "id"), as_str(info, "directory")
            self.agent_version = as_str(info, "version")
        self.agent = self.agent or as_str(info, "id") or "unknown"
        for number, message in document.elements(document.value.get("messages")):
            self.read(number, as_dict(message))
        self.agent = None

    def read(self, line: int, record: dict[str, Any]) -> None:
        info, parts = as_dict(record, "info"), as_dicts(record, "parts")
        self.run.at(line, as_epoch(info, "time", "created"))
        self.run.include_time(as_epoch(info, "time", "completed"))
        agent = self.agent or "unknown"
        if info.get("role") == "user":
            for part in parts:
                if part.get("type") == "text":
                    self._user_text(agent, text_of(part), made=part.get("synthetic") is True)
            return
        if info.get("summary") is True:
            self.run.add_compaction(agent)
        self._assistant(agent, info, parts)

    def _user_text(self, agent: str, text: str, *, made: bool) -> None:
        """A text that wraps a Skill or names its folder is the body of a slash command."""
        skill, base = _SKILL.match(text), _BASE.search(text)
        folder = base[1].strip().rstrip("/") if base else None
        if skill is None and folder is None:
            self.run.add_message(agent, "other" if made else "prompt", text)
            return
        name = skill[1] if skill else (folder or "").rpartition("/")[2]
        body = text if skill or base is None else text[: base.start()].rstrip("\n")
        line = self.run.line
        self.run.add_message(agent, "skill_body", body, skill=name, command_line=line, path=folder)

    def _assistant(self, agent: str, info: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """One step per model response; tokens are in step-finish parts, else in the message."""
        step: StepBuilder | None = None
        finished = False
        for part in parts:
            kind = part.get("type")
            if step is None or (kind == "step-start" and (step.calls or step.texts)):
                # a fork's copies have ids of their own
                key = str(self.run.moment or info.get("id"))
                step = self.run.add_step(agent, key=key, model=as_str(info, "modelID"))
            if kind == "step-finish":
                finished = True
                step.usage = usage_of("opencode", part.get("tokens"), part.get("cost"))
            elif kind == "text":
                step.texts.append(text_of(part))
            elif kind == "reasoning":
                step.reasoning.append(text_of(part))
            elif kind == "tool":
                state = as_dict(part, "state")
                call_id, tool = as_str(part, "callID"), as_str(part, "tool")
                call = self.run.add_call(step, call_id, tool, as_dict(state, "input"))
                call.sub_agent = as_str(state, "metadata", "sessionId")
                call.result = self._result(call, state)
            elif kind not in {"step-start", "patch", "snapshot"}:
                self.run.skip(f"part/{kind}")
        if step is not None and not finished:
            step.usage = usage_of("opencode", info.get("tokens"), info.get("cost"))

    def _result(self, call: CallBuilder, state: dict[str, Any]) -> ToolResult | None:
        status = as_str(state, "status")
        if status not in {"completed", "error"}:
            return None
        text = text_of(state, "output") or text_of(state, "error")
        code = as_int(state, "metadata", "exit")
        ok = status == "completed" and code in {None, 0}
        clean = first = None
        if call.action == "read" and ok:
            wrapped = _WRAPPED.search(text)
            numbered = text[wrapped.end() :] if wrapped else text
            clean, first = strip_line_numbers(numbered) or (None, None)
        start, end = as_float(state, "time", "start"), as_float(state, "time", "end")
        seconds = None if start is None or end is None else max(0.0, (end - start) / 1000)
        return self.run.result(
            text, ok=ok, exit_code=code, clean=clean, first_line=first, seconds=seconds
        )


def session_info(head: bytes) -> dict[str, Any]:
    """The info of an export, or {}."""
    first = parse_head(head).first
    info = as_dict(first, "info")
    known = as_str(info, "id") and ({"directory", "time", "parentID"} & set(info))
    return info if known and isinstance(first.get("messages"), list) else {}


class OpenCode(RecordParser):
    """Reads one export and its sub-agents' exports."""

    agent = AGENT
    traits = TRAITS
    reader = _Reader
    opening = "info with an id"

    def sniff(self, source: Source) -> bool:
        """An object with info (id, directory or time) and a list of messages."""
        return bool(session_info(source.head))

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's export names its parent. A fork does not, but its copies keep their times."""
        info = session_info(source.head)
        session, parent = as_str(info, "id"), as_str(info, "parentID")
        if session is None:
            return None
        messages = as_list(parse_head(source.head).first, "messages")
        begun = nested(messages[0], "info", "time", "created") if messages else None
        origin = f"{info.get('directory')} {begun}" if begun and not parent else None
        return SessionLink(parent or session, session if parent else None, origin=origin)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Exports in the same folder."""
        return path.parent.glob("*.json")


class OpenCodeDatabase(RecordParser):
    """Reads every session of a database, each with those of its sub-agents."""

    agent = AGENT
    traits = TRAITS

    def sniff(self, source: Source) -> bool:
        """A SQLite file with OpenCode's tables, or the write-ahead log beside one."""
        if source.head.startswith(_LOG_MAGIC):
            return source.path.name.endswith(_LOG) and _is_database(_database_of(source.path))
        return source.head.startswith(_MAGIC) and _is_database(source.path)

    def session_link(self, source: Source) -> SessionLink:
        """The write-ahead log is read with its database."""
        database = _database_of(source.path)
        child = _LOG if source.path != database else None
        return SessionLink(str(database), child, by_path=True)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """The write-ahead log."""
        yield path.with_name(path.name + _LOG)

    def parse(self, source: Source) -> Iterator[Trajectory]:
        with TemporaryDirectory(prefix="skilljuror-") as folder:
            copy = Path(folder) / "copy.db"
            shutil.copyfile(source.path, copy)
            for log in source.siblings:
                shutil.copyfile(log, copy.with_name(copy.name + _LOG))
            try:
                with closing(sqlite3.connect(copy)) as database:
                    yield from self._sessions(source, database)
            except sqlite3.Error as error:
                raise unreadable(source.path, f"is not a whole database: {error}") from error

    def _sessions(self, source: Source, database: sqlite3.Connection) -> Iterator[Trajectory]:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        sessions = {row[0]: row for row in database.execute(_SESSIONS)}
        for session, parent, directory, version in sessions.values():
            if parent in sessions:
                continue
            reader = _Reader(TrajectoryBuilder())
            reader.session, reader.cwd = as_str(session), as_str(directory)
            reader.agent_version = as_str(version)
            _read_rows(reader, database, session)
            for child in _below(session, sessions):
                reader.agent = child
                _read_rows(reader, database, child)
            yield self.run_of(reader, source)


def _read_rows(reader: _Reader, database: sqlite3.Connection, session: str) -> None:
    """Read the messages of a session, in the form of an export."""
    parts: dict[str, list[Any]] = {}
    for message, data in database.execute(_PARTS, (session,)):
        parts.setdefault(message, []).append(json_of(data))
    for number, (message, data) in enumerate(database.execute(_MESSAGES, (session,)), 1):
        info = as_dict(json_of(data)) | {"id": message}
        reader.read(number, {"info": info, "parts": parts.get(message, [])})


def _database_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(_LOG))


def _is_database(path: Path) -> bool:
    """Whether a file has the tables; an immutable database is opened without its log and any lock."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        ) as opened:
            names = {name for (name,) in opened.execute("SELECT name FROM sqlite_schema")}
    except sqlite3.Error:
        return path.name == "opencode.db"
    return names >= _TABLES or (not names and path.name == "opencode.db")


def _below(session: str, sessions: dict[str, Any]) -> Iterator[str]:
    """Sessions of sub-agents, and of theirs."""
    for child, (_, parent, *_) in sessions.items():
        if parent == session:
            yield child
            yield from _below(child, sessions)

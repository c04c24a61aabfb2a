"""OpenCode's database, from version 1.2 on: rows that hold what an export holds (formats.md §13).

It is read from a scratch copy of the database and its write-ahead log: even a reader that asks for no
writing can change the files beside a database.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skilljuror.base.trajectory import Trajectory
from skilljuror.logs.assembly.builders import MAIN, TrajectoryBuilder
from skilljuror.logs.base import Parser, SessionLink, Source
from skilljuror.logs.opencode import AGENT, TRAITS
from skilljuror.logs.opencode.session_export import read_message
from skilljuror.logs.raw_logs.coercion import as_dict, as_str, json_of
from skilljuror.logs.raw_logs.json_document import JsonElement
from skilljuror.logs.raw_logs.jsonl import unreadable

_MAGIC = b"SQLite format 3\x00"
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG = "-wal"
_TABLES = {"session", "message", "part"}
_SESSIONS = "SELECT id, parent_id, directory, version FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"


class OpenCodeDatabase(Parser):
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
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise unreadable(
                source.path,
                f"is not a whole database ({state}); read it again when OpenCode is idle",
            )
        sessions = {row[0]: row for row in database.execute(_SESSIONS)}
        for session, parent, directory, version in sessions.values():
            if parent not in sessions:
                run = TrajectoryBuilder()
                _read(run, database, session, MAIN)
                for child in _below(session, sessions):
                    _read(run, database, child, child)
                run.complete = run.ends_with_answer()
                yield run.build(
                    self,
                    source.files,
                    session=as_str(session),
                    agent_version=as_str(version),
                    model=next((step.model for step in run.steps if step.model), None),
                    cwd=as_str(directory),
                )


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


def _read(run: TrajectoryBuilder, database: sqlite3.Connection, session: str, agent: str) -> None:
    """Add the messages of a session, in the form of an export."""
    parts: dict[str, list[Any]] = {}
    for message, data in database.execute(_PARTS, (session,)):
        parts.setdefault(message, []).append(as_dict(json_of(data)))
    for number, (message, data) in enumerate(database.execute(_MESSAGES, (session,)), 1):
        info = as_dict(json_of(data)) | {"id": message}
        element = JsonElement(number, {"info": info, "parts": parts.get(message, [])})
        read_message(run, element, agent)

"""Claude Code session files and the sub-agent files beside them (formats.md §4.1, §4.3)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import OfferedSkill, Trajectory
from skilljuror.parsers.base import Source
from skilljuror.parsers.claude_messages import ClaudeMessages, ClaudeRecord
from skilljuror.parsers.drafts import MAIN, RunDraft, total_usage
from skilljuror.parsers.endings import is_answered
from skilljuror.parsers.fields import epoch, record, rows, string, text
from skilljuror.parsers.lines import JsonLines
from skilljuror.parsers.peek import peek

BUNDLED = frozenset(
    ("batch", "claude-api", "code-review", "dataviz", "debug", "deep-research",
     "fewer-permission-prompts", "init", "keybindings-help", "loop", "plugin-authoring", "review",
     "run", "run-skill-generator", "security-review", "simplify", "update-config", "verify",
     "workflow-authoring"),
)  # fmt: skip
"""Skills that Claude Code itself lists (2.1.197 and 2.1.328); its listing has no paths."""

_TYPES = frozenset({"user", "assistant", "attachment", "system", "progress"})
_BOOKKEEPING = re.compile(rb'\{"type":"([a-z-]+)"')
_KINDS = (
    ("progress", b'"type":"progress","data":{"type":"'),
    ("attachment", b'"attachment":{"type":"'),
)
"""Records of many kinds: (type, what stands before the name of the kind)."""
_NAME = re.compile(rb'(\w+)"')
_HEAD = 700
"""Bytes of a line within which its type and kind stand."""
_WANTED = frozenset({b"agent_progress", b"skill_listing", b"file", b"invoked_skills"})
_READ = frozenset({b"user", b"assistant", b"attachment", b"system", b"progress"})


def session_record(head: bytes) -> dict[str, Any]:
    """The first record of a conversation in a file's head; {} when there is none."""
    for entry in peek(head).entries(b'"sessionId"', b'"uuid"'):
        if (
            string(entry.get("sessionId"))
            and entry.get("uuid")
            and string(entry.get("type")) in _TYPES
        ):
            return entry
    return {}


class ClaudeSession:
    """Reads one session and the files of its sub-agents."""

    format: ClassVar[str] = "claude-session"
    native: ClassVar[int] = 0

    def sniff(self, source: Source) -> bool:
        """A conversation record with sessionId and uuid."""
        return bool(session_record(source.head))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory: the session's files in order, then its sub-agents'."""
        run = RunDraft()
        reader = _Reader(run)
        for index, path in enumerate((source.path, *source.siblings)):
            run.file = index
            reader.read(path)
        if reader.session is None:
            raise TrajectoryError(
                f"{str(source.path)!r} has no record with a sessionId and a uuid",
                file=str(source.path),
            )
        run.complete = run.complete and (reader.failed or is_answered(run))
        key = "/".join(filter(None, (reader.session, reader.alone)))
        yield run.freeze(
            trajectory=key,
            session=key,
            format=self.format,
            files=tuple(str(path) for path in (source.path, *source.siblings)),
            agent="claude-code",
            agent_version=reader.version,
            model=next((step.model for step in run.steps if step.model), None),
            cwd=reader.cwd,
            home=_home(run, reader.cwd),
            usage=total_usage(step.usage for step in run.steps),
        )


def _home(run: RunDraft, cwd: str | None) -> str | None:
    """What stands before .claude in a skill root outside the working directory."""
    for root in run.roots:
        head, found, _ = root.partition("/.claude/")
        if found and head and not (cwd and f"{cwd}/".startswith(f"{head}/")):
            return head
        if found and "/.claude/plugins/" in root:
            return head
    return None


def _passed_over(line: bytes) -> str | None:
    """Bookkeeping, recognised without decoding; in conversation records type is never first."""
    match = _BOOKKEEPING.match(line) if line.startswith(b'{"type":"') else None
    if match:
        return None if match[1] in _READ else match[1].decode()
    for kind, mark in _KINDS:
        at = line.find(mark, 0, _HEAD)
        name = _NAME.match(line, at + len(mark), _HEAD) if at >= 0 else None
        if name and name[1] not in _WANTED:
            return f"{kind}/{name[1].decode()}"
    return None


class _Reader:
    """Reads the records of all files of one session."""

    def __init__(self, run: RunDraft) -> None:
        self.run = run
        self.messages = ClaudeMessages(run)
        self.session: str | None = None
        self.version: str | None = None
        self.cwd: str | None = None
        self.alone: str | None = None
        """Id of the sub-agent whose file was given without its session."""
        self.failed = False
        """Whether the last answer so far was an error of the API."""
        self._moment: float | None = None
        """Time of the record being read."""
        self._seen: set[str] = set()

    def read(self, path: Path) -> None:
        """Read every record of one file."""
        lines = JsonLines(path, _passed_over)
        for line, entry in lines:
            kind = entry.get("type")
            reader = self._readers.get(kind) if isinstance(kind, str) else None
            if reader is None:
                self.run.skipped[str(kind)] += 1
            elif self._is_new(entry):
                self._note(entry)
                reader(self, line, entry)
        self.run.close(lines)

    def _is_new(self, entry: dict[str, Any]) -> bool:
        """False for a record seen before: nested in a parent's file, or copied on resuming."""
        uuid = entry.get("uuid")
        if not isinstance(uuid, str):
            return True
        if uuid in self._seen:
            self.run.skipped["repeated record"] += 1
            return False
        self._seen.add(uuid)
        return True

    def _note(self, entry: dict[str, Any]) -> None:
        if self.session is None:
            self.session = string(entry.get("sessionId"))
            if entry.get("isSidechain") is True:
                self.alone = string(entry.get("agentId"))
        self.version = self.version or string(entry.get("version"))
        self.cwd = self.cwd or string(entry.get("cwd"))
        self._moment = epoch(entry.get("timestamp"))
        self.run.seen_at(self._moment)

    def _agent(self, entry: dict[str, Any]) -> str:
        if entry.get("isSidechain") is not True:
            return MAIN
        agent = string(entry.get("agentId")) or "sidechain"
        return MAIN if agent == self.alone else agent

    def _record(self, line: int, entry: dict[str, Any], agent: str) -> ClaudeRecord:
        found = ClaudeRecord(agent, line, record(entry.get("message")), self._moment)
        found.meta = entry.get("isMeta") is True
        found.summary = entry.get("isCompactSummary") is True
        found.source_call = string(entry.get("sourceToolUseID"))
        found.result = entry.get("toolUseResult")
        return found

    def _user(self, line: int, entry: dict[str, Any]) -> None:
        self.messages.user(self._record(line, entry, self._agent(entry)))

    def _assistant(self, line: int, entry: dict[str, Any]) -> None:
        failed = entry.get("isApiErrorMessage") is True
        if self._agent(entry) == MAIN:
            self.failed = failed
        if failed:
            shown = text(record(entry.get("message")).get("content"))
            self.run.warnings.append(f"line {line}: API error: {shown[:200]}")
        self.messages.assistant(self._record(line, entry, self._agent(entry)))

    def _progress(self, line: int, entry: dict[str, Any]) -> None:
        """Older versions nest a whole message of a sub-agent in the parent's file."""
        data = record(entry.get("data"))
        nested = record(data.get("message"))
        agent = string(data.get("agentId"))
        kind = data.get("type")
        if kind != "agent_progress" or agent is None or not self._is_new(nested):
            self.run.skipped[f"progress/{kind}"] += 1
            return
        call = self.run.find_call(entry.get("parentToolUseID"))
        if call is not None and call.fields["action"] == "agent":
            call.child = agent
        self._moment = epoch(nested.get("timestamp"))
        found = self._record(line, nested, agent)
        if nested.get("type") == "assistant":
            self.messages.assistant(found)
        elif nested.get("type") == "user":
            self.messages.user(found)

    def _system(self, line: int, entry: dict[str, Any]) -> None:
        kind = entry.get("subtype")
        if kind == "compact_boundary":
            self.run.compacted(self._agent(entry))
        else:
            self.run.skipped[f"system/{kind}"] += 1

    def _attachment(self, line: int, entry: dict[str, Any]) -> None:
        held = record(entry.get("attachment"))
        kind = held.get("type")
        if kind == "skill_listing":
            self._listing(line, self._agent(entry), held)
        elif kind == "file":
            self._file(line, self._agent(entry), held)
        elif kind == "invoked_skills":
            self._invoked(line, self._agent(entry), held)
        else:
            self.run.skipped[f"attachment/{kind}"] += 1

    def _listing(self, line: int, agent: str, held: dict[str, Any]) -> None:
        shown = string(held.get("content")) or ""
        names = [name for name in rows(held.get("names")) if isinstance(name, str)]
        if not names:
            names = [name for name in map(_listed, shown.split("\n")) if name]
        self.run.offer(OfferedSkill(name, bundled=name in BUNDLED) for name in names)
        self.run.message(agent, "skill_listing", shown, line)

    def _file(self, line: int, agent: str, held: dict[str, Any]) -> None:
        """A file in the context without a call: after a compaction it was put back."""
        file = record(record(held.get("content")).get("file"))
        path = string(file.get("filePath")) or string(held.get("filename"))
        again = any(who == agent for who, _ in self.run.compactions)
        shown = string(file.get("content")) or ""
        self.run.message(agent, "reinjected" if again else "other", shown, line, path=path)

    def _invoked(self, line: int, agent: str, held: dict[str, Any]) -> None:
        """Skills that were loaded before a compaction, put back after it."""
        for given in map(record, rows(held.get("skills"))):
            name, shown = string(given.get("name")), string(given.get("content"))
            if name and shown and shown.strip():
                self.run.message(agent, "reinjected", shown, line, skill=name)

    _readers: ClassVar = {
        "user": _user,
        "assistant": _assistant,
        "attachment": _attachment,
        "system": _system,
        "progress": _progress,
    }
    """Type of a record -> its reader; of the class, so that no reader holds on to itself."""


def _listed(entry: str) -> str | None:
    """The name in `- name: description`; plugin names hold a colon of their own."""
    if not entry.startswith("- "):
        return None
    return entry[2:].partition(": ")[0].rstrip(":").strip() or None

"""Pi sessions, versions 1 to 3: entries of a tree in one file (formats.md §13).

Entries are read in the order of the file: a branch that was left ran all the same.
"""

import re
from math import inf
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Usage
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, TrajectoryBuilder
from skilljuror.logs.base import Source, UsualFolder
from skilljuror.logs.json_lines import JsonLinesParser, RecordReader
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_float,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head

_SKILL = re.compile(
    r'<skill name="(?P<name>[^"\n]{1,200})" location="(?P<place>[^"\n]{1,1000})">\n'
    r"(?:References are relative to [^\n]{1,1000}\n\n)?(?P<body>.*?)\n?</skill>(?:\n\n)?",
    re.DOTALL,
)
_MORE = re.compile(r"\n\n\[(?:Showing lines|\d{1,9} more lines in file)[^\n]{1,300}\]\Z")
_STATUS = re.compile(
    r"\n*Command (?:exited with code (?P<code>-?\d{1,9})|aborted|timed out[^\n]*)\Z"
)
_NEAR_END = 1000
"""Characters at the end that contain what Pi adds to an output."""


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._last: str | None = None
        """Id of the entry before."""
        self._lines: dict[str, int] = {}
        """Id of an entry -> its line."""
        self._forked_at: float | None = None
        """Start of a session that begins with a copy of another one's older entries."""

    def read(self, line: int, record: dict[str, Any]) -> None:
        moment = as_epoch(record.get("timestamp"))
        if record.get("type") == "session" and (record.get("parentSession") or record.get("branchedFrom")):  # fmt: skip
            self._forked_at = moment
        self.run.inheriting = (moment or inf) < (self._forked_at or -inf)
        parent = as_str(record.get("parentId"))
        if parent is not None and self._last is not None and parent != self._last:
            self.run.add_rewind(line)
        if "parentId" in record:
            self._last = as_str(record.get("id"))
            self._lines[self._last or ""] = line
        super().read(line, record)

    def finish(self) -> None:
        self.ended = self.run.ends_with_answer()

    def on_session(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record.get("id"))
        self.cwd = self.cwd or as_str(record.get("cwd"))

    def on_message(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        message = as_dict(record.get("message"))
        role = as_str(message.get("role"))
        if role == "assistant":
            self._assistant(line, timestamp, as_str(record.get("id")), message)
        elif role == "toolResult":
            self._result(line, message)
        elif role == "user":
            self._prompt(line, text_of(message.get("content")))
        elif role == "bashExecution" and message.get("excludeFromContext") is not True:
            self.run.add_message(MAIN, "other", text_of(message.get("output")), line)
        elif role in {"custom", "hookMessage"}:
            self.run.add_message(MAIN, "other", text_of(message.get("content")), line)
        else:
            self.run.skipped[f"message/{role}"] += 1

    def _assistant(
        self, line: int, timestamp: float | None, key: str | None, message: dict[str, Any]
    ) -> None:
        if message.get("stopReason") == "error":
            self.run.add_fault(MAIN, text_of(message.get("errorMessage")))
            if not message.get("content"):
                return
        step = self.run.add_step(MAIN, line, timestamp)
        step.key = key
        step.model = as_str(message.get("model"))
        self.model = self.model or step.model
        step.usage = _usage(as_dict(message.get("usage")))
        for part in map(as_dict, as_list(message.get("content"))):
            if part.get("type") == "toolCall":
                name, arguments = (
                    as_str(part.get("name")) or "unknown",
                    as_dict(part.get("arguments")),
                )
                self.run.add_call(step, as_str(part.get("id")), name, arguments, line)
            elif part.get("type") == "thinking":
                step.reasoning.append(text_of(part.get("thinking")))
            elif text := text_of(part):
                step.texts.append(text)

    def _result(self, line: int, message: dict[str, Any]) -> None:
        call = self.run.find_call(message.get("toolCallId"))
        if call is None:
            self.run.skipped["toolResult without call"] += 1
            return
        text = text_of(message.get("content"))
        call.result = _tool_result(call, text, line, failed=message.get("isError") is True)

    def _prompt(self, line: int, text: str) -> None:
        """A prompt, after the Skill that it asks for by `/skill:NAME`."""
        skill = _SKILL.match(text)
        if skill is not None:
            base = skill["place"].removesuffix("/SKILL.md")
            self.run.add_skill_root(base.rpartition("/")[0])
            self.run.add_message(
                MAIN, "skill_body", skill["body"], line, skill=skill["name"], path=base,
                command_line=line,
            )  # fmt: skip
            text = text[skill.end() :]
        if text or skill is None:
            self.run.add_message(MAIN, "prompt", text, line)

    def on_compaction(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        index = as_count(record.get("firstKeptEntryIndex"))  # older versions count entries from 0
        first = self._lines.get(str(record.get("firstKeptEntryId")))
        if first is None and index is not None:
            first = index + 1
        self.run.add_compaction(MAIN, line, None if first is None else [(first, line - 1)])
        self.on_branch_summary(line, timestamp, record)

    def on_branch_summary(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        if text := text_of(record.get("summary")):
            self.run.add_message(MAIN, "summary", text, line)

    def on_custom_message(self, line: int, timestamp: float | None, record: dict[str, Any]) -> None:
        self.run.add_message(MAIN, "other", text_of(record.get("content")), line)


def _tool_result(call: CallBuilder, text: str, line: int, *, failed: bool) -> ToolResult:
    """A result as the model saw it; a failing command's status is at its end."""
    tail = text[-_NEAR_END:]
    clean: str | None = None
    code: int | None = None
    if call.action == "shell":
        status = _STATUS.search(tail) if failed else None
        stated = status["code"] if status else None
        code = 0 if not failed else int(stated) if stated else None
        clean = _without(text, status)
    elif call.action == "read" and not failed:
        clean = _without(text, _MORE.search(tail))
    return ToolResult(text=text, line=line, ok=not failed, exit_code=code, clean=clean)


def _without(text: str, match: re.Match[str] | None) -> str | None:
    """The text without a note at its end; None without one."""
    return None if match is None else text[: -len(match[0])]


def _usage(given: dict[str, Any]) -> Usage | None:
    """The four classes are disjoint. A cost of 0 is that of a model without a known price."""
    if not given:
        return None
    return Usage(
        input=as_count(given.get("input")),
        cache_write=as_count(given.get("cacheWrite")),
        cache_read=as_count(given.get("cacheRead")),
        output=as_count(given.get("output")),
        cost_usd=as_float(nested(given, "cost", "total")) or None,
    )


class PiSession(JsonLinesParser):
    """Reads one session."""

    agent = "pi"
    traits = AgentTraits(finds_skills=True)
    usual_folder = UsualFolder("PI_CODING_AGENT_DIR", ".pi/agent", "sessions")
    reader = _Reader
    opening = "session record with an id"

    def sniff(self, source: Source) -> bool:
        """The first record is a session with an id and a cwd."""
        first = parse_head(source.head).first
        return first.get("type") == "session" and "cwd" in first and "id" in first

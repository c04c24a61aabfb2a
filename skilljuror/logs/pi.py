"""Pi sessions, versions 1 to 3: entries of a tree in one file (formats.md §13).

Entries are read in the order of the file: a branch that was left ran all the same.
"""

import re
from math import inf
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    TrajectoryBuilder,
    usage_of,
)
from skilljuror.logs.base import Source, UsualFolder
from skilljuror.logs.records import (
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_str,
    parse_head,
    text_of,
)

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
        moment = as_epoch(record, "timestamp")
        if record.get("type") == "session" and (record.get("parentSession") or record.get("branchedFrom")):  # fmt: skip
            self._forked_at = moment
        self.run.line = line
        self.run.inheriting = (moment or inf) < (self._forked_at or -inf)
        parent = as_str(record, "parentId")
        if parent is not None and self._last is not None and parent != self._last:
            self.run.add_rewind()
        if "parentId" in record:
            self._last = as_str(record, "id")
            self._lines[self._last or ""] = line
        super().read(line, record)

    def on_session(self, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record, "id")
        self.cwd = self.cwd or as_str(record, "cwd")

    def on_message(self, record: dict[str, Any]) -> None:
        message = as_dict(record, "message")
        role = as_str(message, "role")
        if role == "assistant":
            self._assistant(as_str(record, "id"), message)
        elif role == "toolResult":
            call = self.run.answered(message.get("toolCallId"), "toolResult")
            call.result = self._result(call, message)
        elif role == "user":
            self._prompt(text_of(message, "content"))
        elif role == "bashExecution" and message.get("excludeFromContext") is not True:
            self.run.add_message(MAIN, "other", text_of(message, "output"))
        elif role in {"custom", "hookMessage"}:
            self.run.add_message(MAIN, "other", text_of(message, "content"))
        else:
            self.run.skip(f"message/{role}")

    def _assistant(self, key: str | None, message: dict[str, Any]) -> None:
        if message.get("stopReason") == "error":
            self.run.add_fault(MAIN, text_of(message, "errorMessage"))
            if not message.get("content"):
                return
        step = self.run.add_step(key=key, model=as_str(message, "model"))
        step.usage = usage_of("pi", message.get("usage"))
        for part in as_dicts(message, "content"):
            if part.get("type") == "toolCall":
                arguments = as_dict(part, "arguments")
                self.run.add_call(step, as_str(part, "id"), as_str(part, "name"), arguments)
            elif part.get("type") == "thinking":
                step.reasoning.append(text_of(part, "thinking"))
            else:
                step.say(text_of(part))

    def _result(self, call: CallBuilder, message: dict[str, Any]) -> ToolResult:
        """A result as the model saw it; a failing command's status is at its end."""
        text, failed = text_of(message, "content"), message.get("isError") is True
        note: re.Match[str] | None = None
        code: int | None = None
        if call.action == "shell" and failed:
            note = _STATUS.search(text[-_NEAR_END:])
            code = int(note["code"]) if note and note["code"] else None
        elif call.action == "shell":
            code = 0
        elif call.action == "read" and not failed:
            note = _MORE.search(text[-_NEAR_END:])
        clean = text[: -len(note[0])] if note else None
        return self.run.result(text, ok=not failed, exit_code=code, clean=clean)

    def _prompt(self, text: str) -> None:
        """A prompt, after the Skill that it asks for by `/skill:NAME`."""
        skill = _SKILL.match(text)
        if skill is not None:
            base = skill["place"].removesuffix("/SKILL.md")
            self.run.add_skill_root(base.rpartition("/")[0])
            self.run.add_message(
                MAIN, "skill_body", skill["body"], skill=skill["name"], path=base,
                command_line=self.run.line,
            )  # fmt: skip
            text = text[skill.end() :]
        if text or skill is None:
            self.run.add_message(MAIN, "prompt", text)

    def on_compaction(self, record: dict[str, Any]) -> None:
        index = as_count(record, "firstKeptEntryIndex")  # older versions count entries from 0
        first = self._lines.get(str(record.get("firstKeptEntryId")))
        if first is None and index is not None:
            first = index + 1
        self.run.add_compaction(MAIN, None if first is None else [(first, self.run.line - 1)])
        self.on_branch_summary(record)

    def on_branch_summary(self, record: dict[str, Any]) -> None:
        if text := text_of(record, "summary"):
            self.run.add_message(MAIN, "summary", text)

    def on_custom_message(self, record: dict[str, Any]) -> None:
        self.run.add_message(MAIN, "other", text_of(record, "content"))


class PiSession(RecordParser):
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

"""Gemini CLI: chat files (a log of updates, or one older document) and the stdout stream.

In a chat a message is written again when its calls are done: the last version counts, at the place
of the first. The stream (`--output-format stream-json`) is a last resort without file contents and
exit statuses; its steps are inferred: text and calls up to the next result or prompt.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import AgentTraits, ToolResult
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    usage_of,
)
from skilljuror.logs.base import LogKind, SessionLink, Source, UsualFolder
from skilljuror.logs.records import (
    as_dict,
    as_dicts,
    as_epoch,
    as_list,
    as_str,
    parse_head,
    read_head,
    text_of,
)

AGENT = "gemini-cli"
TRAITS = AgentTraits(finds_skills=True)

_WORKSPACE = "- **Workspace Directories:**\n  - "
_TEMPORARY = "temporary directory is: "
_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
_TRAILER = re.compile(r"^(?:Exit Code: |Process Group PGID: |Signal: |Error: |Background PIDs: )")
_FRAME = re.compile(
    r"(?:Command: .{0,100000}?\nDirectory: [^\n]*\n)?(?:Output|Stdout): ", re.DOTALL
)
"""Frame before a command's output; older versions repeat the command there."""
_PART = re.compile(
    r"\s*(?:IMPORTANT: The file content has been truncated|\[File content truncated|Showing).{0,300}?"
    r"lines (?P<first>\d{1,9})-\d{1,9} of (?P<total>\d{1,9}) total lines.{0,400}?(?: ---|\n---\n|\])\n",
    re.DOTALL,
)
"""Notice before a part of a file."""
_TREE_ROOT = re.compile(r"^[ \t]{0,8}(/\S[^\n]*)/$", re.MULTILINE)
_OPEN, _CLOSE = "<untrusted_context>\n", "\n</untrusted_context>"


def text_of_response(parts: Any, status: str | None) -> tuple[str | None, bool]:
    """Return (text shown to the model, whether it is an error); text is None without an answer."""
    texts: list[str] = []
    failed = status in {"error", "cancelled"}
    for part in as_list(parts):
        response = as_dict(part, "functionResponse", "response")
        for name in ("output", "error"):
            if isinstance(response.get(name), str):
                texts.append(response[name])
                failed = failed or name == "error"
    if not texts and status is None:
        return None, False
    return "\n".join(texts), failed


def read_result(run: TrajectoryBuilder, call: CallBuilder, text: str, failed: bool) -> ToolResult:
    """Result of a call; `failed` is the logged status, which is never set for commands."""
    if failed:
        return run.result(text, ok=False)
    if call.action == "shell":
        return _command_output(run, text)
    if call.action == "skill" and not text.startswith("<activated_skill"):
        return run.result(text, ok=False if text else None)
    if call.action == "skill":  # its body, and the tree with its location
        body = text.partition("<instructions>")[2].partition("</instructions>")[0]
        root = _TREE_ROOT.search(text.partition("<available_resources>")[2])
        run.add_skill_root(root[1].rpartition("/")[0] if root else None)
        return run.result(text, ok=True, clean=body.strip())
    part = _PART.match(text) if call.action == "read" else None
    if part:
        return run.result(
            text, ok=True, clean=text[part.end() :], first_line=int(part["first"]),
            total_lines=int(part["total"]),
        )  # fmt: skip
    return run.result(text, ok=True if text else None)


def _command_output(run: TrajectoryBuilder, text: str) -> ToolResult:
    """Exit status 0 is not printed; without the usual frame the status is unknown."""
    inner = text.removeprefix(_OPEN).removesuffix(_CLOSE)
    frame = _FRAME.match(inner)
    if frame is None:
        return run.result(text)
    codes = _EXIT.findall(inner)
    kept = inner[frame.end() :].split("\n")
    while kept and _TRAILER.match(kept[-1]):
        kept.pop()
    clean = "\n".join(kept)
    exit_code = int(codes[-1]) if codes else 0
    return run.result(text, exit_code=exit_code, clean="" if clean == "(empty)" else clean)


class _ChatReader(RecordReader):
    """Reads one chat into the run."""

    agent: str | None = MAIN
    """Id of the agent; None for a sub-agent, which has that of its chat."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._prompts: set[str] = set()

    @property
    def name(self) -> str:
        return self.agent or self.session or "unknown"

    def read_file(self, path: Path) -> None:
        first = next(iter(parse_head(read_head(path)).records), {})
        if "sessionId" in first and "messages" not in first:
            self._updates(self.lines(path))
            return
        document = self.document(path)
        self._header(as_dict(document.value))
        for number, message in document.elements(as_dict(document.value).get("messages")):
            self.read(number, as_dict(message))

    def _updates(self, entries: Iterable[tuple[int, dict[str, Any]]]) -> None:
        for line, entry in entries:
            self.run.line = line
            if "$set" in entry:
                for message in as_dicts(entry, "$set", "messages"):
                    self.read(line, message)
            elif "projectHash" in entry:
                self._header(entry)
            elif "$rewindTo" in entry:
                self.run.add_rewind()
            elif "id" in entry:
                self.read(line, entry)
            else:
                self.run.skip("update")

    def _header(self, entry: dict[str, Any]) -> None:
        self.session = self.session or as_str(entry, "sessionId")
        folders = as_list(entry, "directories")
        self.cwd = self.cwd or (as_str(folders[0]) if folders else None)

    def on_error(self, entry: dict[str, Any]) -> None:
        self.run.skip("error")
        self.run.add_fault(self.name, text_of(entry, "content"))

    def on_user(self, entry: dict[str, Any]) -> None:
        """Add a prompt or the workspace's tree; echoes of tool results are not user turns."""
        key = str(entry.get("id"))
        if key in self._prompts:
            return
        self._prompts.add(key)
        content = entry.get("content")
        parts = content if isinstance(content, list) else [content]
        for text in filter(None, map(text_of, parts)):
            if not text.startswith("<session_context>"):
                self.run.add_message(self.name, "prompt", text)
                continue
            place = text.partition(_WORKSPACE)[2].partition("\n")[0].strip()
            self.cwd = self.cwd or as_str(place)
            temporary = text.partition(_TEMPORARY)[2].partition("\n")[0]
            self.home = self.home or as_str(temporary.partition("/.gemini/")[0].strip())
            self.run.add_message(self.name, "tree", text)

    def on_gemini(self, entry: dict[str, Any]) -> None:
        moment = self.run.moment
        step = self.run.step_of(self.name, as_str(entry, "id"))
        step.texts, step.reasoning = [], []
        step.say(text_of(entry, "content"))
        for thought in as_list(entry, "thoughts"):
            parts = (as_str(thought, "subject"), as_str(thought, "description"))
            step.reasoning.append(": ".join(filter(None, parts)))
        step.model = as_str(entry, "model")
        step.usage = usage_of("gemini", entry.get("tokens"))
        known = {call.call_id for call in step.calls}
        for given in as_dicts(entry, "toolCalls"):
            call_id = as_str(given, "id")
            if call_id in known:
                continue
            call = self.run.add_call(step, call_id, as_str(given, "name"), as_dict(given, "args"))
            call.sub_agent = as_str(given, "agentId")
            ended = as_epoch(given, "timestamp")
            self.run.include_time(ended)
            text, failed = text_of_response(given.get("result"), as_str(given, "status"))
            if text is not None:
                result = read_result(self.run, call, text, failed)
                seconds = None if ended is None or moment is None else max(0.0, ended - moment)
                call.result = replace(result, seconds=seconds)


class GeminiChat(RecordParser):
    """Reads one session and the chats of its sub-agents."""

    agent = AGENT
    traits = TRAITS
    usual_folder = UsualFolder("GEMINI_HOME", ".gemini", "tmp")
    reader = _ChatReader
    opening = "header with a sessionId"

    def sniff(self, source: Source) -> bool:
        """The first object has a sessionId and a projectHash."""
        first = parse_head(source.head).first
        return bool(as_str(first, "sessionId") and as_str(first, "projectHash"))

    def read_files(self, reader: _ChatReader, source: Source) -> None:
        reader.read_file(source.path)
        for reader.run.file, path in enumerate(source.siblings, 1):
            child = _ChatReader(reader.run)
            child.agent = None
            child.read_file(path)
        _join_children(reader.run)

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's chat is in a folder named after its session."""
        first = parse_head(source.head).first
        session = as_str(first, "sessionId")
        if session is None:
            return None
        if first.get("kind") == "subagent":
            return SessionLink(source.path.parent.name, session)
        return SessionLink(session)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Chats of sub-agents, in sibling folders."""
        return path.parent.glob("*/*.json*")


def _join_children(run: TrajectoryBuilder) -> None:
    """Calls of older versions name no chat: match the n-th such call with the n-th remaining chat."""
    children = list(dict.fromkeys(step.agent for step in run.steps if step.agent != MAIN))
    calls = [call for step in run.steps for call in step.calls if call.action == "agent"]
    named = {call.sub_agent for call in calls}
    children = [child for child in children if child not in named]
    calls = [call for call in calls if call.sub_agent is None]
    for call, child in zip(calls, children, strict=False):
        call.sub_agent = child


def _is_init(record: dict[str, Any]) -> bool:
    opens = record.get("type") == "init" and "subtype" not in record
    return opens and as_str(record, "session_id") is not None


class _StreamReader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._open: StepBuilder | None = None

    def on_init(self, record: dict[str, Any]) -> None:
        self.session = self.session or as_str(record, "session_id")
        self.model = self.model or as_str(record, "model")

    def _step(self) -> StepBuilder:
        self._open = self._open or self.run.add_step(model=self.model)
        return self._open

    def on_message(self, record: dict[str, Any]) -> None:
        text = text_of(record, "content")
        if record.get("role") == "assistant":
            step = self._step()
            step.texts = ["".join([*step.texts, text])]
            return
        self._open = None
        self.run.add_message(MAIN, "prompt", text)

    def on_tool_use(self, record: dict[str, Any]) -> None:
        call_id, name = as_str(record, "tool_id"), as_str(record, "tool_name")
        self.run.add_call(self._step(), call_id, name, as_dict(record, "parameters"))

    def on_tool_result(self, record: dict[str, Any]) -> None:
        self._open = None
        call = self.run.answered(record.get("tool_id"), "tool_result")
        text = as_str(record, "error", "message") or text_of(record, "output")
        ok = None if call.action == "shell" else True  # failing commands also have "success"
        call.result = self.run.result(text, ok=ok if record.get("status") == "success" else False)

    def on_result(self, record: dict[str, Any]) -> None:
        self.ended = True
        self._open = None
        if record.get("status") == "error":
            message = as_str(record, "error", "message") or "error"
            self.run.warn(message[:200])
            self.run.add_fault(MAIN, message)
        self.totals.append(usage_of("gemini stream", record.get("stats")))


class GeminiStream(RecordParser):
    agent = AGENT
    traits = TRAITS
    kind = LogKind.STREAM
    reader = _StreamReader
    opening = "init record with a session_id"

    def sniff(self, source: Source) -> bool:
        """A record of type init with a session_id."""
        return any(map(_is_init, parse_head(source.head).objects(b'"init"')))

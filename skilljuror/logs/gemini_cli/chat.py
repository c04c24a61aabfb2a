"""Gemini CLI chat files: a log of updates, or one older document.

A message is written again when its calls are done: the last version counts, at the place of the
first.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import Trajectory, Usage
from skilljuror.logs.assembly.builders import MAIN, StepBuilder, TrajectoryBuilder
from skilljuror.logs.base import Parser, SessionLink, Source, UsualFolder
from skilljuror.logs.gemini_cli import AGENT, TRAITS
from skilljuror.logs.gemini_cli.tool_results import read_result, text_of_response
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_list,
    as_str,
    nested,
    remainder,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head
from skilljuror.logs.raw_logs.json_document import JsonDocument
from skilljuror.logs.raw_logs.jsonl import JsonLines, unreadable

_WORKSPACE = "- **Workspace Directories:**\n  - "
_TEMPORARY = "temporary directory is: "


class GeminiChat(Parser):
    """Reads one session and the chats of its sub-agents."""

    agent = AGENT
    traits = TRAITS
    usual_folder = UsualFolder("GEMINI_HOME", ".gemini", "tmp")

    def sniff(self, source: Source) -> bool:
        """The first object has a sessionId and a projectHash."""
        first = parse_head(source.head).first
        return bool(as_str(first.get("sessionId")) and as_str(first.get("projectHash")))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        main = _Chat(run, MAIN)
        main.read(source.path)
        if main.session is None:
            raise unreadable(source.path, "has no header with a sessionId")
        for index, path in enumerate(source.siblings, 1):
            run.file = index
            _Chat(run, None).read(path)
        _join_children(run)
        run.complete = run.complete and run.ends_with_answer()
        yield run.build(
            self,
            source.files,
            session=main.session,
            model=next((step.model for step in run.steps if step.model), None),
            cwd=main.cwd,
            home=main.home,
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's chat is in a folder named after its session."""
        first = parse_head(source.head).first
        session = as_str(first.get("sessionId"))
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


class _Chat:
    def __init__(self, run: TrajectoryBuilder, agent: str | None) -> None:
        self.run = run
        self.agent = agent
        self.session: str | None = None
        self.cwd: str | None = None
        self.home: str | None = None
        self._prompts: set[str] = set()

    @property
    def _name(self) -> str:
        return self.agent or self.session or "unknown"

    def read(self, path: Path) -> None:
        for line, entry in self._messages(path):
            moment = as_epoch(entry.get("timestamp"))
            self.run.include_time(moment)
            kind = entry.get("type")
            if kind == "gemini":
                self._gemini(line, moment, entry)
            elif kind == "user":
                self._user(line, entry)
            else:
                self.run.skipped[str(kind)] += 1
            if kind == "error":
                self.run.add_fault(self._name, text_of(entry.get("content")))

    def _messages(self, path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
        """Yield (line, message) in file order, for either shape of file."""
        lines = JsonLines(path)
        entries = iter(lines)
        first = next(entries, None)
        if first is not None and "sessionId" in first[1] and "messages" not in first[1]:
            yield from self._updates([first])
            yield from self._updates(entries)
            self.run.add_diagnostics(lines)
            return
        document = JsonDocument(path)
        self.run.complete = self.run.complete and document.complete
        self._header(as_dict(document.value))
        for element in document.elements(nested(document.value, "messages")):
            yield element.number, as_dict(element.value)

    def _updates(
        self, entries: Iterable[tuple[int, dict[str, Any]]]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, entry in entries:
            if "$set" in entry:
                for message in as_list(as_dict(entry["$set"]).get("messages")):
                    yield line, as_dict(message)
            elif "projectHash" in entry:
                self._header(entry)
            elif "$rewindTo" in entry:
                self.run.add_rewind(line)
            elif "id" in entry:
                yield line, entry
            else:
                self.run.skipped["update"] += 1

    def _header(self, entry: dict[str, Any]) -> None:
        self.session = self.session or as_str(entry.get("sessionId"))
        folders = as_list(entry.get("directories"))
        self.cwd = self.cwd or (as_str(folders[0]) if folders else None)

    def _user(self, line: int, entry: dict[str, Any]) -> None:
        """Add a prompt or the workspace's tree; echoes of tool results are not user turns."""
        key = str(entry.get("id"))
        if key in self._prompts:
            return
        self._prompts.add(key)
        content = entry.get("content")
        parts = content if isinstance(content, list) else [content]
        for text in filter(None, map(text_of, parts)):
            if text.startswith("<session_context>"):
                self._workspace(text)
                self.run.add_message(self._name, "tree", text, line)
            else:
                self.run.add_message(self._name, "prompt", text, line)

    def _workspace(self, text: str) -> None:
        place = text.partition(_WORKSPACE)[2].partition("\n")[0].strip()
        self.cwd = self.cwd or as_str(place)
        temporary = text.partition(_TEMPORARY)[2].partition("\n")[0]
        self.home = self.home or as_str(temporary.partition("/.gemini/")[0].strip())

    def _gemini(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        step = self.run.step_of(self._name, as_str(entry.get("id")), line, moment)
        text = text_of(entry.get("content"))
        step.texts = [text] if text else []
        step.reasoning = [_thought(as_dict(thought)) for thought in as_list(entry.get("thoughts"))]
        step.model = as_str(entry.get("model"))
        step.usage = _usage(as_dict(entry.get("tokens")))
        known = {call.call_id for call in step.calls}
        for given in map(as_dict, as_list(entry.get("toolCalls"))):
            if as_str(given.get("id")) not in known:
                self._call(line, moment, step, given)

    def _call(
        self, line: int, moment: float | None, step: StepBuilder, given: dict[str, Any]
    ) -> None:
        call_id, name = as_str(given.get("id")), as_str(given.get("name")) or "unknown"
        call = self.run.add_call(step, call_id, name, as_dict(given.get("args")), line)
        call.sub_agent = as_str(given.get("agentId"))
        ended = as_epoch(given.get("timestamp"))
        self.run.include_time(ended)
        text, failed = text_of_response(given.get("result"), as_str(given.get("status")))
        if text is None:
            return
        result = read_result(self.run, call, text, line, failed)
        seconds = None if ended is None or moment is None else max(0.0, ended - moment)
        call.result = replace(result, seconds=seconds)


def _thought(thought: dict[str, Any]) -> str:
    parts = (as_str(thought.get("subject")), as_str(thought.get("description")))
    return ": ".join(part for part in parts if part)


def _usage(tokens: dict[str, Any]) -> Usage | None:
    """Input includes cached tokens, output excludes thoughts."""
    if not tokens:
        return None
    prompt, cached = as_count(tokens.get("input")), as_count(tokens.get("cached"))
    output, thoughts = as_count(tokens.get("output")), as_count(tokens.get("thoughts"))
    return Usage(
        input=remainder(prompt, cached),
        cache_read=cached,
        output=None if output is None else output + (thoughts or 0),
        reasoning=thoughts,
    )

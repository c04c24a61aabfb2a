"""Gemini CLI chat files: a log of updates, or one older document (formats.md §5.1).

The same message is written again when its calls are done: the last one wins, in the
place of the first.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import Trajectory, Usage
from skilljuror.parsers.assembly.builders import (
    MAIN,
    StepBuilder,
    TrajectoryBuilder,
    ends_with_answer,
)
from skilljuror.parsers.base import Parser, SessionLink, Source, UsualFolder
from skilljuror.parsers.gemini_cli import AGENT, TRAITS
from skilljuror.parsers.gemini_cli.tool_results import read_result
from skilljuror.parsers.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_list,
    as_string,
    remainder,
    text_of,
)
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.json_document import JsonDocument
from skilljuror.parsers.raw_logs.jsonl import JsonLines

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
        return bool(as_string(first.get("sessionId")) and as_string(first.get("projectHash")))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory: the main chat, then each sub-agent's."""
        run = TrajectoryBuilder()
        main = _Chat(run, MAIN)
        main.read(source.path)
        if main.session is None:
            problem = f"{str(source.path)!r} has no header with a sessionId"
            raise TrajectoryError(problem, file=str(source.path))
        for index, path in enumerate(source.siblings, 1):
            run.file = index
            _Chat(run, None).read(path)
        _join_children(run)
        run.complete = run.complete and ends_with_answer(run)
        yield run.build(
            self,
            source.files,
            trajectory=main.session,
            session=main.session,
            model=next((step.model for step in run.steps if step.model), None),
            cwd=main.cwd,
            home=main.home,
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's chat lies in a folder that is named after its session."""
        first = parse_head(source.head).first
        session = as_string(first.get("sessionId"))
        if session is None:
            return None
        if first.get("kind") == "subagent":
            return SessionLink(source.path.parent.name, session)
        return SessionLink(session)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """The chats of sub-agents, in folders beside it."""
        return path.parent.glob("*/*.json*")


def _join_children(run: TrajectoryBuilder) -> None:
    """Calls of older versions name no chat: the n-th of those started the n-th chat left."""
    children = list(dict.fromkeys(step.agent for step in run.steps if step.agent != MAIN))
    calls = [call for step in run.steps for call in step.calls if call.action == "agent"]
    named = {call.sub_agent for call in calls}
    children = [child for child in children if child not in named]
    calls = [call for call in calls if call.sub_agent is None]
    for call, child in zip(calls, children, strict=False):
        call.sub_agent = child


class _Chat:
    """Reads one file into the run."""

    def __init__(self, run: TrajectoryBuilder, agent: str | None) -> None:
        self.run = run
        self.agent = agent
        self.session: str | None = None
        self.cwd: str | None = None
        self.home: str | None = None
        self._steps: dict[str, StepBuilder] = {}
        self._said: set[str] = set()

    @property
    def _name(self) -> str:
        return self.agent or self.session or "unknown"

    def read(self, path: Path) -> None:
        """Read every message of one file."""
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

    def _messages(self, path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
        """(line, message) in file order, of either shape of file."""
        lines = JsonLines(path)
        entries = iter(lines)
        first = next(entries, None)
        if first is not None and lines.complete and "messages" not in first[1]:
            yield from self._updates([first])
            yield from self._updates(entries)
            self.run.add_diagnostics(lines)
            return
        document = JsonDocument(path)
        self.run.complete = self.run.complete and document.complete
        self._header(as_dict(document.value))
        for element in document.elements("messages"):
            yield element.line, as_dict(element.value)

    def _updates(
        self, entries: Iterable[tuple[int, dict[str, Any]]]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, entry in entries:
            if "$set" in entry:
                for message in as_list(as_dict(entry["$set"]).get("messages")):
                    yield line, as_dict(message)
            elif "projectHash" in entry:
                self._header(entry)
            elif "id" in entry:
                yield line, entry
            else:
                self.run.skipped["update"] += 1

    def _header(self, entry: dict[str, Any]) -> None:
        self.session = self.session or as_string(entry.get("sessionId"))
        folders = as_list(entry.get("directories"))
        self.cwd = self.cwd or (as_string(folders[0]) if folders else None)

    def _user(self, line: int, entry: dict[str, Any]) -> None:
        """A prompt or the workspace's tree; the echo of a tool result is no turn of the user."""
        key = str(entry.get("id"))
        if key in self._said:
            return
        self._said.add(key)
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
        self.cwd = self.cwd or as_string(place)
        temporary = text.partition(_TEMPORARY)[2].partition("\n")[0]
        self.home = self.home or as_string(temporary.partition("/.gemini/")[0].strip())

    def _gemini(self, line: int, moment: float | None, entry: dict[str, Any]) -> None:
        key = as_string(entry.get("id")) or f"line {line}"
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = self.run.add_step(self._name, line, moment)
            step.key = as_string(entry.get("id"))
        said = text_of(entry.get("content"))
        step.texts = [said] if said else []
        step.reasoning = [_thought(as_dict(thought)) for thought in as_list(entry.get("thoughts"))]
        step.model = as_string(entry.get("model"))
        step.usage = _usage(as_dict(entry.get("tokens")))
        known = {call.call_id for call in step.calls}
        for given in map(as_dict, as_list(entry.get("toolCalls"))):
            if as_string(given.get("id")) not in known:
                self._call(line, moment, step, given)

    def _call(
        self, line: int, moment: float | None, step: StepBuilder, given: dict[str, Any]
    ) -> None:
        name = as_string(given.get("name")) or "unknown"
        call = self.run.add_call(
            step, as_string(given.get("id")), name, as_dict(given.get("args")), line
        )
        call.sub_agent = as_string(given.get("agentId"))
        ended = as_epoch(given.get("timestamp"))
        self.run.include_time(ended)
        text, failed = _response(given)
        if text is None:
            return
        result = read_result(self.run, call, text, line, failed)
        seconds = None if ended is None or moment is None else max(0.0, ended - moment)
        call.result = replace(result, seconds=seconds)


def _response(given: dict[str, Any]) -> tuple[str | None, bool]:
    """(what the model saw, whether it is an error); None for a call without an answer."""
    text: list[str] = []
    failed = as_string(given.get("status")) in {"error", "cancelled"}
    for part in as_list(given.get("result")):
        response = as_dict(as_dict(as_dict(part).get("functionResponse")).get("response"))
        for name in ("output", "error"):
            if isinstance(response.get(name), str):
                text.append(response[name])
                failed = failed or name == "error"
    if not text and given.get("status") is None:
        return None, False
    return "\n".join(text), failed


def _thought(thought: dict[str, Any]) -> str:
    parts = (as_string(thought.get("subject")), as_string(thought.get("description")))
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

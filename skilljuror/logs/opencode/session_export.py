"""OpenCode session exports: one document per session, sub-agents in their own."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import ToolResult, Trajectory, Usage
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, StepBuilder, TrajectoryBuilder
from skilljuror.logs.assembly.line_numbers import strip_line_numbers
from skilljuror.logs.base import Parser, SessionLink, Source
from skilljuror.logs.opencode import AGENT, TRAITS
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_float,
    as_int,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head
from skilljuror.logs.raw_logs.json_document import JsonDocument, JsonElement
from skilljuror.logs.raw_logs.jsonl import unreadable

_SKILL = re.compile(r'\s*<skill_content name="([^"\n]{1,200})">')
_BASE = re.compile(r"^Base directory for this skill: (?:file://)?([^\n]{1,1000})", re.MULTILINE)
_WRAPPED = re.compile(r"<(file|content)>\n")


def session_info(head: bytes) -> dict[str, Any]:
    """The info of an export, or {}."""
    first = parse_head(head).first
    info = as_dict(first.get("info"))
    known = as_str(info.get("id")) and ({"directory", "time", "parentID"} & set(info))
    return info if known and isinstance(first.get("messages"), list) else {}


class OpenCode(Parser):
    """Reads one export and its sub-agents' exports."""

    agent = AGENT
    traits = TRAITS

    def sniff(self, source: Source) -> bool:
        """An object with info (id, directory or time) and a list of messages."""
        return bool(session_info(source.head))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        main = _read(run, source.path, MAIN)
        info = as_dict(main.value.get("info"))
        for index, path in enumerate(source.siblings, 1):
            run.file = index
            _read(run, path, None)
        run.complete = run.complete and run.ends_with_answer()
        session = as_str(info.get("id"))
        if session is None:
            raise unreadable(source.path, "has no info with an id")
        yield run.build(
            self,
            source.files,
            session=session,
            agent_version=as_str(info.get("version")),
            model=next((step.model for step in run.steps if step.model), None),
            cwd=as_str(info.get("directory")),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's export names its parent. A fork does not, but its copies keep their times."""
        info = session_info(source.head)
        session, parent = as_str(info.get("id")), as_str(info.get("parentID"))
        if session is None:
            return None
        messages = as_list(parse_head(source.head).first.get("messages"))
        begun = nested(messages[0], "info", "time", "created") if messages else None
        origin = f"{info.get('directory')} {begun}" if begun and not parent else None
        return SessionLink(parent or session, session if parent else None, origin=origin)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Exports in the same folder."""
        return path.parent.glob("*.json")


def _read(run: TrajectoryBuilder, path: Path, agent: str | None) -> JsonDocument:
    document = JsonDocument(path)
    if not isinstance(document.value, dict):
        raise unreadable(path, "is not an OpenCode export")
    run.complete = run.complete and document.complete
    name = agent or as_str(nested(document.value, "info", "id")) or "unknown"
    for element in document.elements(document.value.get("messages")):
        read_message(run, element, name)
    return document


def read_message(run: TrajectoryBuilder, element: JsonElement, agent: str) -> None:
    """Add a message with its parts."""
    given = as_dict(element.value)
    info = as_dict(given.get("info"))
    parts = [as_dict(part) for part in as_list(given.get("parts"))]
    created = as_epoch(nested(info, "time", "created"))
    run.include_time(created)
    run.include_time(as_epoch(nested(info, "time", "completed")))
    if info.get("role") == "user":
        for part in parts:
            if part.get("type") == "text":
                _text(run, agent, text_of(part), element.number, made=part.get("synthetic") is True)
        return
    if info.get("summary") is True:
        run.add_compaction(agent, element.number)
    _assistant(run, element, agent, info, parts)


def _text(run: TrajectoryBuilder, agent: str, text: str, line: int, *, made: bool) -> None:
    """A text of the user. One that wraps a Skill or names its folder is the body of a slash command."""
    skill, base = _SKILL.match(text), _BASE.search(text)
    folder = base[1].strip().rstrip("/") if base else None
    if skill is None and folder is None:
        run.add_message(agent, "other" if made else "prompt", text, line)
        return
    name = skill[1] if skill else (folder or "").rpartition("/")[2]
    body = text if skill or base is None else text[: base.start()].rstrip("\n")
    run.add_message(
        agent, "skill_body", body, line, skill=name, command_line=line, path=folder
    )  # fmt: skip


def _assistant(
    run: TrajectoryBuilder, element: JsonElement, agent: str, info: dict[str, Any], parts: list[Any]
) -> None:
    """One step per model response; tokens are in step-finish parts, else in the message."""
    started = as_epoch(nested(info, "time", "created"))
    step: StepBuilder | None = None
    finished = any(part.get("type") == "step-finish" for part in parts)
    for part in parts:
        kind = part.get("type")
        if step is None or (kind == "step-start" and (step.calls or step.texts)):
            step = run.add_step(agent, element.number, started)
            step.model = as_str(info.get("modelID"))
            step.key = str(started or info.get("id"))  # a fork's copies have ids of their own
        if kind == "step-finish":
            step.usage = _usage(as_dict(part.get("tokens")), part.get("cost"))
        else:
            _part(run, element, step, part)
    if step is not None and not finished:
        step.usage = _usage(as_dict(info.get("tokens")), info.get("cost"))


def _part(
    run: TrajectoryBuilder, element: JsonElement, step: StepBuilder, part: dict[str, Any]
) -> None:
    kind = as_str(part.get("type"))
    if kind == "text":
        step.texts.append(text_of(part))
    elif kind == "reasoning":
        step.reasoning.append(text_of(part))
    elif kind == "tool":
        call_id = as_str(part.get("callID"))
        state = as_dict(part.get("state"))
        name = as_str(part.get("tool")) or "unknown"
        call = run.add_call(step, call_id, name, as_dict(state.get("input")), element.number)
        call.sub_agent = as_str(nested(state, "metadata", "sessionId"))
        call.result = _result(call, state, element.number)
    elif kind not in {"step-start", "patch", "snapshot"}:
        run.skipped[f"part/{kind}"] += 1


def _result(call: CallBuilder, state: dict[str, Any], line: int) -> ToolResult | None:
    status = as_str(state.get("status"))
    if status not in {"completed", "error"}:
        return None
    text = text_of(state.get("output")) or text_of(state.get("error"))
    exit_code = as_int(nested(state, "metadata", "exit"))
    ok = status == "completed" and exit_code in {None, 0}
    clean = first = None
    if call.action == "read" and ok:
        clean, first = _file(text)
    return ToolResult(
        text=text, line=line, ok=ok, exit_code=exit_code, clean=clean, first_line=first,
        seconds=_seconds(as_dict(state.get("time"))),
    )  # fmt: skip


def _file(text: str) -> tuple[str | None, int | None]:
    """The numbered lines between a file's tags."""
    wrapped = _WRAPPED.search(text)
    return strip_line_numbers(text[wrapped.end() :] if wrapped else text) or (None, None)


def _seconds(times: dict[str, Any]) -> float | None:
    start, end = as_float(times.get("start")), as_float(times.get("end"))
    return None if start is None or end is None else max(0.0, (end - start) / 1000)


def _usage(tokens: dict[str, Any], cost: Any) -> Usage | None:
    if not tokens:
        return None
    cache = as_dict(tokens.get("cache"))
    return Usage(
        input=as_count(tokens.get("input")),
        cache_write=as_count(cache.get("write")),
        cache_read=as_count(cache.get("read")),
        output=as_count(tokens.get("output")),
        reasoning=as_count(tokens.get("reasoning")),
        cost_usd=as_float(cost),
    )

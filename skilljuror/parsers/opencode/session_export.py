"""OpenCode session exports: one document per session, sub-agents in exports of their own
(formats.md §11)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import AgentTraits, ToolResult, Trajectory, Usage
from skilljuror.parsers.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    ends_with_answer,
)
from skilljuror.parsers.assembly.line_numbers import strip_line_numbers
from skilljuror.parsers.base import Parser, SessionLink, Source
from skilljuror.parsers.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_list,
    as_number,
    as_string,
    text_of,
)
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.json_document import JsonDocument, JsonElement

_SKILL = re.compile(r'\s*<skill_content name="([^"\n]{1,200})">')
_BASE = re.compile(r"^Base directory for this skill: (?:file://)?([^\n]{1,1000})", re.MULTILINE)
_WRAPPED = re.compile(r"<(file|content)>\n")


def session_info(head: bytes) -> dict[str, Any]:
    """The info of an export; {} where the file is none."""
    first = parse_head(head).first
    info = as_dict(first.get("info"))
    known = as_string(info.get("id")) and ({"directory", "time", "parentID"} & set(info))
    return info if known and isinstance(first.get("messages"), list) else {}


class OpenCode(Parser):
    """Reads one export and those of its sub-agents."""

    agent = "opencode"
    traits = AgentTraits(finds_skills=True)

    def sniff(self, source: Source) -> bool:
        """An object with info (id, directory or time) and a list of messages."""
        return bool(session_info(source.head))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory: the session, then each sub-agent's."""
        run = TrajectoryBuilder()
        main = _read(run, source.path, MAIN)
        info = as_dict(main.value.get("info"))
        for index, path in enumerate(source.siblings, 1):
            run.file = index
            _read(run, path, None)
        run.complete = run.complete and ends_with_answer(run)
        session = as_string(info.get("id"))
        if session is None:
            problem = f"{str(source.path)!r} has no info with an id"
            raise TrajectoryError(problem, file=str(source.path))
        yield run.build(
            self,
            source.files,
            trajectory=session,
            session=session,
            agent_version=as_string(info.get("version")),
            model=next((step.model for step in run.steps if step.model), None),
            cwd=as_string(info.get("directory")),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """A sub-agent's export names its parent."""
        info = session_info(source.head)
        session, parent = as_string(info.get("id")), as_string(info.get("parentID"))
        if session is None:
            return None
        return SessionLink(parent, session) if parent else SessionLink(session)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """The exports beside it."""
        return path.parent.glob("*.json")


def _read(run: TrajectoryBuilder, path: Path, agent: str | None) -> JsonDocument:
    document = JsonDocument(path)
    if not isinstance(document.value, dict):
        raise TrajectoryError(f"{str(path)!r} is no OpenCode export", file=str(path))
    run.complete = run.complete and document.complete
    name = agent or as_string(as_dict(document.value.get("info")).get("id")) or "unknown"
    for element in document.elements("messages"):
        _message(run, element, name)
    return document


def _message(run: TrajectoryBuilder, element: JsonElement, agent: str) -> None:
    given = as_dict(element.value)
    info = as_dict(given.get("info"))
    parts = [as_dict(part) for part in as_list(given.get("parts"))]
    created = as_epoch(as_dict(info.get("time")).get("created"))
    run.include_time(created)
    run.include_time(as_epoch(as_dict(info.get("time")).get("completed")))
    if info.get("role") == "user":
        for part in parts:
            if part.get("type") == "text":
                _text(run, agent, text_of(part), element.line, made=part.get("synthetic") is True)
        return
    if info.get("summary") is True:
        run.add_compaction(agent)
    _assistant(run, element, agent, info, parts)


def _text(run: TrajectoryBuilder, agent: str, text: str, line: int, *, made: bool) -> None:
    """A text of the user's side; one that wraps a skill is the body of a slash command."""
    skill = _SKILL.match(text)
    if skill is None:
        run.add_message(agent, "other" if made else "prompt", text, line)
        return
    base = _BASE.search(text)
    run.add_message(
        agent, "skill_body", text, line, skill=skill[1], command_line=line,
        path=base[1].strip().rstrip("/") if base else None,
    )  # fmt: skip


def _assistant(
    run: TrajectoryBuilder,
    element: JsonElement,
    agent: str,
    info: dict[str, Any],
    parts: list[dict[str, Any]],
) -> None:
    """One step per model response; step-finish parts carry its tokens, else the message does."""
    started = as_epoch(as_dict(info.get("time")).get("created"))
    step: StepBuilder | None = None
    finished = any(part.get("type") == "step-finish" for part in parts)
    for part in parts:
        kind = part.get("type")
        if step is None or (kind == "step-start" and (step.calls or step.texts)):
            step = run.add_step(agent, element.line_of(as_string(part.get("id"))), started)
            step.model = as_string(info.get("modelID"))
            step.key = as_string(info.get("id"))
        if kind == "step-finish":
            step.usage = _usage(as_dict(part.get("tokens")), part.get("cost"))
        else:
            _part(run, element, step, part)
    if step is not None and not finished:
        step.usage = _usage(as_dict(info.get("tokens")), info.get("cost"))


def _part(
    run: TrajectoryBuilder, element: JsonElement, step: StepBuilder, part: dict[str, Any]
) -> None:
    kind = as_string(part.get("type"))
    if kind == "text":
        step.texts.append(text_of(part))
    elif kind == "reasoning":
        step.reasoning.append(text_of(part))
    elif kind == "tool":
        call_id = as_string(part.get("callID"))
        state = as_dict(part.get("state"))
        name = as_string(part.get("tool")) or "unknown"
        line = element.line_of(call_id)
        call = run.add_call(step, call_id, name, as_dict(state.get("input")), line)
        call.sub_agent = as_string(as_dict(state.get("metadata")).get("sessionId"))
        call.result = _result(call, state, line)
    elif kind not in {"step-start", "patch", "snapshot"}:
        run.skipped[f"part/{kind}"] += 1


def _result(call: CallBuilder, state: dict[str, Any], line: int) -> ToolResult | None:
    status = as_string(state.get("status"))
    if status not in {"completed", "error"}:
        return None
    text = text_of(state.get("output")) or text_of(state.get("error"))
    code = as_dict(state.get("metadata")).get("exit")
    exit_code = code if isinstance(code, int) else None
    ok = status == "completed" and exit_code in {None, 0}
    clean = first = None
    if call.action == "read" and ok:
        clean, first = _file(text)
    return ToolResult(
        text=text, line=line, ok=ok, exit_code=exit_code, clean=clean, first_line=first,
        seconds=_seconds(as_dict(state.get("time"))),
    )  # fmt: skip


def _file(text: str) -> tuple[str | None, int | None]:
    """The numbered lines between the tags around a file."""
    wrapped = _WRAPPED.search(text)
    return strip_line_numbers(text[wrapped.end() :] if wrapped else text) or (None, None)


def _seconds(times: dict[str, Any]) -> float | None:
    start, end = as_number(times.get("start")), as_number(times.get("end"))
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
        cost_usd=as_number(cost),
    )

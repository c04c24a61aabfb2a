"""OpenHands event lists, event lines, event folders and `output.jsonl`.

Observations name their action (`cause`); actions of one model response are one step. Old histories
have no ids: an observation answers the action before it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Trajectory, Usage
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, StepBuilder, TrajectoryBuilder
from skilljuror.logs.assembly.line_numbers import strip_line_numbers
from skilljuror.logs.assembly.token_usage import usage_of_prompt, usage_of_response
from skilljuror.logs.base import Parser, SessionLink, Source
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_int,
    as_list,
    as_str,
    json_of,
    nested,
)
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import LONG_HEAD_BYTES, parse_head, read_head
from skilljuror.logs.raw_logs.json_document import JsonDocument, sort_keys
from skilljuror.logs.raw_logs.jsonl import JsonLines, file_key

Events = list[tuple[int, int, dict[str, Any]]]
"""(file, line or number of the event in a list, event)."""

_STATE = frozenset((
    "change_agent_state",
    "recall",
    "null",
    "system",
    "condensation",
    "condensation_request",
))
"""Actions of the controller, which are not steps of the model."""
_TRAILER = re.compile(
    r"(?:\s*\[(?:The command (?:completed|has no new output|timed out)|Command finished|Current working directory|Python interpreter"
    r"|Jupyter (?:current working directory|Python interpreter))[^\n]{0,400}\]){1,6}\Z"
)
"""Text after an output: exit status, folder, interpreter."""
_EXIT = re.compile(
    r"^\[(?:The command completed|Command finished) with exit code (-?\d{1,9})\.?\]", re.MULTILINE
)
_FIRST_BYTES = 64
"""Bytes that distinguish a list from lines."""
_NEAR_END = 3000
"""Characters at the end that contain the trailer."""
_VIEWED = "Here's the result of running `cat -n` on "


def _is_event(entry: Any) -> bool:
    given = as_dict(entry)
    named = as_str(given.get("action")) or as_str(given.get("observation"))
    return "source" in given and named is not None


def _is_instance(entry: dict[str, Any]) -> bool:
    history = entry.get("history")
    if "instance_id" not in entry or not isinstance(history, list):
        return False
    return not history or any(map(_is_event, _flat(history[:8])))


class OpenHands(Parser):
    """Reads one history, or every history of an output.jsonl."""

    agent = "openhands"
    traits = AgentTraits(keeps_folder=True)

    def sniff(self, source: Source) -> bool:
        """A list or lines of events, or objects with an instance_id and a history."""
        shape = parse_head(source.head)
        if shape.is_list:
            return any(_is_event(event) for event in _flat(shape.items[:8]))
        return _is_event(shape.first) or _is_instance(shape.first)

    def parse(self, source: Source) -> Iterator[Trajectory]:
        head = parse_head(source.head or read_head(source.path, LONG_HEAD_BYTES))
        if not head.is_list and _is_instance(head.first):
            yield from self._instances(source)
            return
        run = TrajectoryBuilder()
        paths = (source.path, *sorted(source.siblings, key=_number))
        events: Events = []
        for index, path in enumerate(paths):
            events.extend((index, line, event) for line, event in _events(path, run))
        model = _read_events(run, events)
        yield run.build(self, paths, trajectory=file_key(source.path), model=model)

    def _instances(self, source: Source) -> Iterator[Trajectory]:
        for line, entry, whole in _instance_entries(source.path):
            run = TrajectoryBuilder()
            run.complete = whole
            history = _flat(as_list(entry.get("history")))
            config = as_dict(nested(entry, "metadata", "llm_config"))
            model = _read_events(
                run, [(0, number, event) for number, event in enumerate(history, 1)]
            )
            yield run.build(
                self,
                source.files[:1],
                trajectory=as_str(entry.get("instance_id")) or f"line-{line}",
                model=model or as_str(config.get("model")),
            )

    def session_link(self, source: Source) -> SessionLink | None:
        """A folder with one event per numbered file is one history."""
        path = source.path
        if path.parent.name != "events" or not path.stem.isdecimal():
            return None
        child = None if path.stem == "0" else path.stem
        return SessionLink(str(path.parent), child, by_path=True)

    def neighbours(self, path: Path) -> Iterator[Path]:
        return path.parent.glob("[0-9]*.json")


def _instance_entries(path: Path) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Yield (line, instance, whether it is complete) of an output.jsonl, or of a file with one
    instance."""
    found = False
    for line, entry in JsonLines(path):
        if "instance_id" in entry:
            found = True
            sort_keys(entry)
            yield line, entry, True
    if not found:
        document = JsonDocument(path)
        yield 1, as_dict(document.value), document.complete


def _read_events(run: TrajectoryBuilder, events: Events) -> str | None:
    """Read the events of one history; return its model."""
    reader = _Reader(run)
    for file, line, event in events:
        run.file = file
        reader.event(line, event)
    return reader.model


def _number(path: Path) -> tuple[int, str]:
    return (int(path.stem) if path.stem.isdecimal() else 0, str(path))


def _flat(events: list[Any]) -> list[dict[str, Any]]:
    """Events in order; old histories contain [action, observation] pairs."""
    flat: list[dict[str, Any]] = []
    for event in events:
        flat.extend(as_dict(part) for part in (event if isinstance(event, list) else [event]))
    return flat


def _events(path: Path, run: TrajectoryBuilder) -> Iterator[tuple[int, dict[str, Any]]]:
    if not parse_head(read_head(path, _FIRST_BYTES)).is_list:
        lines = JsonLines(path)
        entries = [(line, entry) for line, entry in lines if _is_event(entry)]
        if entries:
            run.add_diagnostics(lines)
            yield from entries
            return
    document = JsonDocument(path)
    run.complete = run.complete and document.complete
    if isinstance(document.value, dict):
        yield 1, document.value
    for element in document.elements(document.value):
        for event in _flat([element.value]):
            yield element.number, event


class _Reader:
    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.model: str | None = None
        self._steps: dict[str, StepBuilder] = {}
        self._actions: dict[int, CallBuilder] = {}
        self._last: CallBuilder | None = None
        self._before: list[int | None] = [0, 0, 0]
        """Accumulated prompt, cached and completion tokens so far."""

    def event(self, line: int, event: dict[str, Any]) -> None:
        self.run.include_time(as_epoch(event.get("timestamp")))
        if "observation" in event:
            self._observation(line, event)
        elif as_str(event.get("action")) in _STATE:
            self._aside(line, event)
        elif event.get("source") == "agent" and "action" in event:
            self._action(line, event)
        elif event.get("action") == "message":
            self.run.add_message(MAIN, "prompt", text_of(nested(event, "args", "content")), line)
        else:
            self.run.skipped[f"action/{event.get('action')}"] += 1

    def _aside(self, line: int, event: dict[str, Any]) -> None:
        args = as_dict(event.get("args"))
        if event.get("action") == "system":
            text = text_of(args.get("content")) or text_of(event.get("message"))
            self.run.add_message(MAIN, "system", text, line)
        elif event.get("action") == "condensation":
            self.run.add_compaction(MAIN, line)
            if text := text_of(args.get("summary")):
                self.run.add_message(MAIN, "summary", text, line)
        else:
            self.run.skipped[f"action/{event.get('action')}"] += 1

    def _action(self, line: int, event: dict[str, Any]) -> None:
        metadata = as_dict(event.get("tool_call_metadata"))
        response = as_dict(metadata.get("model_response"))
        step = self._step(line, event, response)
        args = as_dict(event.get("args"))
        if event.get("action") == "message":
            step.texts = [text_of(args.get("content"))]
            return
        name = as_str(metadata.get("function_name")) or str(event.get("action"))
        call_id = as_str(metadata.get("tool_call_id"))
        arguments = _arguments(response, call_id) or args
        call = self.run.add_call(step, call_id, name, arguments, line)
        self._last = call
        if isinstance(event.get("id"), int):
            self._actions[event["id"]] = call

    def _step(self, line: int, event: dict[str, Any], response: dict[str, Any]) -> StepBuilder:
        key = as_str(response.get("id")) or f"line {line} {event.get('id')}"
        step = self._steps.get(key)
        if step is not None:
            return step
        step = self._steps[key] = self.run.add_step(MAIN, line, as_epoch(event.get("timestamp")))
        step.key = as_str(response.get("id"))
        step.model = as_str(response.get("model"))
        self.model = self.model or step.model
        content = _message(response).get("content") or nested(event, "args", "thought")
        if text := text_of(content):
            step.texts.append(text)
        step.usage = usage_of_response(response) or self._accumulated(event)
        return step

    def _accumulated(self, event: dict[str, Any]) -> Usage | None:
        """Increase of the accumulated usage, for responses without their own usage."""
        total = as_dict(nested(event, "llm_metrics", "accumulated_token_usage"))
        names = ("prompt_tokens", "cache_read_tokens", "completion_tokens")
        now = [as_count(total.get(name)) for name in names]
        if now[0] is None:
            return None
        grown = [
            None if total is None else max(0, total - (before or 0))
            for total, before in zip(now, self._before, strict=True)
        ]
        self._before = now
        return usage_of_prompt(grown[0], cached=grown[1], output=grown[2])

    def _observation(self, line: int, event: dict[str, Any]) -> None:
        kind = as_str(event.get("observation"))
        cause = event.get("cause")
        call = self._actions.get(cause) if isinstance(cause, int) else self._last
        if kind in {"null", "agent_state_changed"} or call is None or call.result is not None:
            self._exposed(line, event)
            return
        call.result = _result(call, event, line)

    def _exposed(self, line: int, event: dict[str, Any]) -> None:
        """Add instructions that a recall put into the context; skip other bookkeeping."""
        knowledge = as_list(nested(event, "extras", "microagent_knowledge"))
        for entry in map(as_dict, knowledge):
            text, path = text_of(entry.get("content")), as_str(entry.get("name"))
            self.run.add_message(MAIN, "other", text, line, path=path)
        if not knowledge:
            self.run.skipped[f"observation/{event.get('observation')}"] += 1


def _message(response: dict[str, Any]) -> dict[str, Any]:
    choices = as_list(response.get("choices"))
    return as_dict(nested(choices[0], "message")) if choices else {}


def _arguments(response: dict[str, Any], call_id: str | None) -> dict[str, Any]:
    """Arguments as the model wrote them; the event has them translated."""
    for call in map(as_dict, as_list(_message(response).get("tool_calls"))):
        given = nested(call, "function", "arguments")
        if call.get("id") == call_id and isinstance(given, str):
            return as_dict(json_of(given))
    return {}


def _result(call: CallBuilder, event: dict[str, Any], line: int) -> ToolResult:
    text = text_of(event.get("content"))
    if event.get("observation") == "error":
        return ToolResult(text=text, line=line, ok=False)
    extras = as_dict(event.get("extras"))
    code = as_dict(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
    return result_of_output(call, text, line, as_int(code))


def stated_exit_code(text: str) -> int | None:
    """Exit status in the trailer of an output, or None."""
    codes = _EXIT.findall(text[-_NEAR_END:])
    return int(codes[-1]) if codes else None


def result_of_output(call: CallBuilder, text: str, line: int, exit_code: int | None) -> ToolResult:
    """Result of a call as the model saw it, with its exit status if known."""
    clean = first = None
    if call.action == "read":
        body = text.partition("\n")[2] if text.startswith(_VIEWED) else text
        clean, first = strip_line_numbers(body) or (None, None)
    elif text.endswith("]"):
        clean = text[:-_NEAR_END] + _TRAILER.sub("", text[-_NEAR_END:])
    ok = exit_code == 0 if exit_code is not None else not text.startswith("ERROR:")
    return ToolResult(
        text=text, line=line, ok=ok, exit_code=exit_code, clean=clean, first_line=first
    )

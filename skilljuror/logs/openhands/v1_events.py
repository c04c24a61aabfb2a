"""OpenHands V1 conversations: one event per file, or a list of events (formats.md §13).

Tokens and the model are in `base_state.json` beside the folder of events.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Trajectory, Usage
from skilljuror.logs.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    add_available_skills,
    total_usage,
)
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.assembly.tool_calls import arguments_of
from skilljuror.logs.base import Parser, SessionLink, Source
from skilljuror.logs.openhands.events import result_of_output
from skilljuror.logs.raw_logs.coercion import (
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
from skilljuror.logs.raw_logs.json_document import JsonDocument
from skilljuror.logs.raw_logs.jsonl import file_key

_KIND = re.compile(r"[A-Z]\w+(?:Event|Observation)|Condensation\w*")
_NUMBER = re.compile(r"event-(\d{1,9})-")
_STATE = "base_state.json"
_FOOTER = re.compile(r"\n\n---\nThis skill is located at `([^`\n]{1,1000})`\. [^\n]*\Z")


def _is_event(value: Any) -> bool:
    event = as_dict(value)
    return "id" in event and _KIND.fullmatch(str(event.get("kind"))) is not None


def _metrics(state: Any) -> dict[str, Any]:
    return as_dict(nested(state, "stats", "usage_to_metrics"))


class _Reader:
    """Adds the events of one conversation to a run, one method `on_KIND` per kind."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.model: str | None = None
        self.cwd: str | None = None
        self.totals: list[Usage] = []
        self._usage: dict[str, Usage] = {}
        """Id of a model's response -> its tokens."""
        self._lines: dict[str, int] = {}
        """Id of an event -> its place."""

    def state(self, value: dict[str, Any]) -> None:
        self.cwd = as_str(nested(value, "workspace", "working_dir"))
        self.model = as_str(nested(value, "agent", "llm", "model"))
        for metrics in map(as_dict, _metrics(value).values()):
            total = _usage(
                as_dict(metrics.get("accumulated_token_usage")), metrics.get("accumulated_cost")
            )
            self.totals.append(total)
            for used in map(as_dict, as_list(metrics.get("token_usages"))):
                self._usage[str(used.get("response_id"))] = _usage(used)

    def event(self, line: int, event: dict[str, Any]) -> None:
        moment = as_epoch(event.get("timestamp"))
        self.run.include_time(moment)
        self._lines[str(event.get("id"))] = line
        kind = str(event.get("kind"))
        method = getattr(self, f"on_{kind}", None)
        if method is None:
            self.run.skipped[kind] += 1
        else:
            method(line, moment, event)

    def _step(self, line: int, moment: float | None, event: dict[str, Any]) -> StepBuilder:
        key = as_str(event.get("llm_response_id"))
        step = self.run.step_of(MAIN, key, line, moment)
        step.usage = self._usage.get(key or "")
        step.model = self.model
        return step

    def on_SystemPromptEvent(self, line: int, moment: float | None, event: dict[str, Any]) -> None:
        for name in ("system_prompt", "dynamic_context"):
            if text := text_of(event.get(name)):
                self.run.add_message(MAIN, "system", text, line)
                add_available_skills(self.run, text)

    def on_MessageEvent(self, line: int, moment: float | None, event: dict[str, Any]) -> None:
        text = text_of(nested(event, "llm_message", "content"))
        if event.get("source") == "agent":
            self._step(line, moment, event).texts.append(text)
            return
        self.run.add_message(MAIN, "prompt", text, line)
        names = [name for name in as_list(event.get("activated_skills")) if as_str(name)]
        for added in filter(None, map(text_of, as_list(event.get("extended_content")))):
            if len(names) == 1:
                self.run.add_message(MAIN, "skill_body", added, line, skill=names[0])
            else:
                self.run.add_message(MAIN, "other", added, line)

    def on_ActionEvent(self, line: int, moment: float | None, event: dict[str, Any]) -> None:
        step = self._step(line, moment, event)
        if text := text_of(event.get("thought")):
            step.texts.append(text)
        if reasoning := text_of(event.get("reasoning_content")):
            step.reasoning.append(reasoning)
        given = as_dict(event.get("tool_call"))
        name = as_str(given.get("name")) or as_str(event.get("tool_name")) or "unknown"
        arguments = arguments_of(given.get("arguments")) or as_dict(event.get("action"))
        self.run.add_call(step, as_str(event.get("tool_call_id")), name, arguments, line)

    def on_ObservationEvent(self, line: int, moment: float | None, event: dict[str, Any]) -> None:
        call = self.run.find_call(event.get("tool_call_id"))
        if call is None:
            self.run.skipped["observation without call"] += 1
        else:
            call.result = self._result(call, as_dict(event.get("observation")), line)

    def _result(self, call: CallBuilder, given: dict[str, Any], line: int) -> ToolResult:
        text = text_of(given.get("content"))
        if given.get("is_error") is True:
            return ToolResult(text=text, line=line, ok=False)
        footer = _FOOTER.search(text) if call.action == "skill" else None
        if footer is None:
            code = given.get("exit_code", nested(given, "metadata", "exit_code"))
            return result_of_output(call, text, line, as_int(code))
        if footer[1].startswith("/"):
            self.run.add_skill_root(footer[1].rstrip("/").rpartition("/")[0])
        return ToolResult(text=text, line=line, ok=True, clean=text[: footer.start()])

    def on_AgentErrorEvent(self, line: int, moment: float | None, event: dict[str, Any]) -> None:
        call = self.run.find_call(event.get("tool_call_id"))
        text = text_of(event.get("error") or event.get("rejection_reason"))
        if call is not None:
            call.result = ToolResult(text=text, line=line, ok=False)

    on_UserRejectObservation = on_AgentErrorEvent

    def on_ConversationErrorEvent(
        self, line: int, moment: float | None, event: dict[str, Any]
    ) -> None:
        self.run.add_fault(MAIN, text_of(event.get("detail")))

    def on_Condensation(self, line: int, moment: float | None, event: dict[str, Any]) -> None:
        kept: list[tuple[int, int]] | None = None
        if isinstance(event.get("forgotten_event_ids"), list):
            forgotten = {self._lines.get(str(one)) for one in event["forgotten_event_ids"]}
            kept = [(at, at) for at in self._lines.values() if at < line and at not in forgotten]
        self.run.add_compaction(MAIN, line, kept)
        if text := text_of(event.get("summary")):
            self.run.add_message(MAIN, "summary", text, line)


def _usage(used: dict[str, Any], cost: Any = None) -> Usage:
    """A cost of 0 is that of a model without a known price."""
    return usage_of_prompt(
        used.get("prompt_tokens"),
        cached=used.get("cache_read_tokens"),
        written=used.get("cache_write_tokens"),
        output=used.get("completion_tokens"),
        reasoning=used.get("reasoning_tokens"),
        cost=as_float(cost) or None,
    )


class OpenHandsV1(Parser):
    """Reads one conversation."""

    agent = "openhands"
    traits = AgentTraits(keeps_folder=True)

    def sniff(self, source: Source) -> bool:
        """An event with an id and a kind, a list of such, or the state beside a folder of them."""
        head = parse_head(source.head)
        if head.is_list:
            return any(map(_is_event, head.items[:8]))
        state = source.path.name == _STATE and bool(_metrics(head.first))
        return state or ("history" not in head.first and _is_event(head.first))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        reader = _Reader(run)
        documents = []
        for path in source.files:
            document = JsonDocument(path)
            run.complete = run.complete and document.complete
            documents.append(document)
        files = sorted(enumerate(documents), key=lambda one: _number(one[1].path))
        for _, document in files:
            if document.path.name == _STATE:
                reader.state(as_dict(document.value))
        for index, document in files:
            run.file = index
            given = document.value if isinstance(document.value, list) else [document.value]
            for number, event in enumerate(given, 1):
                if _is_event(event):
                    reader.event(number, event)
        run.complete = run.complete and run.ends_with_answer()
        folder = source.path.parent
        session = folder.parent.name if _NUMBER.match(source.path.name) else None
        yield run.build(
            self,
            source.files,
            session=session,
            trajectory=session or file_key(source.path),
            model=reader.model,
            cwd=reader.cwd,
            usage=total_usage(reader.totals),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """The events of a folder are one conversation, and the state beside it is part of that."""
        path = source.path
        if path.name == _STATE:
            return SessionLink(str(path.parent / "events"), _STATE, by_path=True)
        number = _NUMBER.match(path.name)
        if path.parent.name != "events" or number is None:
            return None
        child = None if int(number[1]) == 0 else path.name
        return SessionLink(str(path.parent), child, by_path=True)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """The other events, and the state."""
        yield from path.parent.glob("event-*.json")
        yield path.parent.parent / _STATE


def _number(path: Path) -> tuple[int, str]:
    number = _NUMBER.match(path.name)
    return (int(number[1]) if number else 0, str(path))

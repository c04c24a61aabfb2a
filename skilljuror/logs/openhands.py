"""OpenHands conversations: one event per file, or a list of events (formats.md §13).

Tokens and the model are in `base_state.json` beside the folder of events.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import AgentTraits, ToolResult, Usage
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    arguments_of,
    strip_line_numbers,
    usage_of,
)
from skilljuror.logs.base import SessionLink, Source
from skilljuror.logs.records import (
    as_dict,
    as_dicts,
    as_epoch,
    as_int,
    as_list,
    as_str,
    nested,
    parse_head,
    text_of,
)

_KIND = re.compile(r"[A-Z]\w+(?:Event|Observation)|Condensation\w*")
_NUMBER = re.compile(r"event-(\d{1,9})-")
_STATE = "base_state.json"
_FOOTER = re.compile(r"\n\n---\nThis skill is located at `([^`\n]{1,1000})`\. [^\n]*\Z")
_TRAILER = re.compile(
    r"(?:\s*\[(?:The command (?:completed|has no new output|timed out)|Command finished|Current working directory|Python interpreter"
    r"|Jupyter (?:current working directory|Python interpreter))[^\n]{0,400}\]){1,6}\Z"
)
"""Text after an output: exit status, folder, interpreter."""
_EXIT = re.compile(
    r"^\[(?:The command completed|Command finished) with exit code (-?\d{1,9})\.?\]", re.MULTILINE
)
_NEAR_END = 3000
"""Characters at the end that contain the trailer."""
_VIEWED = "Here's the result of running `cat -n` on "


def is_event(value: Any) -> bool:
    """Whether a value is an event with an id and a kind."""
    event = as_dict(value)
    return "id" in event and _KIND.fullmatch(str(event.get("kind"))) is not None


def stated_exit_code(text: str) -> int | None:
    """Exit status in the trailer of an output, or None."""
    codes = _EXIT.findall(text[-_NEAR_END:])
    return int(codes[-1]) if codes else None


def result_of_output(
    run: TrajectoryBuilder, call: CallBuilder, text: str, exit_code: int | None
) -> ToolResult:
    """Result of a call as the model saw it, with its exit status if known."""
    clean = first = None
    if call.action == "read":
        body = text.partition("\n")[2] if text.startswith(_VIEWED) else text
        clean, first = strip_line_numbers(body) or (None, None)
    elif text.endswith("]"):
        clean = text[:-_NEAR_END] + _TRAILER.sub("", text[-_NEAR_END:])
    ok = exit_code == 0 if exit_code is not None else not text.startswith("ERROR:")
    return run.result(text, ok=ok, exit_code=exit_code, clean=clean, first_line=first)


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self._usage: dict[str, Usage | None] = {}
        """Id of a model's response -> its tokens."""
        self._lines: dict[str, int] = {}
        """Id of an event -> its place."""

    def read_state(self, state: Any) -> None:
        """Read folder, model and tokens, which stand beside the events."""
        self.cwd = as_str(state, "workspace", "working_dir")
        self.model = as_str(state, "agent", "llm", "model")
        for metrics in as_dict(state, "stats", "usage_to_metrics").values():
            total = as_dict(metrics, "accumulated_token_usage")
            self.totals.append(usage_of("openhands", total, nested(metrics, "accumulated_cost")))
            for used in as_dicts(metrics, "token_usages"):
                self._usage[str(used.get("response_id"))] = usage_of("openhands", used)

    def read(self, line: int, record: dict[str, Any]) -> None:
        self.run.at(line, as_epoch(record, "timestamp"))
        self._lines[str(record.get("id"))] = line
        self.take(str(record.get("kind")), record)

    def _step(self, event: dict[str, Any]) -> StepBuilder:
        key = as_str(event, "llm_response_id")
        step = self.run.step_of(MAIN, key)
        step.usage = self._usage.get(key or "")
        step.model = self.model
        return step

    def on_SystemPromptEvent(self, event: dict[str, Any]) -> None:
        for name in ("system_prompt", "dynamic_context"):
            if text := text_of(event, name):
                self.run.add_message(MAIN, "system", text)
                self.run.add_available_skills(text)

    def on_MessageEvent(self, event: dict[str, Any]) -> None:
        text = text_of(event, "llm_message", "content")
        if event.get("source") == "agent":
            self._step(event).texts.append(text)
            return
        self.run.add_message(MAIN, "prompt", text)
        names = [name for name in as_list(event, "activated_skills") if as_str(name)]
        for added in filter(None, map(text_of, as_list(event, "extended_content"))):
            if len(names) == 1:
                self.run.add_message(MAIN, "skill_body", added, skill=names[0])
            else:
                self.run.add_message(MAIN, "other", added)

    def on_ActionEvent(self, event: dict[str, Any]) -> None:
        step = self._step(event)
        step.say(text_of(event, "thought"))
        step.say(text_of(event, "reasoning_content"), thought=True)
        name = as_str(event, "tool_call", "name") or as_str(event, "tool_name")
        given = arguments_of(nested(event, "tool_call", "arguments")) or as_dict(event, "action")
        self.run.add_call(step, as_str(event, "tool_call_id"), name, given)

    def on_ObservationEvent(self, event: dict[str, Any]) -> None:
        call = self.run.answered(event.get("tool_call_id"), "observation")
        given = as_dict(event, "observation")
        text = text_of(given, "content")
        footer = _FOOTER.search(text) if call.action == "skill" else None
        if given.get("is_error") is True:
            call.result = self.run.result(text, ok=False)
        elif footer is None:
            code = given.get("exit_code", nested(given, "metadata", "exit_code"))
            call.result = result_of_output(self.run, call, text, as_int(code))
        else:
            if footer[1].startswith("/"):
                self.run.add_skill_root(footer[1].rstrip("/").rpartition("/")[0])
            call.result = self.run.result(text, ok=True, clean=text[: footer.start()])

    def on_AgentErrorEvent(self, event: dict[str, Any]) -> None:
        call = self.run.answered(event.get("tool_call_id"), "observation")
        text = text_of(event.get("error") or event.get("rejection_reason"))
        call.result = self.run.result(text, ok=False)

    on_UserRejectObservation = on_AgentErrorEvent

    def on_ConversationErrorEvent(self, event: dict[str, Any]) -> None:
        self.run.add_fault(MAIN, text_of(event, "detail"))

    def on_Condensation(self, event: dict[str, Any]) -> None:
        kept: list[tuple[int, int]] | None = None
        if isinstance(event.get("forgotten_event_ids"), list):
            forgotten = {self._lines.get(str(id)) for id in event["forgotten_event_ids"]}
            places = (at for at in self._lines.values() if at < self.run.line)
            kept = [(at, at) for at in places if at not in forgotten]
        self.run.add_compaction(MAIN, kept)
        if text := text_of(event, "summary"):
            self.run.add_message(MAIN, "summary", text)


class OpenHandsV1(RecordParser):
    """Reads one conversation."""

    agent = "openhands"
    traits = AgentTraits(keeps_folder=True)
    reader = _Reader

    def sniff(self, source: Source) -> bool:
        """An event with an id and a kind, a list of such, or the state beside a folder of them."""
        head = parse_head(source.head)
        if source.path.name == _STATE and as_dict(head.first, "stats", "usage_to_metrics"):
            return True
        if any(map(is_event, head.items[:8])):
            return True
        return "history" not in head.first and is_event(head.first)

    def read_files(self, reader: _Reader, source: Source) -> None:
        documents = [reader.document(path) for path in source.files]
        for document in documents:
            if document.path.name == _STATE:
                reader.read_state(document.value)
        for reader.run.file, document in sorted(
            enumerate(documents), key=lambda entry: _number(entry[1].path)
        ):
            events = document.value if isinstance(document.value, list) else [document.value]
            for number, event in enumerate(events, 1):
                if is_event(event):
                    reader.read(number, event)
        if _NUMBER.match(source.path.name):
            reader.session = source.path.parent.parent.name

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

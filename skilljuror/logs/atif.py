"""Harbor's interchange format ATIF, versions 1.0 to 1.8, read tolerantly.

It is a conversion: a native log of the same run is preferred. One run may have several documents:
continuations, summarization sub-agents with files of their own, and embedded sub-agents. How results
and messages are written depends on the agent whose log was converted.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult, Trajectory, Usage
from skilljuror.logs import claude_code, codex, gemini_cli, mini_swe_agent
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    StepBuilder,
    TrajectoryBuilder,
    arguments_of,
    total_usage,
    usage_of,
)
from skilljuror.logs.base import LogKind, SessionLink, Source
from skilljuror.logs.openhands import result_of_output, stated_exit_code
from skilljuror.logs.read import traits_of
from skilljuror.logs.records import (
    JsonDocument,
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_float,
    as_int,
    as_list,
    as_str,
    file_key,
    json_of,
    nested,
    parse_head,
    text_of,
    unreadable,
)
from skilljuror.logs.terminus2 import decode_reply, reply_text

_CONTINUATION = re.compile(r"\.cont-\d+$")
_SUMMARIES = re.compile(r"\.(summarization-\d+-\w+)$")
_PART = re.compile(r"^(.+)\.(?:cont-\d+|summarization-\d+-\w+)$")
_NUMBERS = re.compile(r"(\d{1,18})")
_SUMMARY = "This session is being continued from a previous conversation"
_HANDOFF = "Performed context summarization and handoff to continue task."
"""System step of terminus-2 where a summary replaces its context."""
_ERROR = "\n\n[error] tool reported failure"
_METADATA = "\n\n[metadata] {"
_NOT_READ = "Previous response had parsing errors"
_KEYSTROKES = re.compile(
    r"<keystrokes(?:\s+duration=[\"'][\d.]{1,12}[\"'])?\s*>(.*?)</keystrokes>", re.DOTALL
)
_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)
_ROUNDING = 1e-6
"""Relative cost difference that rounding of the same prices can cause."""
_NO_COMMAND = "mark_task_complete"
"""terminus-2 calls it when done; the step's screen belongs to its commands."""

ObservationResult = dict[str, Any]


# Results as Harbor's converter writes them for each agent


def _plain_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, text: str
) -> ToolResult:
    return run.result(text, exit_code=as_int(result, "extra", "exit_code"))


def _claude_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, text: str
) -> ToolResult:
    """The raw result is in `extra`; the content repeats the file's text."""
    kept = as_dict(result, "extra", "tool_result_metadata")
    raw = as_dict(kept, "raw_tool_result")
    if not raw:
        text, error, _ = text.partition(_METADATA)[0].partition(_ERROR)
        raw = {"content": text, "is_error": bool(error)}
    return claude_code.read_result(run, call, raw, kept.get("tool_use_result"))


def _openhands_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, text: str
) -> ToolResult:
    """The kind of observation is lost: only a status or a file can be recovered."""
    code = stated_exit_code(text)
    output = result_of_output(run, call, text, code)
    unknown = code is None and output.ok and output.first_line is None
    return replace(output, ok=None) if unknown else output


ResultReader = Callable[[TrajectoryBuilder, CallBuilder, ObservationResult, str], ToolResult]
"""Restore a result (run, call, logged result, its text) from its conversion."""

RESULTS: dict[str, ResultReader] = {
    "claude-code": _claude_result,
    "codex": lambda run, call, result, text: codex.read_output(run, text)[0],
    "gemini-cli": lambda run, call, result, text: gemini_cli.read_result(run, call, text, False),
    "mini-swe-agent": lambda run, call, result, text: mini_swe_agent.read_result(
        run, call, text, {}
    ),
    "openhands": _openhands_result,
}
"""Agent name -> reader of its results."""


# Calls inside the text of a step, where Harbor keeps raw replies


InlineCall = tuple[str, dict[str, Any]]
"""(tool name, arguments)."""


def _terminus_calls(text: str, answer: str | None) -> tuple[list[str], list[InlineCall]]:
    """Return (text, commands) of a terminus-2 reply; `answer` is None if nothing followed."""
    if answer is None or answer.startswith(_NOT_READ):
        return [], []
    reply = decode_reply(text)
    commands = as_dicts(reply, "commands")
    if commands:
        return reply_text(reply), [("bash_command", command) for command in commands]
    keystrokes = _KEYSTROKES.findall(text)
    calls: list[InlineCall] = [("bash_command", {"keystrokes": keys}) for keys in keystrokes]
    return [text.partition("<commands")[0]], calls


def _openhands_calls(text: str, answer: str | None) -> tuple[list[str], list[InlineCall]]:
    """Return (text, function calls) of an OpenHands message."""
    before = text.partition("<function=")[0].strip()
    calls: list[InlineCall] = []
    for name, body in _FUNCTION.findall(text):
        arguments: dict[str, Any] = dict(_PARAMETER.findall(body))
        for key, value in arguments.items():  # a range of lines is a list
            items = json_of(value) if value.startswith("[") else None
            arguments[key] = value if items is None else items
        calls.append((name, arguments))
    return [before] if before else [], calls


INLINE_CALLS = {"terminus-2": _terminus_calls, "openhands": _openhands_calls}
"""Agents that write calls into their text, because their program parses it."""


# Tokens


def usage_of_run(stated: dict[str, Any], summed: Usage | None, *, in_parts: bool) -> Usage | None:
    """Totals of a run: its final metrics, else the sum of its steps.

    A run `in_parts` has continuations or sub-agents. Its final metrics cover only one part if they
    report fewer prompt tokens than its steps do.
    """
    steps = summed or Usage()
    prompt = as_count(stated, "total_prompt_tokens")
    prompts = (steps.input or 0) + (steps.cache_read or 0) + (steps.cache_write or 0)
    if prompt is None or (in_parts and steps.input is not None and prompt < prompts):
        total = steps
        if total.output is None:
            total = replace(total, output=as_count(stated, "total_completion_tokens"))
    else:
        known = usage_of("atif run", stated) or Usage()
        read = steps.cache_read if known.cache_read is None else known.cache_read
        written = steps.cache_write if known.cache_write is None else known.cache_write
        total = Usage(
            input=prompt - (read or 0) - (written or 0),
            cache_write=written,
            cache_read=read,
            output=steps.output if known.output is None else known.output,
            reasoning=steps.reasoning if known.reasoning is None else known.reasoning,
        )
    cost, of_steps = as_float(stated, "total_cost_usd"), steps.cost_usd
    if cost is None or (of_steps is not None and cost < of_steps * (1 - _ROUNDING)):
        cost = of_steps  # a resumed run reports only its first part
    total = replace(total, cost_usd=cost)
    return None if summed is None and total == Usage() else total


# Steps


def call_id_of(value: Any) -> str | None:
    """Return a call's id, also if written as a number, or None."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


class _Reader(RecordReader):
    """Reads the steps of all documents of a run."""

    def __init__(self, run: TrajectoryBuilder, agent: dict[str, Any]) -> None:
        super().__init__(run)
        self.agent = agent
        self._name = as_str(agent, "name") or ""
        self._bodies = claude_code.SkillBodies(run)
        self.embedded = False
        """Whether a document embeds a sub-agent."""

    def read_document(self, document: JsonDocument) -> None:
        """Read one file."""
        agent = _agent_of(document.path)
        self.run.complete = self.run.complete and document.complete
        if _CONTINUATION.search(document.path.stem):
            self.run.line = 0
            self._compacted(agent)
        self._steps(document, document.value, agent)

    def _steps(self, document: JsonDocument, parent: dict[str, Any], agent: str) -> None:
        """Read steps, and those of embedded sub-agents, recursively."""
        for number, step in document.elements(parent.get("steps")):
            self._step(number, as_dict(step), agent)
        for child in as_dicts(parent, "subagent_trajectories"):
            self.embedded = True
            name = as_str(child, "trajectory_id") or as_str(child, "session_id")
            self._steps(document, child, name or "embedded")

    def _step(self, number: int, step: dict[str, Any], agent: str) -> None:
        self.run.line = number
        if nested(step, "extra", "is_sidechain") is True:
            agent = as_str(step, "extra", "agent_id") or "sidechain"
        if step.get("is_copied_context") is True:
            self.run.skip("copied context")
            return
        self.run.at(number, as_epoch(step, "timestamp"))
        if step.get("source") == "agent":
            self._agent_step(agent, step)
            return
        text = text_of(step, "message")
        if _is_compaction(step, text):
            self._compacted(agent)
        if text and step.get("source") == "system":
            self._system_text(agent, text)
        elif text:
            self._user_text(agent, text)
        for result in as_dicts(step, "observation", "results"):
            self._unclaimed(agent, result)

    def _system_text(self, agent: str, text: str) -> None:
        if self._name == codex.AGENT:
            codex.add_system_text(self.run, agent, text)
        else:
            listing = self.run.add_available_skills(text)
            self.run.add_message(agent, "skill_listing" if listing else "system", text)

    def _user_text(self, agent: str, text: str) -> None:
        """Classify and add a user step; converters flatten everything to plain text."""
        self.run.add_available_skills(text)
        if text.startswith(claude_code.BODY_PREFIX):
            self._bodies.add_body(agent, text, None)
        elif text.startswith(("<command-name>", "<command-message>")):
            self._bodies.add_command(agent, text)
        elif text.startswith(_SUMMARY):
            self.run.add_compaction(agent)
            self.run.add_message(agent, "summary", text)
        elif text.startswith("<session_context>"):
            self.run.add_message(agent, "tree", text)
        else:
            codex.add_user_text(self.run, agent, text)

    def _compacted(self, agent: str) -> None:
        """Record a compaction once, although a step and the next file both report it."""
        known = {(one.agent, one.step) for one in self.run.compactions}
        self.run.add_compaction(agent)
        if (agent, self.run.compactions[-1].step) in known:
            self.run.compactions.pop()

    def _agent_step(self, agent: str, members: dict[str, Any]) -> None:
        step = self.run.add_step(agent, model=as_str(members, "model_name"))
        step.usage = usage_of("atif", members.get("metrics"))
        results = as_dicts(members, "observation", "results")
        text = text_of(members, "message")
        step.say(text)
        step.say(text_of(members, "reasoning_content"), thought=True)
        for given in as_dicts(members, "tool_calls"):
            call_id, name = call_id_of(given.get("tool_call_id")), as_str(given, "function_name")
            call = self.run.add_call(step, call_id, name, arguments_of(given.get("arguments")))
            if call.action == "skill":
                self._bodies.add_call(agent, call)
        inline_calls = INLINE_CALLS.get(self._name)
        if text and not step.calls and inline_calls is not None:
            answer = text_of(results[0], "content") if results else None
            texts, calls = inline_calls(text, answer)
            step.texts = texts if calls else step.texts
            for name, arguments in calls:
                self.run.add_call(step, None, name, arguments)
        self._observation(step, results)

    def _observation(self, step: StepBuilder, results: list[ObservationResult]) -> None:
        """Add the results of a step; an unmatched one may answer an earlier call."""
        answered, left = _match_results(step.calls, results)
        for call, result in answered:
            self._attach(call, result)
        for result in left:
            earlier = self.run.find_call(call_id_of(result.get("source_call_id")))
            if earlier is not None and earlier.result is None:
                self._attach(earlier, result)
            else:
                self._unclaimed(step.agent, result)

    def _attach(self, call: CallBuilder, result: ObservationResult) -> None:
        for ref in as_dicts(result, "subagent_trajectory_ref")[:1]:
            call.sub_agent = as_str(ref, "trajectory_id") or as_str(ref, "session_id")
        read_result = RESULTS.get(self._name, _plain_result)
        call.result = read_result(self.run, call, result, text_of(result, "content"))

    def _unclaimed(self, agent: str, result: ObservationResult) -> None:
        """A result without a call (the screen of a step without commands) reaches the next step."""
        if text := text_of(result, "content"):
            self.run.add_message(agent, "other", text)


def _is_compaction(step: dict[str, Any], text: str) -> bool:
    """Whether a step of the system or user replaces the context before it."""
    management = as_dict(step, "extra", "context_management")
    if management:
        return management.get("type") == "compaction" or management.get("boundary") == "replace"
    return step.get("source") == "system" and text == _HANDOFF


def _match_results(
    calls: Sequence[CallBuilder], results: Sequence[ObservationResult]
) -> tuple[list[tuple[CallBuilder, ObservationResult]], list[ObservationResult]]:
    """Return (calls with their results, unmatched results).

    Match by id: of several calls with one id the first without an answer. Results without an id go in
    order to the last unanswered calls.
    """
    answers: dict[int, ObservationResult] = {}
    without_id, unknown = [], []
    for result in results:
        call_id = call_id_of(result.get("source_call_id"))
        named = [index for index, call in enumerate(calls) if call.call_id == call_id]
        if call_id is None:
            without_id.append(result)
        elif not named:
            unknown.append(result)
        else:
            index = next((index for index in named if index not in answers), named[-1])
            answers.setdefault(index, result)
    free = [index for index in range(len(calls)) if index not in answers]
    free = [index for index in free if calls[index].name != _NO_COMMAND] or free
    takers = free[-len(without_id) :] if without_id else []
    answers.update(zip(takers, without_id, strict=False))
    left = unknown + without_id[len(takers) :]
    return [(calls[index], answers[index]) for index in sorted(answers)], left


# Documents


def _by_number(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Key of a file that follows the first of its run: `cont-10` after `cont-2`."""
    pieces = enumerate(_NUMBERS.split(path.name))
    return [(int(piece), "") if i % 2 else (0, piece) for i, piece in pieces], str(path)


def _load(path: Path) -> JsonDocument:
    document = JsonDocument(path)
    if not isinstance(nested(document.value, "steps"), list):
        raise unreadable(path, "has no list of steps")
    return document


def _agent_of(path: Path) -> str:
    """A summarization sub-agent has its own file; a continuation belongs to main."""
    match = _SUMMARIES.search(path.stem)
    return match[1] if match else MAIN


class Atif(RecordParser):
    """Reads one document with its continuations and its embedded or named sub-agents."""

    kind = LogKind.INTERCHANGE

    def sniff(self, source: Source) -> bool:
        """An object whose schema_version starts with ATIF-v."""
        return str(parse_head(source.head).first.get("schema_version", "")).startswith("ATIF-v")

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        paths = [source.path, *sorted(source.siblings, key=_by_number)]
        documents = [_load(path) for path in paths]
        main = as_dict(documents[0].value)
        reader = _Reader(run, as_dict(main, "agent"))
        for run.file, document in enumerate(documents):
            reader.read_document(document)
        session = as_str(main, "session_id")
        name = "/".join(filter(None, (session, as_str(main, "trajectory_id"))))
        agent, version = as_str(reader.agent, "name"), as_str(reader.agent, "version")
        places = as_list(reader.agent, "extra", "cwds")
        # continuations count on from the document before
        last = [document for document in documents if _agent_of(document.path) == MAIN][-1:]
        yield run.build(
            self,
            paths,
            trajectory=name or file_key(source.path),
            session=session,
            agent=agent,
            traits=traits_of(agent),
            agent_version=None if version == "unknown" else version,
            model=as_str(reader.agent, "model_name"),
            cwd=as_str(places[0]) if places else None,
            usage=usage_of_run(
                as_dict(last[0].value, "final_metrics") if last else {},
                total_usage(step.usage for step in run.steps),
                in_parts=reader.embedded or len(documents) > 1,
            ),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """Parts extend the name of the first file."""
        path = source.path
        part = _PART.match(path.stem)
        return SessionLink(
            str(path.parent / (part[1] if part else path.stem)),
            path.stem if part else None,
            by_path=True,
        )

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Documents whose name begins with this file's."""
        return path.parent.glob(f"{escape(path.stem)}.*.json")

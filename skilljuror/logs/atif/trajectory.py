"""Harbor's interchange format ATIF, versions 1.0 to 1.8, read tolerantly.

It is a conversion: a native log of the same run is preferred.
"""

import re
from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path
from typing import Any

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.trajectory import Trajectory
from skilljuror.logs.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    total_usage,
)
from skilljuror.logs.assembly.tool_calls import arguments_of
from skilljuror.logs.atif.continuations import continuation, order_parts, resolve_below
from skilljuror.logs.atif.dialects import DIALECTS, PLAIN, add_user_message, is_compaction
from skilljuror.logs.atif.token_usage import usage_of_metrics, usage_of_run
from skilljuror.logs.atif.tool_results import ObservationResult, call_id_of, match_results
from skilljuror.logs.base import LogKind, Parser, SessionLink, Source
from skilljuror.logs.claude_code.skill_bodies import SkillBodies
from skilljuror.logs.raw_logs.coercion import as_dict, as_epoch, as_list, as_str, nested
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head
from skilljuror.logs.raw_logs.json_document import JsonDocument, JsonElement
from skilljuror.logs.raw_logs.jsonl import file_key, unreadable
from skilljuror.logs.read import traits_of

_CONTINUATION = re.compile(r"\.cont-\d+$")
_SUMMARIES = re.compile(r"\.(summarization-\d+-\w+)$")
_PART = re.compile(r"^(.+)\.(?:cont-\d+|summarization-\d+-\w+)$")


class Atif(Parser):
    """Reads one document with its continuations and its embedded or named sub-agents."""

    kind = LogKind.INTERCHANGE

    def sniff(self, source: Source) -> bool:
        """An object whose schema_version starts with ATIF-v."""
        return str(parse_head(source.head).first.get("schema_version", "")).startswith("ATIF-v")

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        loaded = {source.path: _load(source.path), **_others(run, source.siblings)}
        named = {
            path: resolve_below(path, nested(document.value, "continued_trajectory_ref"))
            for path, document in loaded.items()
        }
        paths = order_parts(source.path, [path for path in loaded if path != source.path], named)
        documents = [loaded[path] for path in paths]
        main = as_dict(documents[0].value)
        reader = _Reader(run, as_dict(main.get("agent")))
        continued = set(named.values()) - {source.path}
        for index, document in enumerate(documents):
            run.file = index
            run.complete = run.complete and document.complete
            reader.document(document, _agent_of(document.path), document.path in continued)
        session = as_str(main.get("session_id"))
        name = "/".join(filter(None, (session, as_str(main.get("trajectory_id")))))
        agent, version = as_str(reader.agent.get("name")), as_str(reader.agent.get("version"))
        places = as_list(nested(reader.agent, "extra", "cwds"))
        yield run.build(
            self,
            paths,
            trajectory=name or file_key(source.path),
            session=session,
            agent=agent,
            traits=traits_of(agent),
            agent_version=None if version == "unknown" else version,
            model=as_str(reader.agent.get("model_name")),
            cwd=as_str(places[0]) if places else None,
            usage=usage_of_run(
                _final_metrics(documents),
                total_usage(step.usage for step in run.steps),
                in_parts=reader.embedded or len(documents) > 1,
            ),
        )

    def session_link(self, source: Source) -> SessionLink | None:
        """Parts extend the name of the first file, or another file names them."""
        path = source.path
        part = _PART.match(path.stem)
        return SessionLink(
            str(path.parent / (part[1] if part else path.stem)),
            path.stem if part else None,
            continuation(path),
            by_path=True,
        )

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Documents whose name begins with this file's."""
        return path.parent.glob(f"{escape(path.stem)}.*.json")


def _load(path: Path) -> JsonDocument:
    document = JsonDocument(path)
    if not isinstance(nested(document.value, "steps"), list):
        raise unreadable(path, "has no list of steps")
    return document


def _others(run: TrajectoryBuilder, paths: Iterable[Path]) -> dict[Path, JsonDocument]:
    """Read the further documents of a run; an unreadable one adds a warning."""
    loaded = {}
    for path in paths:
        try:
            loaded[path] = _load(path)
        except TrajectoryError as failure:
            run.warnings.append(failure.message)
            run.complete = False
    return loaded


def _final_metrics(documents: Iterable[JsonDocument]) -> dict[str, Any]:
    """Metrics of the main agent's last document: continuations count on from the one before."""
    mains = [document for document in documents if _agent_of(document.path) == MAIN]
    return as_dict(as_dict(mains[-1].value).get("final_metrics")) if mains else {}


def _agent_of(path: Path) -> str:
    """A summarization sub-agent has its own file; a continuation belongs to main."""
    match = _SUMMARIES.search(path.stem)
    return match[1] if match else MAIN


class _Reader:
    """Reads documents into the run."""

    def __init__(self, run: TrajectoryBuilder, agent: dict[str, Any]) -> None:
        self.run = run
        self.agent = agent
        self._dialect = DIALECTS.get(as_str(agent.get("name")) or "", PLAIN)
        self._bodies = SkillBodies(run)
        self.embedded = False
        """Whether a document embeds a sub-agent."""

    def document(self, document: JsonDocument, agent: str, continued: bool) -> None:
        """Read one file; `continued` if another names it as its continuation."""
        if continued or _CONTINUATION.search(document.path.stem):
            self._compacted(agent, 0)
        for element in document.elements(document.value["steps"]):
            self._step(element, agent)
        self._embedded(document, document.value)

    def _embedded(self, document: JsonDocument, parent: dict[str, Any]) -> None:
        """Read embedded sub-agents, recursively."""
        for child in map(as_dict, as_list(parent.get("subagent_trajectories"))):
            self.embedded = True
            name = as_str(child.get("trajectory_id")) or as_str(child.get("session_id"))
            for step in document.elements(child.get("steps")):
                self._step(step, name or "embedded")
            self._embedded(document, child)

    def _step(self, element: JsonElement, agent: str) -> None:
        step = as_dict(element.value)
        extra = as_dict(step.get("extra"))
        if extra.get("is_sidechain") is True:
            agent = as_str(extra.get("agent_id")) or "sidechain"
        if step.get("is_copied_context") is True:
            self.run.skipped["copied context"] += 1
            return
        moment = as_epoch(step.get("timestamp"))
        self.run.include_time(moment)
        if step.get("source") != "agent":
            self._message(element, agent, step)
            return
        self._agent_step(element, agent, step, moment)

    def _message(self, element: JsonElement, agent: str, step: dict[str, Any]) -> None:
        text = text_of(step.get("message"))
        if is_compaction(step, text):
            self._compacted(agent, element.number)
        if text and step.get("source") == "system":
            self._dialect.add_system_text(self.run, agent, element.number, text)
        elif text:
            add_user_message(self.run, self._bodies, agent, element.number, text)
        for result in _results(step):
            self._unclaimed(element, agent, result)

    def _compacted(self, agent: str, line: int) -> None:
        """Record a compaction once, although a step and the next file both report it."""
        known = {(one.agent, one.step) for one in self.run.compactions}
        self.run.add_compaction(agent, line)
        if (agent, self.run.compactions[-1].step) in known:
            self.run.compactions.pop()

    def _agent_step(
        self, element: JsonElement, agent: str, members: dict[str, Any], timestamp: float | None
    ) -> None:
        step = self.run.add_step(agent, element.number, timestamp)
        step.model = as_str(members.get("model_name"))
        step.usage = usage_of_metrics(as_dict(members.get("metrics")))
        results = _results(members)
        if text := text_of(members.get("message")):
            step.texts.append(text)
        if reasoning := text_of(members.get("reasoning_content")):
            step.reasoning.append(reasoning)
        for call in as_list(members.get("tool_calls")):
            self._call(element, step, as_dict(call))
        if text and not step.calls:
            self._inline_calls(element, step, text, results)
        if results:
            self._observation(element, step, results)

    def _call(self, element: JsonElement, step: StepBuilder, members: dict[str, Any]) -> None:
        call_id = call_id_of(members.get("tool_call_id"))
        name = as_str(members.get("function_name")) or "unknown"
        arguments = arguments_of(members.get("arguments"))
        call = self.run.add_call(step, call_id, name, arguments, element.number)
        if call.action == "skill":
            self._bodies.add_call(step.agent, call)

    def _inline_calls(
        self, element: JsonElement, step: StepBuilder, text: str, results: list[ObservationResult]
    ) -> None:
        """Add calls contained in the message."""
        if self._dialect.inline_calls is None:
            return
        answer = text_of(results[0].get("content")) if results else None
        texts, calls = self._dialect.inline_calls(text, answer)
        step.texts = texts if calls else step.texts
        for name, arguments in calls:
            self.run.add_call(step, None, name, arguments, element.number)

    def _observation(
        self, element: JsonElement, step: StepBuilder, results: list[ObservationResult]
    ) -> None:
        """Add the results of a step; an unmatched one may answer an earlier call."""
        answered, left = match_results(step.calls, results)
        for call, result in answered:
            self._attach(call, result, element.number)
        for result in left:
            earlier = self.run.find_call(call_id_of(result.get("source_call_id")))
            if earlier is not None and earlier.result is None:
                self._attach(earlier, result, element.number)
            else:
                self._unclaimed(element, step.agent, result)

    def _attach(self, call: CallBuilder, result: ObservationResult, line: int) -> None:
        for ref in map(as_dict, as_list(result.get("subagent_trajectory_ref"))[:1]):
            call.sub_agent = as_str(ref.get("trajectory_id")) or as_str(ref.get("session_id"))
        text = text_of(result.get("content"))
        call.result = self._dialect.read_result(self.run, call, result, text, line)

    def _unclaimed(self, element: JsonElement, agent: str, result: ObservationResult) -> None:
        """A result without a call (the screen of a step without commands) reaches the next step."""
        text = text_of(result.get("content"))
        if text:
            self.run.add_message(agent, "other", text, element.number)


def _results(members: dict[str, Any]) -> list[ObservationResult]:
    observation = as_dict(members.get("observation"))
    return [as_dict(result) for result in as_list(observation.get("results"))]

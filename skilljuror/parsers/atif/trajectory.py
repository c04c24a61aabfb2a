"""Harbor's interchange format ATIF, versions 1.0 to 1.8, read tolerantly (formats.md §7).

It is a conversion: where a native log of the same run exists, that one is better.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import orjson

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    total_usage,
)
from skilljuror.parsers.atif.continuations import file_beside, order_parts
from skilljuror.parsers.atif.inline_calls import inline_calls
from skilljuror.parsers.atif.token_usage import usage_of_metrics, usage_of_run
from skilljuror.parsers.atif.tool_results import (
    add_system_message,
    add_user_message,
    call_id_of,
    is_compaction,
    match_results,
    read_result,
)
from skilljuror.parsers.base import Source
from skilljuror.parsers.claude_code.skill_bodies import SkillBodies
from skilljuror.parsers.raw_logs.coercion import as_dict, as_epoch, as_list, as_string, text_of
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.json_document import JsonDocument, JsonElement
from skilljuror.parsers.raw_logs.jsonl import file_key

_CONTINUATION = re.compile(r"\.cont-\d+$")
_SUMMARIES = re.compile(r"\.(summarization-\d+-\w+)$")


class Atif:
    """Reads one document, its continuations and the sub-agents it embeds or names."""

    format: ClassVar[str] = "atif"
    native: ClassVar[int] = 2

    def sniff(self, source: Source) -> bool:
        """An object with a schema_version that starts with ATIF-v."""
        return str(parse_head(source.head).first.get("schema_version", "")).startswith("ATIF-v")

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = TrajectoryBuilder()
        loaded = {source.path: _load(source.path), **_others(run, source.siblings)}
        named = {path: _goes_on(document) for path, document in loaded.items()}
        paths = order_parts(source.path, [path for path in loaded if path != source.path], named)
        documents = [loaded[path] for path in paths]
        main = as_dict(documents[0].value)
        reader = _Reader(run, as_dict(main.get("agent")))
        continued = set(named.values()) - {source.path}
        for index, document in enumerate(documents):
            run.file = index
            run.complete = run.complete and document.complete
            reader.document(document, _agent_of(document.path), document.path in continued)
        session = as_string(main.get("session_id"))
        name = "/".join(filter(None, (session, as_string(main.get("trajectory_id")))))
        yield run.build(
            trajectory=name or file_key(source.path),
            session=session,
            format=self.format,
            files=tuple(map(str, paths)),
            agent=as_string(reader.agent.get("name")),
            agent_version=_known(reader.agent.get("version")),
            model=as_string(reader.agent.get("model_name")),
            cwd=_cwd(reader.agent),
            usage=usage_of_run(
                _final_metrics(documents),
                total_usage(step.usage for step in run.steps),
                in_parts=reader.embedded or len(documents) > 1,
            ),
        )


def _load(path: Path) -> JsonDocument:
    document = JsonDocument(path)
    if not isinstance(as_dict(document.value).get("steps"), list):
        raise TrajectoryError(f"{str(path)!r} is ATIF without a list of steps", file=str(path))
    return document


def _others(run: TrajectoryBuilder, paths: Iterable[Path]) -> dict[Path, JsonDocument]:
    """The further documents of a run; one that cannot be read is missing, and the rest is not."""
    loaded = {}
    for path in paths:
        try:
            loaded[path] = _load(path)
        except TrajectoryError as failure:
            run.warnings.append(failure.message)
            run.complete = False
    return loaded


def _final_metrics(documents: Iterable[JsonDocument]) -> dict[str, Any]:
    """Those of the main agent's last document: a continuation counts on from where it goes on."""
    mains = [document for document in documents if _agent_of(document.path) == MAIN]
    return as_dict(as_dict(mains[-1].value).get("final_metrics")) if mains else {}


def _goes_on(document: JsonDocument) -> Path | None:
    return file_beside(document.path, as_dict(document.value).get("continued_trajectory_ref"))


def _agent_of(path: Path) -> str:
    """A summarization sub-agent has a file of its own; a continuation goes on with main."""
    match = _SUMMARIES.search(path.stem)
    return match[1] if match else MAIN


def _known(version: Any) -> str | None:
    return None if version == "unknown" else as_string(version)


def _cwd(agent: dict[str, Any]) -> str | None:
    places = as_list(as_dict(agent.get("extra")).get("cwds"))
    return as_string(places[0]) if places else None


class _Reader:
    """Reads documents into the run."""

    def __init__(self, run: TrajectoryBuilder, agent: dict[str, Any]) -> None:
        self.run = run
        self.agent = agent
        self._program = as_string(agent.get("name")) or ""
        self._bodies = SkillBodies(run)
        self.embedded = False
        """Whether a document holds a sub-agent."""

    def document(self, document: JsonDocument, agent: str, continued: bool) -> None:
        """Read one file; `continued` says that another names it as its continuation."""
        if continued or _CONTINUATION.search(document.path.stem):
            self._compacted(agent)
        for element in document.elements("steps"):
            self._step(element, agent)
        for child in document.elements("subagent_trajectories"):
            self._embedded(child)

    def _embedded(self, element: JsonElement) -> None:
        self.embedded = True
        child = as_dict(element.value)
        agent = (
            as_string(child.get("trajectory_id"))
            or as_string(child.get("session_id"))
            or "embedded"
        )
        for step in element.elements("steps"):
            self._step(step, agent)
        for deeper in element.elements("subagent_trajectories"):
            self._embedded(deeper)

    def _step(self, element: JsonElement, agent: str) -> None:
        step = as_dict(element.value)
        extra = as_dict(step.get("extra"))
        if extra.get("is_sidechain") is True:
            agent = as_string(extra.get("agent_id")) or "sidechain"
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
        shown = text_of(step.get("message"))
        if is_compaction(step, shown):
            self._compacted(agent)
        if shown and step.get("source") == "system":
            add_system_message(self.run, agent, element.line, shown, self._program)
        elif shown:
            add_user_message(self.run, self._bodies, agent, element.line, shown)
        for given in _results(step):
            self._unclaimed(element, agent, given)

    def _compacted(self, agent: str) -> None:
        """Note a compaction; a step that tells it and the file that goes on from it are one."""
        before = len(self.run.compactions)
        self.run.add_compaction(agent)
        if self.run.compactions[-1] in self.run.compactions[:before]:
            self.run.compactions.pop()

    def _agent_step(
        self, element: JsonElement, agent: str, step: dict[str, Any], moment: float | None
    ) -> None:
        draft = self.run.add_step(agent, element.line, moment)
        draft.model = as_string(step.get("model_name"))
        draft.usage = usage_of_metrics(as_dict(step.get("metrics")))
        results = _results(step)
        if shown := text_of(step.get("message")):
            draft.texts.append(shown)
        if thought := text_of(step.get("reasoning_content")):
            draft.reasoning.append(thought)
        for given in as_list(step.get("tool_calls")):
            self._call(element, draft, as_dict(given))
        if shown and not draft.calls:
            self._spoken(element, draft, shown, results)
        if results:
            self._observation(element, draft, results)

    def _call(self, element: JsonElement, draft: StepBuilder, given: dict[str, Any]) -> None:
        call_id = call_id_of(given.get("tool_call_id"))
        name = as_string(given.get("function_name")) or "unknown"
        line = element.line_of(call_id)
        call = self.run.add_call(draft, call_id, name, _arguments(given.get("arguments")), line)
        if call.fields["action"] == "skill":
            self._bodies.called(draft.agent, call)

    def _spoken(
        self, element: JsonElement, draft: StepBuilder, shown: str, results: list[dict[str, Any]]
    ) -> None:
        """Calls that the message itself holds."""
        answer = text_of(results[0].get("content")) if results else None
        draft.texts, calls = inline_calls(self._program, shown, answer)
        for name, arguments in calls:
            self.run.add_call(draft, None, name, arguments, element.line)

    def _observation(
        self, element: JsonElement, draft: StepBuilder, results: list[dict[str, Any]]
    ) -> None:
        """The results of a step: one that no call of it takes answers an earlier call, or nobody."""
        answered, left = match_results(draft.calls, results)
        for call, given in answered:
            named = given.get("source_call_id") is not None
            self._attach(call, given, element.line_of(call.call_id) if named else element.line)
        for given in left:
            earlier = self.run.find_call(call_id_of(given.get("source_call_id")))
            if earlier is not None and earlier.result is None:
                self._attach(earlier, given, element.line)
            else:
                self._unclaimed(element, draft.agent, given)

    def _attach(self, call: CallBuilder, given: dict[str, Any], line: int) -> None:
        for ref in as_list(given.get("subagent_trajectory_ref"))[:1]:
            ref = as_dict(ref)
            call.sub_agent = as_string(ref.get("trajectory_id")) or as_string(ref.get("session_id"))
        call.result = read_result(self.run, self._program, call, given, line)

    def _unclaimed(self, element: JsonElement, agent: str, given: dict[str, Any]) -> None:
        """What answers no call (the screen of a step without commands) reaches the next step."""
        shown = text_of(given.get("content"))
        if shown:
            self.run.add_message(agent, "other", shown, element.line)


def _results(step: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_dict(given) for given in as_list(as_dict(step.get("observation")).get("results"))]


def _arguments(given: Any) -> dict[str, Any]:
    """The arguments of a call; a careless writer leaves them as the model's JSON text."""
    if not isinstance(given, str):
        return as_dict(given)
    try:
        return as_dict(orjson.loads(given))
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return {"input": given}

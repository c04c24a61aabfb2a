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
from skilljuror.parsers.assembly.builders import MAIN, CallDraft, RunDraft, StepDraft, total_usage
from skilljuror.parsers.atif.continuations import beside, in_order
from skilljuror.parsers.atif.inline_calls import spoken_calls
from skilljuror.parsers.atif.token_usage import usage_of_metrics, usage_of_run
from skilljuror.parsers.atif.tool_results import (
    add_system_message,
    add_user_message,
    answers,
    identity,
    is_compaction,
    read_result,
)
from skilljuror.parsers.base import Source
from skilljuror.parsers.claude_code.skill_bodies import SkillBodies
from skilljuror.parsers.raw_logs.coercion import epoch, record, rows, string, text
from skilljuror.parsers.raw_logs.file_head import peek
from skilljuror.parsers.raw_logs.json_document import Document, Element
from skilljuror.parsers.raw_logs.jsonl import file_key

_CONTINUATION = re.compile(r"\.cont-\d+$")
_SUMMARIES = re.compile(r"\.(summarization-\d+-\w+)$")


class Atif:
    """Reads one document, its continuations and the sub-agents it embeds or names."""

    format: ClassVar[str] = "atif"
    native: ClassVar[int] = 2

    def sniff(self, source: Source) -> bool:
        """An object with a schema_version that starts with ATIF-v."""
        return str(peek(source.head).first.get("schema_version", "")).startswith("ATIF-v")

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = RunDraft()
        loaded = {source.path: _load(source.path), **_others(run, source.siblings)}
        named = {path: _goes_on(document) for path, document in loaded.items()}
        paths = in_order(source.path, [path for path in loaded if path != source.path], named)
        documents = [loaded[path] for path in paths]
        main = record(documents[0].value)
        reader = _Reader(run, record(main.get("agent")))
        continued = set(named.values()) - {source.path}
        for index, document in enumerate(documents):
            run.file = index
            run.complete = run.complete and document.complete
            reader.document(document, _agent_of(document.path), document.path in continued)
        session = string(main.get("session_id"))
        name = "/".join(filter(None, (session, string(main.get("trajectory_id")))))
        yield run.freeze(
            trajectory=name or file_key(source.path),
            session=session,
            format=self.format,
            files=tuple(map(str, paths)),
            agent=string(reader.agent.get("name")),
            agent_version=_known(reader.agent.get("version")),
            model=string(reader.agent.get("model_name")),
            cwd=_cwd(reader.agent),
            usage=usage_of_run(
                _final_metrics(documents),
                total_usage(step.usage for step in run.steps),
                in_parts=reader.embedded or len(documents) > 1,
            ),
        )


def _load(path: Path) -> Document:
    document = Document(path)
    if not isinstance(record(document.value).get("steps"), list):
        raise TrajectoryError(f"{str(path)!r} is ATIF without a list of steps", file=str(path))
    return document


def _others(run: RunDraft, paths: Iterable[Path]) -> dict[Path, Document]:
    """The further documents of a run; one that cannot be read is missing, and the rest is not."""
    loaded = {}
    for path in paths:
        try:
            loaded[path] = _load(path)
        except TrajectoryError as failure:
            run.warnings.append(failure.message)
            run.complete = False
    return loaded


def _final_metrics(documents: Iterable[Document]) -> dict[str, Any]:
    """Those of the main agent's last document: a continuation counts on from where it goes on."""
    mains = [document for document in documents if _agent_of(document.path) == MAIN]
    return record(record(mains[-1].value).get("final_metrics")) if mains else {}


def _goes_on(document: Document) -> Path | None:
    return beside(document.path, record(document.value).get("continued_trajectory_ref"))


def _agent_of(path: Path) -> str:
    """A summarization sub-agent has a file of its own; a continuation goes on with main."""
    match = _SUMMARIES.search(path.stem)
    return match[1] if match else MAIN


def _known(version: Any) -> str | None:
    return None if version == "unknown" else string(version)


def _cwd(agent: dict[str, Any]) -> str | None:
    places = rows(record(agent.get("extra")).get("cwds"))
    return string(places[0]) if places else None


class _Reader:
    """Reads documents into the run."""

    def __init__(self, run: RunDraft, agent: dict[str, Any]) -> None:
        self.run = run
        self.agent = agent
        self._program = string(agent.get("name")) or ""
        self._bodies = SkillBodies(run)
        self.embedded = False
        """Whether a document holds a sub-agent."""

    def document(self, document: Document, agent: str, continued: bool) -> None:
        """Read one file; `continued` says that another names it as its continuation."""
        if continued or _CONTINUATION.search(document.path.stem):
            self._compacted(agent)
        for element in document.elements("steps"):
            self._step(element, agent)
        for child in document.elements("subagent_trajectories"):
            self._embedded(child)

    def _embedded(self, element: Element) -> None:
        self.embedded = True
        child = record(element.value)
        agent = string(child.get("trajectory_id")) or string(child.get("session_id")) or "embedded"
        for step in element.elements("steps"):
            self._step(step, agent)
        for deeper in element.elements("subagent_trajectories"):
            self._embedded(deeper)

    def _step(self, element: Element, agent: str) -> None:
        step = record(element.value)
        extra = record(step.get("extra"))
        if extra.get("is_sidechain") is True:
            agent = string(extra.get("agent_id")) or "sidechain"
        if step.get("is_copied_context") is True:
            self.run.skipped["copied context"] += 1
            return
        moment = epoch(step.get("timestamp"))
        self.run.seen_at(moment)
        if step.get("source") != "agent":
            self._message(element, agent, step)
            return
        self._agent_step(element, agent, step, moment)

    def _message(self, element: Element, agent: str, step: dict[str, Any]) -> None:
        shown = text(step.get("message"))
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
        self.run.compacted(agent)
        if self.run.compactions[-1] in self.run.compactions[:before]:
            self.run.compactions.pop()

    def _agent_step(
        self, element: Element, agent: str, step: dict[str, Any], moment: float | None
    ) -> None:
        draft = self.run.step(agent, element.line, moment)
        draft.model = string(step.get("model_name"))
        draft.usage = usage_of_metrics(record(step.get("metrics")))
        results = _results(step)
        if shown := text(step.get("message")):
            draft.said.append(shown)
        if thought := text(step.get("reasoning_content")):
            draft.reasoning.append(thought)
        for given in rows(step.get("tool_calls")):
            self._call(element, draft, record(given))
        if shown and not draft.calls:
            self._spoken(element, draft, shown, results)
        if results:
            self._observation(element, draft, results)

    def _call(self, element: Element, draft: StepDraft, given: dict[str, Any]) -> None:
        call_id = identity(given.get("tool_call_id"))
        name = string(given.get("function_name")) or "unknown"
        line = element.line_of(call_id)
        call = self.run.call(draft, call_id, name, _arguments(given.get("arguments")), line)
        if call.fields["action"] == "skill":
            self._bodies.called(draft.agent, call)

    def _spoken(
        self, element: Element, draft: StepDraft, shown: str, results: list[dict[str, Any]]
    ) -> None:
        """Calls that the message itself holds."""
        answer = text(results[0].get("content")) if results else None
        draft.said, calls = spoken_calls(self._program, shown, answer)
        for name, arguments in calls:
            self.run.call(draft, None, name, arguments, element.line)

    def _observation(
        self, element: Element, draft: StepDraft, results: list[dict[str, Any]]
    ) -> None:
        """The results of a step: one that no call of it takes answers an earlier call, or nobody."""
        answered, left = answers(draft.calls, results)
        for call, given in answered:
            named = given.get("source_call_id") is not None
            self._attach(call, given, element.line_of(call.call_id) if named else element.line)
        for given in left:
            earlier = self.run.find_call(identity(given.get("source_call_id")))
            if earlier is not None and earlier.result is None:
                self._attach(earlier, given, element.line)
            else:
                self._unclaimed(element, draft.agent, given)

    def _attach(self, call: CallDraft, given: dict[str, Any], line: int) -> None:
        for ref in rows(given.get("subagent_trajectory_ref"))[:1]:
            ref = record(ref)
            call.child = string(ref.get("trajectory_id")) or string(ref.get("session_id"))
        call.result = read_result(self.run, self._program, call, given, line)

    def _unclaimed(self, element: Element, agent: str, given: dict[str, Any]) -> None:
        """What answers no call (the screen of a step without commands) reaches the next step."""
        shown = text(given.get("content"))
        if shown:
            self.run.message(agent, "other", shown, element.line)


def _results(step: dict[str, Any]) -> list[dict[str, Any]]:
    return [record(given) for given in rows(record(step.get("observation")).get("results"))]


def _arguments(given: Any) -> dict[str, Any]:
    """The arguments of a call; a careless writer leaves them as the model's JSON text."""
    if not isinstance(given, str):
        return record(given)
    try:
        return record(orjson.loads(given))
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return {"input": given}

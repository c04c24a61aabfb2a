"""Harbor's interchange format ATIF, versions 1.0 to 1.8, read tolerantly (formats.md §7).

It is a conversion: where a native log of the same run exists, that one is better.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import Trajectory, Usage
from skilljuror.parsers.atif_parts import beside, in_order
from skilljuror.parsers.atif_results import add_system_message, add_user_message, read_result
from skilljuror.parsers.base import Source
from skilljuror.parsers.claude_bodies import SkillBodies
from skilljuror.parsers.document import Document, Element
from skilljuror.parsers.drafts import MAIN, CallDraft, RunDraft, StepDraft, total_usage
from skilljuror.parsers.fields import count, epoch, record, rows, string, text
from skilljuror.parsers.lines import file_key
from skilljuror.parsers.peek import peek
from skilljuror.parsers.usages import usage_of_prompt

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
        loaded = {path: _load(path) for path in (source.path, *source.siblings)}
        named = {path: _goes_on(document) for path, document in loaded.items()}
        paths = in_order(source.path, source.siblings, named)
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
            usage=reader.usage(documents),
        )


def _load(path: Path) -> Document:
    document = Document(path)
    if not isinstance(record(document.value).get("steps"), list):
        raise TrajectoryError(f"{str(path)!r} is ATIF without a list of steps", file=str(path))
    return document


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

    def document(self, document: Document, agent: str, continued: bool) -> None:
        """Read one file; `continued` says that another names it as its continuation."""
        if continued or _CONTINUATION.search(document.path.stem):
            self.run.compacted(agent)
        for element in document.elements("steps"):
            self._step(element, agent)
        for child in rows(record(document.value).get("subagent_trajectories")):
            self._embedded(document, record(child))

    def _embedded(self, document: Document, child: dict[str, Any]) -> None:
        agent = string(child.get("trajectory_id")) or string(child.get("session_id")) or "embedded"
        line = 1
        for step in rows(child.get("steps")):
            self._step(Element(step, line, document, None), agent)
        for deeper in rows(child.get("subagent_trajectories")):
            self._embedded(document, record(deeper))

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
        if shown and step.get("source") == "system":
            add_system_message(self.run, agent, element.line, shown, self._program)
        elif shown:
            add_user_message(self.run, self._bodies, agent, element.line, shown)

    def _agent_step(
        self, element: Element, agent: str, step: dict[str, Any], moment: float | None
    ) -> None:
        draft = self.run.step(agent, element.line, moment)
        draft.model = string(step.get("model_name"))
        draft.usage = _usage(record(step.get("metrics")))
        for shown, parts in (
            (text(step.get("message")), draft.said),
            (string(step.get("reasoning_content")) or "", draft.reasoning),
        ):
            if shown:
                parts.append(shown)
        for given in rows(step.get("tool_calls")):
            self._call(element, agent, draft, record(given))
        self._observation(element, draft, record(step.get("observation")))

    def _call(self, element: Element, agent: str, draft: StepDraft, given: dict[str, Any]) -> None:
        call_id = string(given.get("tool_call_id"))
        name = string(given.get("function_name")) or "unknown"
        line = element.line_of(call_id)
        call = self.run.call(draft, call_id, name, record(given.get("arguments")), line)
        if call.fields["action"] == "skill":
            self._bodies.called(agent, call)

    def _observation(self, element: Element, draft: StepDraft, observation: dict[str, Any]) -> None:
        """Results by call id; those without one in order, the last calls taking them."""
        by_id: dict[str | None, CallDraft] = {
            call.call_id: call for call in draft.calls if call.call_id
        }
        results = [record(given) for given in rows(observation.get("results"))]
        nameless = [given for given in results if given.get("source_call_id") is None]
        for given in results:
            call = by_id.get(string(given.get("source_call_id")))
            if call is not None:
                self._attach(call, given, element.line_of(call.call_id))
        if not draft.calls:
            for given in nameless:
                self._unclaimed(element, draft, given)
            return
        takers = draft.calls[-len(nameless) :] if nameless else []
        for call, given in zip(takers, nameless, strict=False):
            self._attach(call, given, element.line)

    def _attach(self, call: CallDraft, given: dict[str, Any], line: int) -> None:
        for ref in rows(given.get("subagent_trajectory_ref"))[:1]:
            ref = record(ref)
            call.child = string(ref.get("trajectory_id")) or string(ref.get("session_id"))
        call.result = read_result(self.run, self._program, call, given, line)

    def _unclaimed(self, element: Element, draft: StepDraft, given: dict[str, Any]) -> None:
        """An observation of a step without calls (a terminal screen) reaches the next step."""
        shown = text(given.get("content"))
        if shown:
            self.run.message(draft.agent, "other", shown, element.line)

    def usage(self, documents: list[Document]) -> Usage | None:
        """Totals as stated, else the sum of the steps."""
        stated = record(record(documents[0].value).get("final_metrics"))
        prompt = count(stated.get("total_prompt_tokens"))
        summed = total_usage(step.usage for step in self.run.steps)
        if prompt is None or len(documents) > 1:
            return summed
        extra = record(stated.get("extra"))
        total = usage_of_prompt(
            prompt,
            cached=stated.get("total_cached_tokens"),
            written=_first(
                extra, "total_cache_creation_input_tokens", "total_cache_write_input_tokens"
            ),
            output=stated.get("total_completion_tokens"),
            reasoning=_first(extra, "reasoning_output_tokens", "total_thoughts_tokens"),
            cost=stated.get("total_cost_usd"),
        )
        if total.reasoning is None and summed is not None:
            total = replace(total, reasoning=summed.reasoning)
        return total


def _first(extra: dict[str, Any], *names: str) -> Any:
    """The first of the named values that is there."""
    for name in names:
        if extra.get(name) is not None:
            return extra[name]
    return None


def _usage(metrics: dict[str, Any]) -> Usage | None:
    if not metrics:
        return None
    extra = record(metrics.get("extra"))
    details = record(extra.get("completion_tokens_details"))
    reasoning = _first(extra, "reasoning_output_tokens", "thoughts_tokens")
    if reasoning is None:
        reasoning = details.get("reasoning_tokens")
    return usage_of_prompt(
        metrics.get("prompt_tokens"),
        cached=metrics.get("cached_tokens"),
        written=_first(extra, "cache_creation_input_tokens", "cache_write_input_tokens"),
        output=metrics.get("completion_tokens"),
        reasoning=reasoning,
        cost=metrics.get("cost_usd"),
    )

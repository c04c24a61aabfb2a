"""Traces of any agent in OTLP JSON by OpenTelemetry's GenAI conventions (formats.md §13).

A conversation is a run, an inference span a step, a tool span a call. Texts are there only if the
agent records them; without them reads of Skills are known from `gen_ai.skill.*` alone.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from skilljuror.models.trajectory import ToolResult, Trajectory
from skilljuror.parsers.assembly.builders import (
    MAIN,
    CallBuilder,
    StepBuilder,
    TrajectoryBuilder,
    add_available_skills,
)
from skilljuror.parsers.assembly.token_usage import usage_of_prompt
from skilljuror.parsers.assembly.tool_calls import arguments_of
from skilljuror.parsers.base import LogKind, Parser, Source
from skilljuror.parsers.otlp.spans import MODEL_CALLS, Family, Span, spans_of
from skilljuror.parsers.raw_logs.coercion import as_dict, as_int, as_list, as_str
from skilljuror.parsers.raw_logs.content import text_of
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.jsonl import JsonLines, unreadable

_ROOT = "/skills"
"""Folder of Skills whose location a trace does not tell."""
_RESOURCE = ("gen_ai.skill.resource.name", "gen_ai.skill.resource.path", "gen_ai.skill.script.path")
_RUNNER = "run_skill_script"
"""Tool of Google's ADK that runs a resource."""


class _Reader:
    """Adds the spans of one conversation to a run."""

    def __init__(self, family: Family) -> None:
        self.run = TrajectoryBuilder()
        self._family = family
        self._prompts: set[tuple[str, str]] = set()
        self._last: dict[str, StepBuilder] = {}
        """Agent -> its last step."""
        self.model: str | None = None
        self.agent: Span | None = None
        """The main agent's invocation."""

    def read(self, span: Span) -> None:
        self.run.include_time(span.start)
        self.run.include_time(span.end)
        place = self._family.place(span)
        agent = place.agent if place.agent and place.agents > 1 else MAIN
        if span.operation in MODEL_CALLS:
            self._step(span, agent)
        elif span.operation == "execute_tool":
            self._tool(span, agent)
        elif span.operation == "invoke_agent":
            self._invocation(span, agent)
        else:
            self.run.skipped[span.operation or "span without gen_ai.operation.name"] += 1

    def _invocation(self, span: Span, agent: str) -> None:
        if agent == MAIN:
            self.agent = self.agent or span
        else:
            started = self._family.place(span).tool
            call = self._call(started) if started else None
            if call is not None:
                call.sub_agent = agent
        self._context(span, agent)

    def _context(self, span: Span, agent: str) -> None:
        """Instructions, prompts and results among the messages that a model was sent."""
        instructions = text_of(span.structure("gen_ai.system_instructions"))
        for message in map(as_dict, as_list(span.structure("gen_ai.input.messages"))):
            parts = as_list(message.get("parts"))
            for part in map(as_dict, parts):
                if part.get("type") == "tool_call_response":
                    self._answer(part, span.line)
            text = text_of([part for part in parts if as_dict(part).get("type") == "text"])
            if message.get("role") == "system":
                instructions = f"{instructions}\n{text}"
            elif message.get("role") == "user" and text and (agent, text) not in self._prompts:
                self._prompts.add((agent, text))
                self.run.add_message(agent, "prompt", text, span.line)
        add_available_skills(self.run, instructions)

    def _answer(self, part: dict[str, Any], line: int) -> None:
        """A result among the messages, where the span of the call has no text."""
        call = self.run.find_call(part.get("id"))
        text = _written(part.get("response", part.get("result")))
        if call is None or not text or (call.result is not None and call.result.text):
            return
        known = call.result
        call.result = ToolResult(
            text, line, ok=known.ok if known else None, exit_code=known.exit_code if known else None,
            seconds=known.seconds if known else None,
        )  # fmt: skip

    def _add_step(self, span: Span, agent: str) -> StepBuilder:
        self._last[agent] = self.run.add_step(agent, span.line, span.start)
        return self._last[agent]

    def _step(self, span: Span, agent: str) -> None:
        self._context(span, agent)
        step = self._add_step(span, agent)
        step.key = span.text("gen_ai.response.id")
        step.model = span.text("gen_ai.response.model", "gen_ai.request.model")
        self.model = self.model or step.model
        step.usage = _usage(span.given)
        if span.failed:
            self.run.add_fault(
                agent, span.message, as_int(span.given.get("http.response.status_code"))
            )
        for message in map(as_dict, as_list(span.structure("gen_ai.output.messages"))):
            for part in map(as_dict, as_list(message.get("parts"))):
                if part.get("type") == "tool_call":
                    name, arguments = (
                        as_str(part.get("name")) or "unknown",
                        arguments_of(part.get("arguments")),
                    )
                    self.run.add_call(step, as_str(part.get("id")), name, arguments, span.line)
                elif text := text_of(part):
                    (step.reasoning if part.get("type") == "reasoning" else step.texts).append(text)

    def _call(self, span: Span) -> CallBuilder | None:
        return self.run.find_call(span.text("gen_ai.tool.call.id") or span.id)

    def _tool(self, span: Span, agent: str) -> None:
        call = self._call(span)
        if call is None or call.result is not None:  # several spans of one call
            step = self._last.get(agent) or self._add_step(span, agent)
            name = span.text("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
            arguments = arguments_of(span.given.get("gen_ai.tool.call.arguments"))
            call_id = span.text("gen_ai.tool.call.id") or span.id
            call = self.run.add_call(step, call_id, name, arguments, span.line)
        _name_skill(self.run, call, span)
        status = as_int(span.given.get("process.exit.code"))
        lasted = None if span.start is None or span.end is None else span.end - span.start
        text = _written(span.given.get("gen_ai.tool.call.result"))
        is_program = call.action in {"shell", "python"}
        unknown = status is None and (text or is_program)  # a tool may return its error as text
        call.result = ToolResult(
            text, span.line, ok=False if span.failed or status else None if unknown else True,
            exit_code=status, seconds=lasted,
        )  # fmt: skip


def _name_skill(run: TrajectoryBuilder, call: CallBuilder, span: Span) -> None:
    """Take the Skill and its resource from the conventions' attributes, and a command from the
    process that ran. A span of a command names the resource that it runs."""
    command, skill = span.text("process.command_line"), span.text("gen_ai.skill.name")
    ran = (
        call.action == "shell"
        or call.name == _RUNNER
        or any("process." in one for one in span.given)
    )
    if command and ran and not call.fields.get("command"):
        call.fields = {"action": "shell", "command": command}
    if skill is None:
        return
    folder = _folder(span.text("gen_ai.skill.source.uri")) or f"{_ROOT}/{skill}"
    run.add_skill_root(folder.rpartition("/")[0])
    resource = span.text(*_RESOURCE)
    if resource and not ran:
        call.fields = {"action": "read", "path": f"{folder}/{resource}"}
    elif resource and not call.fields.get("command"):
        call.fields = {"action": "shell", "command": f"{folder}/{resource}"}
    elif call.action in {"skill", "other"} and not call.fields.get("skill"):
        call.fields = {"action": "skill", "skill": skill}


def _folder(address: str | None) -> str | None:
    """Folder of a Skill whose source is a file or folder of this machine."""
    parts = urlsplit(address or "")
    path = unquote(parts.path).rstrip("/").removesuffix("/SKILL.md")
    return path if parts.scheme in {"", "file"} and path.startswith("/") else None


def _written(value: Any) -> str:
    """A result as the model saw it: text, parts with text, or an object as JSON."""
    return text_of(value) or ("" if value in (None, "", [], {}) else orjson.dumps(value).decode())


def _usage(given: dict[str, Any]) -> Any:
    """The count of input includes what was cached."""

    def of(*names: str) -> Any:
        return next(
            (given[f"gen_ai.usage.{name}"] for name in names if f"gen_ai.usage.{name}" in given),
            None,
        )

    used = usage_of_prompt(
        of("input_tokens", "prompt_tokens"),
        cached=of("cache_read.input_tokens"),
        written=of("cache_write.input_tokens", "cache_creation.input_tokens"),
        output=of("output_tokens", "completion_tokens"),
        reasoning=of("reasoning.output_tokens"),
    )
    return used if any(name.startswith("gen_ai.usage.") for name in given) else None


class OtlpTraces(Parser):
    """Reads the conversations of one file."""

    kind = LogKind.STREAM

    def sniff(self, source: Source) -> bool:
        """Spans of OTLP with attributes of the GenAI conventions."""
        found = parse_head(source.head).objects(b'"resourceSpans"', b'"gen_ai.')
        return any(isinstance(one.get("resourceSpans"), list) for one in found)

    def parse(self, source: Source) -> Iterator[Trajectory]:
        lines = JsonLines(source.path)
        spans = spans_of(source.path, lines)
        family = Family(spans)
        readers: dict[str, _Reader] = {}
        for span in spans:
            readers.setdefault(family.session(span), _Reader(family)).read(span)
        found = {session: one for session, one in readers.items() if one.run.steps}
        if not found:
            raise unreadable(source.path, "has no span of a model call or tool of an agent")
        for session, reader in found.items():
            run, agent = reader.run, reader.agent
            run.add_diagnostics(lines)
            run.complete = run.complete and run.ends_with_answer()
            counted = any(step.usage for step in run.steps)
            service = (agent.service if agent else {}).get
            yield run.build(
                self, source.files, session=session,
                usage=_usage(agent.given) if agent and not counted else None,
                model=reader.model,
                agent=(agent and agent.text("gen_ai.agent.name")) or as_str(service("service.name")),
                agent_version=(agent and agent.text("gen_ai.agent.version"))
                or as_str(service("service.version")),
            )  # fmt: skip

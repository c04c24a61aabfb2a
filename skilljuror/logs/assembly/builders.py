"""Builders: a parser adds what it reads, `build` returns the Trajectory.

Calls and results are joined by call id in file order, never along parent links, which lose the
results of parallel calls.

A log may repeat records of another session (a fork, a resumed session, a replay for a sub-agent).
These are *inherited*: context of the run, which its agent has read, and no work of it. They leave
its steps, tokens, compactions and events at one place, `inherit`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.files import path_text
from skilljuror.base.trajectory import (
    Action,
    Compaction,
    Message,
    MessageKind,
    OfferedSkill,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from skilljuror.logs.assembly.tool_calls import call_fields
from skilljuror.logs.base import Parser
from skilljuror.logs.raw_logs.coercion import as_dict, as_list, as_str, json_of
from skilljuror.logs.raw_logs.jsonl import JsonLines

_SKILLS_BLOCK = re.compile(r"<available_skills>(.*?)</available_skills>", re.DOTALL)
_SKILL_NAME = re.compile(r"<name>([^<\n]*)</name>")
_SKILL_PLACE = re.compile(r"<location>([^<\n]*)</location>")
_STATUS = re.compile(
    r"\b(?:status|error|code)\b\W{0,4}(?:code\W{0,3})?([1-5]\d\d)\b", re.IGNORECASE
)
_REFUSED_STATUSES = frozenset({400, 413, 422})
"""HTTP statuses of a request that is refused for its own content."""
_ACCOUNT_WORDS = re.compile(r"billing|quota|credit balance", re.IGNORECASE)
"""Words of a refused account, whatever the status."""
_PROVIDER_WORDS = re.compile(
    r"rate.?limit|usage.?limit|overloaded|server.?error|unavailable|connection|connect error"
    r"|time.?d?.?out\b|stream.?(?:disconnected|closed)|authentication|unauthorized"
    r"|reconnecting|high demand",
    re.IGNORECASE,
)
"""Words of a provider's fault without a status."""

REWOUND = "the session was rewound; the undone steps are counted"
"""Warning that `quality_flags` looks for."""

MAIN = "main"
"""Id of the main agent; sub-agents have the ids in their log."""


class CallBuilder(Struct, eq=False):
    """A call whose result may follow later."""

    call_id: str | None
    name: str
    arguments: dict[str, Any]
    line: int
    sub_agent: str | None = None
    """Id of the sub-agent that it started."""
    result: ToolResult | None = None
    fields: dict[str, Any] = {}
    """ToolCall fields derived from its name and arguments."""

    def __post_init__(self) -> None:
        self.fields = call_fields(self.name, self.arguments)

    @property
    def action(self) -> Action:
        action: Action = self.fields["action"]
        return action

    def build(self) -> ToolCall:
        result = _of_resource(self.result) if self.fields.get("unknown") else self.result
        return ToolCall(
            call_id=self.call_id, name=self.name, line=self.line, agent=self.sub_agent,
            arguments=self.arguments, result=result, **self.fields,
        )  # fmt: skip


def _of_resource(result: ToolResult | None) -> ToolResult | None:
    """Unwrap the text of a server's resource: `{"contents": [{"uri": …, "text": …}]}`."""
    text = result and (result.clean or result.text)
    if result is None or not text or text[:1] != "{":
        return result
    found = as_list(as_dict(json_of(text)).get("contents"))
    texts = [text for one in found if (text := as_str(as_dict(one).get("text")))]
    return replace(result, clean="\n".join(texts)) if texts else result


class StepBuilder(Struct, eq=False):
    """An agent message that may still grow."""

    agent: str
    line: int
    file: int
    timestamp: float | None
    key: str | None = None
    model: str | None = None
    texts: list[str] = []
    reasoning: list[str] = []
    calls: list[CallBuilder] = []
    usage: Usage | None = None
    inherited: bool = False
    """Repeated from another session."""

    def build(self, index: int) -> Step:
        return Step(
            agent=self.agent, index=index, line=self.line, text="\n".join(self.texts),
            reasoning="\n".join(self.reasoning), calls=tuple([call.build() for call in self.calls]),
            usage=self.usage, model=self.model, timestamp=self.timestamp, file=self.file,
            key=self.key,
        )  # fmt: skip


class TrajectoryBuilder:
    """A run under construction."""

    def __init__(self) -> None:
        self.steps: list[StepBuilder] = []
        self.messages: list[Message] = []
        self.compactions: list[Compaction] = []
        self.skipped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.complete = True
        self.offered: dict[tuple[str, str | None], OfferedSkill] | None = None
        self.skill_roots: dict[str, None] = {}
        self.started_at: float | None = None
        self.finished_at: float | None = None
        self.fault: str | None = None
        self.file = 0
        """Index of the raw file being read."""
        self.inheriting = False
        """Whether the record being read is repeated from another session."""
        self._counts: Counter[str] = Counter()
        self._calls: dict[str, CallBuilder] = {}
        self._steps: dict[tuple[str, str], StepBuilder] = {}

    def include_time(self, timestamp: float | None) -> None:
        """Extend the run's start and end to include an own record's timestamp."""
        if timestamp is None or self.inheriting:
            return
        if self.started_at is None or timestamp < self.started_at:
            self.started_at = timestamp
        if self.finished_at is None or timestamp > self.finished_at:
            self.finished_at = timestamp

    def add_step(self, agent: str, line: int, timestamp: float | None = None) -> StepBuilder:
        step = StepBuilder(agent, line, self.file, timestamp, inherited=self.inheriting)
        if agent == MAIN:
            self.fault = None
        self.steps.append(step)
        self._counts[agent] += 1
        return step

    def step_of(self, agent: str, key: str | None, line: int, moment: float | None) -> StepBuilder:
        """Return the step with the log's id, or a new one if it is new or has no id."""
        step = self._steps.get((agent, key)) if key else None
        if step is None:
            step = self.add_step(agent, line, moment)
            step.key = key
            if key:
                self._steps[agent, key] = step
        return step

    def add_fault(
        self, agent: str, text: str, status: int | None = None, *, api: bool = False
    ) -> None:
        """Record an error from the model's provider; the main agent's next step clears it.

        `api`: the log names it as an error of the API, so that it counts without a status or known words.
        Errors caused by the request itself, such as a context that is too long, do not count.
        """
        stated = _STATUS.search(text)
        status = status or (int(stated[1]) if stated else None)
        if status is not None:
            is_fault = status not in _REFUSED_STATUSES
        else:
            is_fault = api or _PROVIDER_WORDS.search(text) is not None
        if agent == MAIN and not self.inheriting and (is_fault or _ACCOUNT_WORDS.search(text)):
            self.fault = " ".join(text.split())[:200]

    def remove_step(self, step: StepBuilder) -> None:
        """Remove a step that turned out not to be one (a compaction's summary)."""
        self.steps.remove(step)
        self._counts[step.agent] -= 1

    def add_call(
        self,
        step: StepBuilder,
        call_id: str | None,
        name: str,
        arguments: dict[str, Any],
        line: int,
    ) -> CallBuilder:
        call = CallBuilder(call_id, name, arguments, line)
        step.calls.append(call)
        if call_id is not None:
            self._calls[call_id] = call
        return call

    def find_call(self, call_id: Any) -> CallBuilder | None:
        return self._calls.get(call_id) if isinstance(call_id, str) else None

    def add_message(self, agent: str, kind: MessageKind, text: str, line: int, **more: Any) -> None:
        """Add content that reached an agent's context without a call."""
        step = self._counts[agent]
        more |= {"file": self.file, "inherited": self.inheriting}
        self.messages.append(Message(agent, kind, text, line, step, **more))

    def add_compaction(
        self, agent: str, line: int, kept: Iterable[tuple[int, int]] | None = None
    ) -> None:
        """Record that an agent's context was compacted here; `kept` are the places that stay."""
        if self.inheriting:
            return
        ranges = None if kept is None else tuple(kept)
        self.compactions.append(Compaction(agent, self._counts[agent], line, ranges, self.file))

    def add_rewind(self, line: int) -> None:
        """Record that the session went back to an earlier point."""
        self.warnings.append(f"line {line}: {REWOUND}")

    def add_offered(self, skills: Iterable[OfferedSkill]) -> None:
        """Add Skills that the model was shown; an empty list counts as known."""
        if self.offered is None:
            self.offered = {}
        for skill in skills:
            self.offered.setdefault((skill.name, skill.path), skill)

    def add_skill_root(self, path: str | None) -> None:
        if path:
            self.skill_roots.setdefault(path.rstrip("/") or "/")

    def rename_agents(self, agents: dict[str, str]) -> None:
        """Rename agents whose ids appeared late in the log."""
        for step in self.steps:
            step.agent = agents.get(step.agent, step.agent)
        self.messages = [
            replace(message, agent=agents.get(message.agent, message.agent))
            for message in self.messages
        ]

    def ends_with_answer(self) -> bool:
        """Whether the main agent's last step closes the log (False without steps).

        A later note of the harness (an interruption, a local command) closes it too.
        """
        steps = [step for step in self.steps if step.agent == MAIN]
        own = [message for message in self.messages if message.agent == MAIN]
        later = [message.kind for message in own if message.step == len(steps)]
        if later and later[-1] == "other":
            return True
        return bool(steps) and "prompt" not in later and not steps[-1].calls

    def add_diagnostics(self, lines: JsonLines) -> None:
        """Copy a file's warnings and completeness."""
        self.warnings.extend(lines.warnings)
        self.complete = self.complete and lines.complete

    def build(
        self,
        parser: Parser,
        files: Sequence[Path],
        *,
        session: str | None = None,
        trajectory: str = "",
        usage: Usage | None = None,
        **fields: Any,
    ) -> Trajectory:
        """Return the run. `trajectory` defaults to the session's key, usage to the sum over its
        steps; `fields` are further fields."""
        counts: Counter[str] = Counter()
        steps = []
        for step in self.steps:
            counts[step.agent] += 1
            steps.append(step.build(counts[step.agent]))
        run = Trajectory(
            trajectory=trajectory or session or "",
            session=session,
            format=parser.format,
            files=tuple(map(path_text, files)),
            usage=usage or total_usage(step.usage for step in self.steps),
            steps=tuple(steps),
            messages=tuple(self.messages),
            offered=None if self.offered is None else tuple(self.offered.values()),
            skill_roots=tuple(self.skill_roots),
            started_at=self.started_at,
            finished_at=self.finished_at,
            compactions=tuple(self.compactions),
            skipped=dict(sorted(self.skipped.items())),
            warnings=tuple(self.warnings),
            complete=self.complete,
            fault=self.fault,
            **{"agent": parser.agent, "traits": parser.traits, **fields},
        )
        return inherit(run, Counter(step.agent for step in self.steps if step.inherited))


def inherit(run: Trajectory, counts: Mapping[str, int]) -> Trajectory:
    """Turn the first `counts[agent]` steps of each agent into inherited messages; own steps are
    numbered from 1.

    The usage becomes that of the own steps if it is the sum over the steps, else it stays.
    """
    first = Counter(counts)
    if not first.total() and not any(message.inherited for message in run.messages):
        return run
    old = [step for step in run.steps if step.index <= first[step.agent]]
    own = [step for step in run.steps if step.index > first[step.agent]]
    calls = {call.call_id for step in old for call in step.calls if call.call_id}
    messages = [_message_of(step) for step in old]
    for message in run.messages:
        copied = message.inherited or message.step < first[message.agent]
        copied = copied or message.call_id in calls
        step = max(0, message.step - first[message.agent])
        messages.append(replace(message, step=step, inherited=copied))
    summed = run.usage == total_usage(step.usage for step in run.steps)
    return replace(
        run,
        steps=tuple([replace(step, index=step.index - first[step.agent]) for step in own]),
        messages=tuple(sorted(messages, key=lambda one: (not one.inherited, one.file, one.line))),
        compactions=tuple([
            replace(one, step=one.step - first[one.agent])
            for one in run.compactions
            if one.step >= first[one.agent]
        ]),
        usage=total_usage(step.usage for step in own) if summed else run.usage,
        inherited=run.inherited + first[MAIN],
    )  # fmt: skip


def _message_of(step: Step) -> Message:
    """A step as text in the context."""
    texts = [step.text]
    for call in step.calls:
        texts += [call.asked, call.result.text if call.result else ""]
    text = "\n".join(filter(None, texts))
    return Message(step.agent, "other", text, step.line, 0, file=step.file, inherited=True)


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Sum per class; None without any usage, and per class None if no usage has it."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    columns = {name: [getattr(usage, name) for usage in known] for name in Usage.__struct_fields__}
    return Usage(**{name: _sum(values) for name, values in columns.items()})


def _sum(values: Iterable[Any]) -> Any:
    stated = [value for value in values if value is not None]
    if stated and min(stated) < 0:
        return min(stated)  # unknown, and so is the sum
    return sum(stated) if stated else None


def add_available_skills(run: TrajectoryBuilder, text: str) -> bool:
    """Add the Skills of an `<available_skills>` block; False if the text has none."""
    block = _SKILLS_BLOCK.search(text)
    if block is None:
        return False
    skills = []
    for entry in block[1].split("<skill>")[1:]:
        name, place = _SKILL_NAME.search(entry), _SKILL_PLACE.search(entry)
        if name is None:
            continue
        path = place[1].strip() if place else None
        skills.append(OfferedSkill(name[1].strip(), path=path, bundled="/builtin/" in (path or "")))
        if path:
            run.add_skill_root(path.removesuffix("/SKILL.md").rpartition("/")[0])
    run.add_offered(skills)
    return True

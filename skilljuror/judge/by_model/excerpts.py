"""The excerpt of a run that a model needs to judge some of its events."""

from collections.abc import Collection
from dataclasses import dataclass

from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Step, ToolCall, Trajectory
from skilljuror.judge.replay.shown_text import ShownText
from skilljuror.judge.replay.timeline import ContextText, call_text, timeline

OUTPUT = 300
"""Characters of the result of a later call: enough to see how it went."""


@dataclass(frozen=True)
class AskedEvent:
    """One event to judge, with the text that it showed."""

    event: str
    """Id of the event."""
    ordinal: int
    """Number of the event in its trajectory: its name in the question."""
    agent: str
    """Agent of the access."""
    step: int
    """Step of the access."""
    reached: int
    """Step after which the agent knew its content: only later steps can use it."""
    skill: str
    """Skill."""
    resource: str
    """Resource inside the skill."""
    kind: str
    """read, exec, list, …"""
    ok: bool | None
    """Whether the access succeeded; None if unknown."""
    call: str
    """The call or command of the access; "" if the harness injected it."""
    shown: str
    """The shown text of the resource, or its helper's output."""


@dataclass(frozen=True)
class RunCall:
    """One call of a step."""

    tool: str
    """The tool as the log names it."""
    text: str
    """All text that the agent wrote into it."""
    line: int
    """Place of the call."""
    ok: bool | None
    """Whether it succeeded; None if unknown."""
    output: str
    """The first OUTPUT characters of its result."""


@dataclass(frozen=True)
class RunStep:
    """One step of an agent."""

    agent: str
    """Its agent."""
    index: int
    """Its number."""
    line: int
    """Place of the step."""
    words: str
    """The agent's text and reasoning."""
    calls: tuple[RunCall, ...]
    """Its calls without polls, which write nothing."""


@dataclass(frozen=True)
class RunExcerpt:
    """Some events of a run, and the later steps of their agents."""

    task: str
    """Prompts of these agents' users."""
    steps: tuple[RunStep, ...]
    """Steps of the agents of the events, from the first access on."""
    events: tuple[AskedEvent, ...]
    """The events, in order."""
    others: tuple[AskedEvent, ...] = ()
    """All other accesses of these agents, in order."""


def excerpt_of(
    trajectory: Trajectory,
    events: tuple[ResourceEvent, ...],
    manifest: SkillManifest | None,
    asked: Collection[str],
) -> RunExcerpt:
    """Return the excerpt for the events with the ids `asked`."""
    agents = dict.fromkeys(one.agent for one in events if one.event in asked and one.counts)
    texts = ShownText(trajectory, events, manifest)
    every: list[AskedEvent] = []
    for agent in agents:
        own = {i: one for i, one in enumerate(events) if one.agent == agent and one.counts}
        every += _asked_events(trajectory, agent, own, texts)
    every.sort(key=lambda event: event.ordinal)
    found = [event for event in every if event.event in asked]
    first = {agent: min(event.step for event in found if event.agent == agent) for agent in agents}
    return RunExcerpt(
        task="\n\n".join(
            message.text
            for message in trajectory.messages
            if message.kind == "prompt" and message.agent in {"main", *agents}
        ),
        steps=tuple(
            run_step(step)
            for step in trajectory.steps
            if step.agent in first and step.index >= first[step.agent]
        ),
        events=tuple(found),
        others=tuple(event for event in every if event.event not in asked),
    )


def _asked_events(
    trajectory: Trajectory, agent: str, own: dict[int, ResourceEvent], texts: ShownText
) -> list[AskedEvent]:
    """Events of one agent with the lines that each showed."""
    lines: dict[int, list[str]] = {i: [] for i in own}
    reached: dict[int, int] = {}
    calls: dict[int, str] = {}
    for entry in timeline(trajectory, agent):
        if not isinstance(entry, ContextText) or entry.position not in texts.events_at:
            continue
        for i in own.keys() & set(texts.events_at[entry.position]):
            reached.setdefault(i, entry.step)
            calls.setdefault(i, "\n".join(texts.command_lines(entry.position)))
        for portion in texts.portions(entry.position, entry.text):
            for i in own.keys() & set(portion.events):
                lines[i] += portion.lines
    return [
        AskedEvent(
            event.event, event.ordinal, agent, event.step, reached.get(i, event.step), event.skill,
            event.resource, event.kind, event.ok, calls.get(i, ""), "\n".join(lines[i]),
        )
        for i, event in own.items()
    ]  # fmt: skip


def run_step(step: Step) -> RunStep:
    """Return a step with its text and calls."""
    words = "\n".join(part for part in (step.text, step.reasoning) if part)
    calls = tuple(_run_call(call) for call in step.calls if call.action != "poll")
    return RunStep(step.agent, step.index, step.line, words, calls)


def _run_call(call: ToolCall) -> RunCall:
    result = call.result
    ok, output = (result.ok, result.text) if result else (None, "")
    return RunCall(call.name, call_text(call), call.line, ok, output[:OUTPUT])

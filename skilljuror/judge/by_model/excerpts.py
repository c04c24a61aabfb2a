"""What a model has to see of a run to judge some of its events."""

from collections.abc import Collection
from dataclasses import dataclass

from skilljuror.judge.replay.shown_text import ShownText
from skilljuror.judge.replay.timeline import ContextText, call_text, timeline
from skilljuror.models.events import ResourceEvent, SkillManifest
from skilljuror.models.trajectory import Step, ToolCall, Trajectory

OUTPUT = 300
"""Characters of the result of a later call: enough to tell how it went."""


@dataclass(frozen=True)
class AskedEvent:
    """One event to judge, with what it put before the agent."""

    event: str
    """Id of the event."""
    ordinal: int
    """Number of the event inside its trajectory: its name in the question."""
    agent: str
    """Whose access it is."""
    step: int
    """Step of the access."""
    reached: int
    """Step after which its content was known to the agent: only later ones can use it."""
    skill: str
    """Skill."""
    resource: str
    """Resource inside the skill."""
    kind: str
    """read, exec, list, …"""
    ok: bool | None
    """Whether the access worked; None when nothing says so."""
    call: str
    """The call or command of the access; "" where the harness put it there."""
    shown: str
    """All that was really shown of the resource, or what its helper printed."""


@dataclass(frozen=True)
class RunCall:
    """One call of a step."""

    tool: str
    """The tool as the log names it."""
    text: str
    """Everything that the agent wrote into it."""
    line: int
    """Raw line of the call."""
    ok: bool | None
    """Whether it worked; None when nothing says so."""
    output: str
    """The first OUTPUT characters of what came back."""


@dataclass(frozen=True)
class RunStep:
    """What an agent did in one step."""

    agent: str
    """Whose step it is."""
    index: int
    """Its number."""
    line: int
    """Raw line of the step."""
    words: str
    """What the agent said and thought."""
    calls: tuple[RunCall, ...]
    """Its calls; polls, which write nothing, left out."""


@dataclass(frozen=True)
class RunExcerpt:
    """Some events of a run and what their agents did from then on."""

    task: str
    """What the users of these agents asked for."""
    steps: tuple[RunStep, ...]
    """Steps of the agents of the events, from the first access on."""
    events: tuple[AskedEvent, ...]
    """The events, in order."""


def excerpt_of(
    trajectory: Trajectory,
    events: tuple[ResourceEvent, ...],
    manifest: SkillManifest | None,
    asked: Collection[str],
) -> RunExcerpt:
    """What is to be seen for the events with the ids `asked`."""
    chosen = {i: event for i, event in enumerate(events) if event.event in asked and event.counts}
    agents = dict.fromkeys(event.agent for event in chosen.values())
    texts = ShownText(trajectory, events, manifest)
    found: list[AskedEvent] = []
    for agent in agents:
        own = {i: event for i, event in chosen.items() if event.agent == agent}
        found += _asked_events(trajectory, agent, own, texts)
    first = {agent: min(event.step for event in found if event.agent == agent) for agent in agents}
    return RunExcerpt(
        task="\n\n".join(
            message.text
            for message in trajectory.messages
            if message.kind == "prompt" and message.agent in {"main", *agents}
        ),
        steps=tuple(
            _run_step(step)
            for step in trajectory.steps
            if step.agent in first and step.index >= first[step.agent]
        ),
        events=tuple(sorted(found, key=lambda event: event.ordinal)),
    )


def _asked_events(
    trajectory: Trajectory, agent: str, own: dict[int, ResourceEvent], texts: ShownText
) -> list[AskedEvent]:
    """Events of one agent with the lines that each of them put into its context."""
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


def _run_step(step: Step) -> RunStep:
    words = "\n".join(part for part in (step.text, step.reasoning) if part)
    calls = tuple(_run_call(call) for call in step.calls if call.action != "poll")
    return RunStep(step.agent, step.index, step.line, words, calls)


def _run_call(call: ToolCall) -> RunCall:
    result = call.result
    ok, output = (result.ok, result.text) if result else (None, "")
    return RunCall(call.name, call_text(call), call.line, ok, output[:OUTPUT])

"""The order in which one agent was told things, did things and saw what came back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skilljuror.models.trajectory import Message, Step, ToolCall, Trajectory

LASTING = frozenset({"prompt", "system", "slash", "skill_listing"})
"""Kinds of message that the agent still has after a compaction."""

Place = tuple[int, int]
"""A call (position of the step in the trajectory, position of the call) or a message
(-1, position of the message): where text reached a context."""


@dataclass(frozen=True)
class Acted:
    """Something the agent wrote: its words, or the arguments of a call."""

    step: Step
    """Its step."""
    call: ToolCall | None
    """The call; None for the agent's words."""
    text: str
    """What it wrote."""
    place: Place | None = None
    """Where the call stands; None for words."""


@dataclass(frozen=True)
class Heard:
    """Something that reached the agent's context."""

    place: Place
    """Where it stands."""
    text: str
    """What the model saw."""
    step: int
    """Number of the agent's steps before it."""
    lasting: bool = False
    """Whether it outlives a compaction."""
    prompt: bool = False
    """Whether it is a request of the user."""
    ok: bool | None = None
    """For the result of a call: whether it worked."""
    summary: bool = False
    """Whether it is what is left of an earlier context."""
    unchanged: bool = False
    """Whether the harness said "unchanged" instead of showing content."""


@dataclass(frozen=True)
class Forgot:
    """The context was compacted."""


Moment = Acted | Heard | Forgot


def agents_of(trajectory: Trajectory) -> list[str]:
    """Every agent with a step or a message, in order of appearance."""
    named = [step.agent for step in trajectory.steps]
    return list(dict.fromkeys(named + [message.agent for message in trajectory.messages]))


def timeline(trajectory: Trajectory, agent: str) -> Iterator[Moment]:
    """The moments of one agent in order: its words and calls, the results, then messages."""
    waiting: dict[int, list[tuple[int, Message]]] = {}
    for i, message in enumerate(trajectory.messages):
        if message.agent == agent:
            waiting.setdefault(message.step, []).append((i, message))
    cuts = {before for name, before in trajectory.compactions if name == agent}
    running: dict[str, Place] = {}
    yield from _messages(waiting.pop(0, []))
    for i, step in enumerate(trajectory.steps):
        if step.agent == agent:
            yield from _step(i, step, running)
            if step.index in cuts:
                yield Forgot()
            yield from _messages(waiting.pop(step.index, []))
    for late in sorted(waiting):
        yield from _messages(waiting[late])


def _messages(messages: list[tuple[int, Message]]) -> Iterator[Heard]:
    for i, message in messages:
        yield Heard(
            (-1, i), message.text, message.step, message.kind in LASTING, message.kind == "prompt",
            summary=message.kind == "summary",
        )  # fmt: skip


def _step(position: int, step: Step, running: dict[str, Place]) -> Iterator[Moment]:
    """A poll writes nothing, and what it brings belongs to the command it polls."""
    words = "\n".join(part for part in (step.text, step.reasoning) if part)
    if words:
        yield Acted(step, None, words)
    for i, call in enumerate(step.calls):
        if call.action != "poll":
            running[call.command or ""] = (position, i)
            yield Acted(step, call, call_text(call), (position, i))
    for i, call in enumerate(step.calls):
        result = call.result
        if result is not None:
            polled = running.get(call.command or "") if call.action == "poll" else None
            text = result.text if result.clean is None else result.clean
            yield Heard(
                polled or (position, i), text, step.index, ok=result.ok, unchanged=result.unchanged
            )


def call_text(call: ToolCall) -> str:
    """Everything the agent wrote into a call, each piece once."""
    named = (call.command, call.path, call.pattern, call.skill, call.written)
    pieces = [piece for piece in named if piece]
    whole = "\n".join(pieces)
    pieces += [leaf for leaf in _leaves(call.arguments) if leaf not in whole]
    return "\n".join(pieces)


def _leaves(value: Any) -> Iterator[str]:
    """The strings of nested arguments, without recursion: depth is the log's choice."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            stack.extend(reversed(list(current.values())))
        elif isinstance(current, list | tuple):
            stack.extend(reversed(current))

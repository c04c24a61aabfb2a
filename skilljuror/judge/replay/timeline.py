"""One agent's run in order: text that reached its context, its actions, and compactions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skilljuror.base.trajectory import Compaction, Message, Step, ToolCall, Trajectory

SURVIVES_COMPACTION = frozenset({"prompt", "system", "slash", "skill_listing"})
"""Kinds of message that the agent still has after a compaction."""

LONGEST_LINE = 100_000
"""Characters of a line that are traced; the rest is ignored."""

TextPosition = tuple[int, int]
"""Position of text, from 0: a call as (step in the trajectory, call in the step), a message as (-1,
message in the trajectory)."""


@dataclass(frozen=True)
class AgentAction:
    """Something the agent wrote: its own words, or the arguments of a call."""

    step: Step
    """The step it belongs to."""
    call: ToolCall | None
    """The call; None for the agent's words."""
    text: str
    """Its text."""
    position: TextPosition | None = None
    """Position of the call; None for words."""


@dataclass(frozen=True)
class ContextText:
    """Text that reached the agent's context."""

    position: TextPosition
    """Its position."""
    text: str
    """The part that the model saw."""
    step: int
    """Number of the agent's steps before it."""
    survives: bool = False
    """Whether it stays in the context after a compaction."""
    prompt: bool = False
    """Whether it is a request of the user."""
    ok: bool | None = None
    """For the result of a call: whether it succeeded."""
    summary: bool = False
    """Whether it sums up the context before a compaction."""
    unchanged: bool = False
    """Whether the harness said "unchanged" instead of showing content."""


TimelineEntry = AgentAction | ContextText | Compaction


def traced_lines(text: str) -> list[str]:
    """Return the lines of a text, cut to LONGEST_LINE."""
    lines = text.splitlines()
    return lines if len(text) <= LONGEST_LINE else [line[:LONGEST_LINE] for line in lines]


def agents_of(trajectory: Trajectory) -> list[str]:
    """Return every agent with a step or a message, in order of appearance."""
    named = [step.agent for step in trajectory.steps]
    return list(dict.fromkeys(named + [message.agent for message in trajectory.messages]))


def timeline(trajectory: Trajectory, agent: str) -> Iterator[TimelineEntry]:
    """Yield the entries of one agent in order: for each step words and calls, results, then messages."""
    messages_after: dict[int, list[tuple[int, Message]]] = {}
    for i, message in enumerate(trajectory.messages):
        if message.agent == agent:
            messages_after.setdefault(message.step, []).append((i, message))
    compacted = {one.step: one for one in trajectory.compactions if one.agent == agent}
    commands: dict[str, TextPosition] = {}
    yield from _message_entries(messages_after.pop(0, []))
    for i, step in enumerate(trajectory.steps):
        if step.agent == agent:
            yield from _step_entries(i, step, commands)
            if step.index in compacted:
                yield compacted[step.index]
            yield from _message_entries(messages_after.pop(step.index, []))
    for late in sorted(messages_after):
        yield from _message_entries(messages_after[late])


def _message_entries(messages: list[tuple[int, Message]]) -> Iterator[ContextText]:
    for i, message in messages:
        yield ContextText(
            (-1, i), message.text, message.step, message.kind in SURVIVES_COMPACTION, message.kind == "prompt",
            summary=message.kind == "summary",
        )  # fmt: skip


def _step_entries(i: int, step: Step, commands: dict[str, TextPosition]) -> Iterator[TimelineEntry]:
    """The words, calls and results of step `i`; `commands` maps each command to its last run.

    A poll writes nothing, and its result belongs to the polled command.
    """
    words = "\n".join(part for part in (step.text, step.reasoning) if part)
    if words:
        yield AgentAction(step, None, words)
    for j, call in enumerate(step.calls):
        if call.action != "poll":
            commands[call.command or ""] = (i, j)
            yield AgentAction(step, call, call_text(call), (i, j))
    for j, call in enumerate(step.calls):
        result = call.result
        if result is not None:
            polled = commands.get(call.command or "") if call.action == "poll" else None
            text = result.text if result.clean is None else result.clean
            yield ContextText(
                polled or (i, j), text, step.index, ok=result.ok, unchanged=result.unchanged
            )


def call_text(call: ToolCall) -> str:
    """Return all text that the agent wrote into a call, each piece once."""
    fields = (call.command, call.path, call.pattern, call.skill, call.written)
    pieces = [piece for piece in fields if piece]
    whole = "\n".join(pieces)
    pieces += [text for text in _strings_in(call.arguments) if text not in whole]
    return "\n".join(pieces)


def _strings_in(value: Any) -> Iterator[str]:
    """The strings of nested arguments, without recursion: a log can nest deeply."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            stack.extend(reversed(list(current.values())))
        elif isinstance(current, list | tuple):
            stack.extend(reversed(current))

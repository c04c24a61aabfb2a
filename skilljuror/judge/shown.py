"""What an agent was shown and did, in its order: the timeline, the text of each event, and who owns a feature.

An event names a call or a message; its text is the result of the call, or the message. If one command showed
several resources, each line goes to the resource whose text in the manifest has it; else lines are divided by the
events' line counts; else these events share all lines.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct

from skilljuror.base.trajectory import (
    Compaction,
    Message,
    ResourceEvent,
    SkillManifest,
    Step,
    ToolCall,
    Trajectory,
)

SURVIVES_COMPACTION = frozenset({"prompt", "system", "slash", "skill_listing"})
"""Kinds of message that the agent still has after a compaction."""
LONGEST_LINE = 100_000
"""Characters of a line that are traced; the rest is ignored."""
NUMBERED_SHARE = 0.8
"""Share of lines that must begin with a number for a text to have line numbers."""
RUN_KINDS = frozenset({"exec", "import"})
"""Kinds of events in which code runs: judged on its output."""
_MOST_OF_ID = 16
"""Maximum texts that may share the id of a call; an id of more texts is ignored."""
_MESSAGES = frozenset({"injected", "slash", "reinjected"})
"""`via` of events that are messages; all other events are calls."""
_ENTRY = re.compile(r"[\s│├└─|`*+-]*[\w.@~][\w.@~+-]*/?\s*")
"""A line of a listing in other text: one name after the signs of a tree."""
_LINE_NUMBER = re.compile(r"\s*(?:[^\s:]{1,200}:)?(\d{1,6})(?:[:\t→]|-(?!\d)) ?")
"""Prefix of a file's line in search results or numbered listings."""

TextPosition = tuple[int, int]
"""Position of text, from 0: a call as (step in the trajectory, call in the step), a message as (-1,
message in the trajectory)."""
EventGroup = tuple[int, ...]
"""Positions of events that share a text, in the list of all events."""


class AgentAction(Struct, frozen=True):
    """Something the agent wrote: its own words, or the arguments of a call."""

    step: Step
    """The step it belongs to."""
    call: ToolCall | None
    """The call; None for the agent's words."""
    text: str
    """Its text."""
    position: TextPosition | None = None
    """Position of the call; None for words."""


class ContextText(Struct, frozen=True):
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


class ShownPortion(Struct, frozen=True):
    """Lines that one group of events showed at one place."""

    events: EventGroup
    """The events; empty for lines of no event."""
    lines: tuple[str, ...]
    """The lines."""
    entries: bool = False
    """Whether the lines count only as entries of a listing: other events show them as content."""


def traced_lines(text: str) -> list[str]:
    """Return the lines of a text, cut to LONGEST_LINE."""
    lines = text.splitlines()
    return lines if len(text) <= LONGEST_LINE else [line[:LONGEST_LINE] for line in lines]


def timeline(trajectory: Trajectory, agent: str) -> Iterator[TimelineEntry]:
    """Yield the entries of one agent in order: for each step words and calls, results, then messages."""
    messages_after: dict[int, list[tuple[int, Message]]] = {}
    for i, message in enumerate(trajectory.messages):
        if message.agent == agent:
            messages_after.setdefault(message.step, []).append((i, message))
    compacted = {each.step: each for each in trajectory.compactions if each.agent == agent}
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
    if words := "\n".join(part for part in (step.text, step.reasoning) if part):
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
    stack: list[Any] = [call.arguments]  # no recursion: a log can nest deeply
    while stack:
        value = stack.pop()
        if isinstance(value, str) and value not in whole:
            pieces.append(value)
        elif isinstance(value, dict):
            stack.extend(reversed(list(value.values())))
        elif isinstance(value, list | tuple):
            stack.extend(reversed(value))
    return "\n".join(pieces)


class ShownText:
    """Finds the content of each event in a trajectory, and divides shared texts."""

    def __init__(
        self,
        trajectory: Trajectory,
        events: tuple[ResourceEvent, ...],
        manifest: SkillManifest | None,
    ) -> None:
        self.events = events
        self._trajectory = trajectory
        self.events_at = _events_by_position(trajectory, events)
        """Position of a text -> the events that it shows, in order: their calls, and messages these caused."""
        self._texts = {
            (each.skill, each.path): frozenset(map(str.strip, traced_lines(each.text)))
            for each in (manifest.resources if manifest else ())
            if each.text is not None
        }

    def portions(self, position: TextPosition, text: str) -> list[ShownPortion]:
        """Divide the text at a position between its events; one portion without events if none."""
        lines = traced_lines(text)
        events = self.events_at.get(position)
        if not events:
            return [ShownPortion((), tuple(lines))]
        lists = tuple(i for i in events if self.events[i].kind == "list")
        if len(lists) == len(events):
            return self._split(list(events), lines)
        entries = tuple(line for line in lines if lists and _ENTRY.fullmatch(line))
        lines = without_line_numbers(lines)
        matched: dict[int, tuple[str, ...]] = {}
        for i in events:
            event = self.events[i]
            if event.kind not in RUN_KINDS and event.kind != "list":
                own = self._texts.get((event.skill, event.resource), frozenset())
                if shown := tuple(line for line in lines if line.strip() in own):
                    matched[i] = shown
        taken = {line for shown in matched.values() for line in shown}
        rest = [line for line in lines if line not in taken]
        others = [i for i in events if i not in matched and i not in lists]
        portions = [ShownPortion((i,), shown) for i, shown in matched.items()]
        portions += self._split(others, rest)
        return [*portions, ShownPortion(lists, entries, entries=True)] if lists else portions

    def command_lines(self, position: TextPosition) -> list[str]:
        """Return the lines of the call at a position; none for a message."""
        step, call = position
        return (
            traced_lines(call_text(self._trajectory.steps[step].calls[call])) if step >= 0 else []
        )

    def accesses_resource(self, position: TextPosition | None) -> bool:
        """Whether the call at a position opens, searches or lists a resource."""
        events = self.events_at.get(position, ()) if position else ()
        return any(self.events[i].kind not in RUN_KINDS for i in events)

    def _split(self, events: list[int], lines: list[str]) -> list[ShownPortion]:
        """Lines divided by the events' line counts; one shared portion if these do not add up."""
        if not lines and len(events) < 2:
            return []
        counts = [sum(end - start + 1 for start, end in self.events[i].lines or ()) for i in events]
        if len(events) < 2 or not all(counts) or abs(sum(counts) - len(lines)) > len(counts):
            return [ShownPortion(tuple(events), tuple(lines))]
        ends = [sum(counts[: n + 1]) for n in range(len(counts))]
        return [
            ShownPortion((i,), tuple(lines[end - many : end]))
            for i, many, end in zip(events, counts, ends, strict=True)
        ]


def without_line_numbers(lines: list[str]) -> list[str]:
    """Remove line numbers if nearly all lines have one and the numbers rise."""
    matches = [_LINE_NUMBER.match(line) for line in lines]
    numbers = [int(match.group(1)) for match in matches if match]
    rising = sum(a < b for a, b in pairwise(numbers))
    if len(numbers) < NUMBERED_SHARE * sum(map(bool, lines)) or rising < NUMBERED_SHARE * (
        len(numbers) - 1
    ):
        return lines
    return [
        line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)
    ]


def _events_by_position(
    trajectory: Trajectory, events: tuple[ResourceEvent, ...]
) -> dict[TextPosition, tuple[int, ...]]:
    """Events are found by call id, else by place in the log and the call's text; several may share one place."""
    by_id: dict[tuple[str, str | None], list[TextPosition]] = defaultdict(list)
    by_place: dict[tuple[bool, str, int, int, int | None], list[TextPosition]] = defaultdict(list)
    for i, step in enumerate(trajectory.steps):
        for j, call in enumerate(step.calls):
            by_id[step.agent, call.call_id].append((i, j))
            by_place[False, step.agent, step.index, step.file, call.line].append((i, j))
    for i, message in enumerate(trajectory.messages):
        by_id[message.agent, message.call_id].append((-1, i))
        for line in {message.line, message.command_line} - {None}:
            by_place[True, message.agent, message.step, message.file, line].append((-1, i))
    files = {name: i for i, name in enumerate(trajectory.files)}
    events_at: dict[TextPosition, list[int]] = defaultdict(list)
    for i, event in enumerate(events):
        if not event.counts:
            continue
        positions = by_id.get((event.agent, event.call_id), []) if event.call_id else []
        if not 0 < len(positions) <= _MOST_OF_ID:
            file = files.get(event.file, -1) if event.file is not None else 0
            place = event.via in _MESSAGES, event.agent, event.step, file, event.line
            positions = _naming(trajectory, by_place.get(place, []), event)
        for position in positions:
            events_at[position].append(i)
    return {position: tuple(shown) for position, shown in events_at.items()}


def _naming(
    trajectory: Trajectory, positions: list[TextPosition], event: ResourceEvent
) -> list[TextPosition]:
    """The positions whose message, or arguments of a call with a result, include the event's quote, or else its
    resource or Skill; all if none does."""
    written: dict[TextPosition, str] = {}
    for step, number in positions:
        if step < 0:
            written[step, number] = trajectory.messages[number].text
            continue
        call = trajectory.steps[step].calls[number]
        words = filter(None, (call.command, call.path, call.skill, call.pattern))
        written[step, number] = " ".join(words) if call.result is not None else ""
    names = event.resource.rpartition("/")[2], event.skill, event.skill.rpartition(":")[2]
    for text in (event.quote, *names):
        naming = [position for position in positions if text and text in written[position]]
        if naming:
            return naming
    return positions


_FOREVER = -1
"""Epoch of features that stay known after any compaction."""


class ContentOwnership:
    """Which events own each feature in one agent's context; an epoch is the time between two compactions.

    A feature belongs to the event that showed it first, unless other text repeats it. Features that the prompt,
    another result or the agent wrote before have no owner. A second showing takes nothing from the first, unless
    a compaction is between them: then only the remaining context is known.
    """

    def __init__(self, same_resource: Callable[[EventGroup, EventGroup], bool]) -> None:
        """`same_resource` tells whether two groups of events show the same resource."""
        self._same_resource = same_resource
        self.owner: dict[str, EventGroup] = {}
        self._shown_in: dict[str, int] = {}
        """Feature -> step in which its owner showed it."""
        self._lines: set[str] = set()
        """Lines that events showed since the last compaction."""
        self._known: dict[str, int] = {}
        """Feature -> epoch in which it became known, or _FOREVER."""
        self._used: dict[str, int] = {}
        """Feature -> epoch of its last use."""
        self._contested: dict[str, EventGroup] = {}
        """Feature -> the events that showed it before something else repeated it."""
        self._epoch = 0

    def compact(self) -> None:
        """Record a compaction of the context."""
        self._epoch += 1
        self._lines.clear()

    def said_elsewhere(self, features: Iterable[str], *, survives: bool = False) -> None:
        """Record features in text of no event; `survives` if no compaction removes the text."""
        for feature in features:
            if not self._used_in_this_epoch(feature):
                self._disown(feature, survives)

    def shown(
        self,
        group: EventGroup,
        features: Iterable[str],
        step: int,
        lines: Mapping[str, str] | None = None,
        text: Iterable[str] = (),
    ) -> None:
        """Record features in `text`, the content of some events, at a step; `lines` maps them to lines.

        The first showing of a line keeps its features until a compaction; another line of the same
        resource takes over unused ones. Of two resources in one step neither is first.
        """
        lines = lines or {}
        for feature in features:
            is_known = self._known.get(feature) in {self._epoch, _FOREVER}
            if is_known or self._used_in_this_epoch(feature):
                continue
            owner = self.owner.get(feature)
            same = owner is not None and self._same_resource(owner, group)
            if owner is None or (same and lines.get(feature, feature) not in self._lines):
                self.owner[feature] = group
                self._shown_in[feature] = step
                self._used.pop(feature, None)
            elif not same and self._shown_in[feature] == step:
                self._disown(feature)
        self._lines.update(text, (lines.get(feature, feature) for feature in features))

    def summarised(self, features: Iterable[str]) -> None:
        """Record features in the agent's own summary: they become known, and owners keep theirs."""
        for feature in features:
            if feature not in self.owner:
                self._learn(feature)

    def used(self, features: Iterable[str]) -> tuple[dict[str, EventGroup], dict[str, EventGroup]]:
        """Record features that the agent wrote. Return (feature -> owner, feature -> former owner).

        Features without an owner become known.
        """
        owned: dict[str, EventGroup] = {}
        contested: dict[str, EventGroup] = {}
        for feature in features:
            if feature in self.owner:
                owned[feature] = self.owner[feature]
                self._used[feature] = self._epoch
                continue
            if feature in self._contested:
                contested[feature] = self._contested.pop(feature)
            self._learn(feature)
        return owned, contested

    def owned_by(self, group: EventGroup, features: Iterable[str]) -> set[str]:
        """Return the features that a group of events owns now."""
        return {feature for feature in features if self.owner.get(feature) == group}

    def _used_in_this_epoch(self, feature: str) -> bool:
        """Whether the agent already used it from its owner: later repetition changes nothing."""
        return feature in self.owner and self._used.get(feature) == self._epoch

    def _learn(self, feature: str, survives: bool = False) -> None:
        if self._known.get(feature) != _FOREVER:
            self._known[feature] = _FOREVER if survives else self._epoch

    def _disown(self, feature: str, survives: bool = False) -> None:
        owner = self.owner.pop(feature, None)
        if owner is not None:
            self._contested[feature] = owner
        self._learn(feature, survives)

"""Find the text that each event showed to the agent.

An event names a call or a message; its text is the result of the call, or the message. If one command
showed several resources, each line goes to the resource whose text in the manifest has it; else lines
are divided by the events' line counts; else these events share all lines.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory
from skilljuror.judge.replay.timeline import TextPosition, call_text, traced_lines

EventGroup = tuple[int, ...]
"""Positions of events that share a text, in the list of all events."""

NUMBERED_SHARE = 0.8
"""Share of lines that must begin with a number for a text to have line numbers."""

RUN_KINDS = frozenset({"exec", "import"})
"""Kinds of events in which code runs: judged on its output."""

_MOST_OF_ID = 16
"""Maximum texts that may share the id of a call; an id of more texts is ignored."""

_ENTRY = re.compile(r"[\s│├└─|`*+-]*[\w.@~][\w.@~+-]*/?\s*")
"""A line of a listing in other text: one name after the signs of a tree."""

_LINE_NUMBER = re.compile(r"\s*(?:[^\s:]{1,200}:)?(\d{1,6})(?:[:\t→]|-(?!\d)) ?")
"""Prefix of a file's line in search results or numbered listings."""


@dataclass(frozen=True)
class ShownPortion:
    """Lines that one group of events showed at one place."""

    events: EventGroup
    """The events; empty for lines of no event."""
    lines: tuple[str, ...]
    """The lines."""
    entries: bool = False
    """Whether the lines count only as entries of a listing: other events show them as content."""


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
        """Position of a text -> the events that it shows, in order."""
        self._texts = _texts(manifest)

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
        matched = {i: own for i in events if (own := self._lines_in_manifest(i, lines))}
        taken = {line for own in matched.values() for line in own}
        rest = [line for line in lines if line not in taken]
        others = [i for i in events if i not in matched and i not in lists]
        portions = [ShownPortion((i,), own) for i, own in matched.items()]
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

    def _lines_in_manifest(self, i: int, lines: list[str]) -> tuple[str, ...]:
        """The lines that are in the manifest's text of the resource."""
        event = self.events[i]
        if event.kind in RUN_KINDS or event.kind == "list":
            return ()
        own = self._texts.get((event.skill, event.resource), frozenset())
        return tuple(line for line in lines if line.strip() in own)

    def _split(self, events: list[int], lines: list[str]) -> list[ShownPortion]:
        """Lines divided by the events' counts; one shared portion if that is impossible."""
        if not lines and len(events) < 2:
            return []
        cut = _cut_by_counts([self.events[i] for i in events], lines) if len(events) > 1 else None
        if cut is None:
            return [ShownPortion(tuple(events), tuple(lines))]
        return [ShownPortion((i,), part) for i, part in zip(events, cut, strict=True)]


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


def _cut_by_counts(events: list[ResourceEvent], lines: list[str]) -> list[tuple[str, ...]] | None:
    """One slice per event; None unless every event has a line count and the counts add up."""
    counts = [_lines_shown(event) for event in events]
    known = [count for count in counts if count]
    if len(known) < len(counts) or abs(sum(known) - len(lines)) > len(known):
        return None
    cuts, start = [], 0
    for count in known:
        cuts.append(tuple(lines[start : start + count]))
        start += count
    return cuts


def _lines_shown(event: ResourceEvent) -> int:
    return sum(end - start + 1 for start, end in event.lines or ())


def _texts(manifest: SkillManifest | None) -> dict[tuple[str, str], frozenset[str]]:
    """(skill, resource) -> the stripped lines of its text."""
    resources = manifest.resources if manifest else ()
    return {
        (resource.skill, resource.path): frozenset(
            line.strip() for line in traced_lines(resource.text)
        )
        for resource in resources
        if resource.text is not None
    }


def _events_by_position(
    trajectory: Trajectory, events: tuple[ResourceEvent, ...]
) -> dict[TextPosition, tuple[int, ...]]:
    """Positions that show an event's content: its call, and the message it caused."""
    index = _PositionIndex(trajectory)
    events_at: dict[TextPosition, list[int]] = defaultdict(list)
    for i, event in enumerate(events):
        if event.counts:
            for position in index.of(event):
                events_at[position].append(i)
    return {position: tuple(shown) for position, shown in events_at.items()}


_MESSAGES = frozenset({"injected", "slash", "reinjected"})
"""`via` of events that are messages; all other events are calls."""

_Place = tuple[bool, str, int, int, int | None]
"""(is a message, agent, step, number of the file, place in it)."""


class _PositionIndex:
    """Calls and messages by id and by place in the log; several may share one place."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._files = {name: i for i, name in enumerate(trajectory.files)}
        self._by_id: dict[tuple[str, str], list[TextPosition]] = defaultdict(list)
        self._by_place: dict[_Place, list[TextPosition]] = defaultdict(list)
        for i, step in enumerate(trajectory.steps):
            for j, call in enumerate(step.calls):
                self._add((i, j), step.agent, call.call_id)
                self._by_place[False, step.agent, step.index, step.file, call.line].append((i, j))
        for i, message in enumerate(trajectory.messages):
            self._add((-1, i), message.agent, message.call_id)
            for line in {message.line, message.command_line} - {None}:
                place = True, message.agent, message.step, message.file, line
                self._by_place[place].append((-1, i))

    def _add(self, position: TextPosition, agent: str, call_id: str | None) -> None:
        if call_id:
            self._by_id[agent, call_id].append(position)

    def of(self, event: ResourceEvent) -> list[TextPosition]:
        """Return the positions of an event: by call id, else by place and the call's text."""
        shared = self._by_id.get((event.agent, event.call_id)) if event.call_id else None
        if shared and len(shared) <= _MOST_OF_ID:
            return shared
        file = self._files.get(event.file, -1) if event.file is not None else 0
        place = event.via in _MESSAGES, event.agent, event.step, file, event.line
        positions = self._by_place.get(place, [])
        words = event.resource.rpartition("/")[2], event.skill, event.skill.rpartition(":")[2]
        for text in (event.quote, *words):
            naming = [position for position in positions if text and self._names(position, text)]
            if naming:
                return naming
        return positions

    def _names(self, position: TextPosition, text: str) -> bool:
        """Whether a message, or the arguments of a call with a result, include a text."""
        step, call = position
        if step < 0:
            return text in self._trajectory.messages[call].text
        made = self._trajectory.steps[step].calls[call]
        written = " ".join(filter(None, (made.command, made.path, made.skill, made.pattern)))
        return made.result is not None and text in written

"""Which text each event put before the agent.

An event names a call or a message; its text is the result of the call, or the message. Where one
command showed several resources, each line goes to the resource whose text in the manifest holds it,
else lines are cut by the counts that the events state, else all of these events share them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from skilljuror.judge.replay.timeline import TextPosition, call_text, traced_lines
from skilljuror.models.events import ResourceEvent, SkillManifest
from skilljuror.models.trajectory import Trajectory

EventGroup = tuple[int, ...]
"""Positions, in the list of all events, of those that share a text."""

NUMBERED_SHARE = 0.8
"""Share of the lines of a text that must begin with a number for it to count as one with line numbers."""

RUN_KINDS = frozenset({"exec", "import"})
"""Kinds of events in which code runs: judged on what that printed."""

_MOST_OF_ID = 16
"""Texts that may share the id of a call; an id that more of them share tells none of them."""

_ENTRY = re.compile(r"[\s│├└─|`*+-]*[\w.@~][\w.@~+-]*/?\s*")
"""A line of a listing among other text: one name behind the signs of a tree."""

_LINE_NUMBER = re.compile(r"\s*(?:[^\s:]{1,200}:)?(\d{1,6})(?:[:\t→]|-(?!\d)) ?")
"""What a search or a numbered listing of lines puts before a line of a file."""


@dataclass(frozen=True)
class ShownPortion:
    """Lines that one group of events showed at one place."""

    events: EventGroup
    """The events; empty for lines that belong to none."""
    lines: tuple[str, ...]
    """The lines."""
    entries: bool = False
    """Whether these lines matter only as entries of a listing: others show them as content."""


class ShownText:
    """Knows where the content of each event stands in a trajectory, and shares it out."""

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
        """The text at a position, shared out; where no event is, all of it is one portion of nobody."""
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
        """The lines that the agent wrote into the call at a position; none for a message."""
        step, call = position
        return (
            traced_lines(call_text(self._trajectory.steps[step].calls[call])) if step >= 0 else []
        )

    def accesses_resource(self, position: TextPosition | None) -> bool:
        """Whether the call at a position opens, searches or lists a resource itself."""
        events = self.events_at.get(position, ()) if position else ()
        return any(self.events[i].kind not in RUN_KINDS for i in events)

    def _lines_in_manifest(self, i: int, lines: list[str]) -> tuple[str, ...]:
        """Those of the lines that the manifest's text of the resource holds."""
        event = self.events[i]
        if event.kind in RUN_KINDS or event.kind == "list":
            return ()
        own = self._texts.get((_bare_skill_name(event.skill), event.resource), frozenset())
        return tuple(line for line in lines if line.strip() in own)

    def _split(self, events: list[int], lines: list[str]) -> list[ShownPortion]:
        """Lines cut by the counts of the events; as one portion of all where that cannot be."""
        if not lines and len(events) < 2:
            return []
        cut = _cut_by_counts([self.events[i] for i in events], lines) if len(events) > 1 else None
        if cut is None:
            return [ShownPortion(tuple(events), tuple(lines))]
        return [ShownPortion((i,), part) for i, part in zip(events, cut, strict=True)]


def without_line_numbers(lines: list[str]) -> list[str]:
    """The lines without their numbers, where nearly all of them have one and the numbers rise."""
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
    """One slice per event; None unless every event states how many lines it showed and they add up."""
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
    """(skill, resource) -> the lines of its text, without blanks around them."""
    resources = manifest.resources if manifest else ()
    return {
        (_bare_skill_name(resource.skill), resource.path): frozenset(
            line.strip() for line in traced_lines(resource.text)
        )
        for resource in resources
        if resource.text is not None
    }


def _events_by_position(
    trajectory: Trajectory, events: tuple[ResourceEvent, ...]
) -> dict[TextPosition, tuple[int, ...]]:
    """Every position that shows something of an event: its call, and the message it caused."""
    index = _PositionIndex(trajectory)
    events_at: dict[TextPosition, list[int]] = defaultdict(list)
    for i, event in enumerate(events):
        if event.counts:
            for position in index.of(event):
                events_at[position].append(i)
    return {position: tuple(shown) for position, shown in events_at.items()}


class _PositionIndex:
    """Calls and messages by id and by raw line."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._by_id: dict[tuple[str, str], list[TextPosition]] = defaultdict(list)
        self._by_line: dict[tuple[str, str, int], list[TextPosition]] = defaultdict(list)
        for i, step in enumerate(trajectory.steps):
            for j, call in enumerate(step.calls):
                self._add(step.agent, step.file, (i, j), call.call_id, [call.line])
        for i, message in enumerate(trajectory.messages):
            lines = [message.line, message.command_line]
            self._add(message.agent, message.file, (-1, i), message.call_id, lines)

    def _add(
        self,
        agent: str,
        file: int,
        position: TextPosition,
        call_id: str | None,
        lines: Iterable[int | None],
    ) -> None:
        if call_id:
            self._by_id[agent, call_id].append(position)
        for line in lines:
            if line is not None:
                self._by_line[agent, self._file(file), line].append(position)

    def _file(self, index: int) -> str:
        files = self._trajectory.files
        return files[index] if index < len(files) else ""

    def of(self, event: ResourceEvent) -> list[TextPosition]:
        """Positions of an event: by call id, else by line, then by what the call names."""
        shared = self._by_id.get((event.agent, event.call_id)) if event.call_id else None
        if shared and len(shared) <= _MOST_OF_ID:
            return shared
        file = event.file if event.file is not None else self._file(0)
        positions = self._by_line.get((event.agent, file, event.line), [])
        for text in (event.quote, event.resource.rpartition("/")[2], _bare_skill_name(event.skill)):
            naming = [position for position in positions if text and self._names(position, text)]
            if naming:
                return naming
        return positions

    def _names(self, position: TextPosition, text: str) -> bool:
        """Whether a message stands there, or a call with a result whose arguments hold a text."""
        step, call = position
        if step < 0:
            return True
        made = self._trajectory.steps[step].calls[call]
        written = " ".join(filter(None, (made.command, made.path, made.skill, made.pattern)))
        return made.result is not None and text in written


def _bare_skill_name(skill: str) -> str:
    """The name of a skill without the plugin before its colon."""
    return skill.rpartition(":")[2]

"""Which text each event put before the agent.

An event names a call or a message; its text is the result or the message. Where one
command showed several resources, the lines are told apart by the manifest's texts, else
by the counts of lines shown, else they stay shared.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from skilljuror.judge.replay.timeline import Place, call_text
from skilljuror.models.events import ResourceEvent, SkillManifest
from skilljuror.models.trajectory import Trajectory

Group = tuple[int, ...]
"""Positions of the events that share a text."""

NUMBERED = 0.8
"""Share of lines that carry their number in a text that numbers its lines."""

RUNS = frozenset({"exec", "import"})
"""Kinds that are judged on what they printed."""


_ENTRY = re.compile(r"[\s│├└─|`*+-]*[\w.@~][\w.@~+-]*/?\s*")
"""A line of a listing among other text: one name behind the signs of a tree."""

_NUMBERED = re.compile(r"\s*(?:[^\s:]{1,200}:)?(\d{1,6})(?:[:\t→]|-(?!\d)) ?")
"""What a search or a numbered listing of lines puts before a line of a file."""


@dataclass(frozen=True)
class Portion:
    """Lines that one group of events showed at one place."""

    group: Group
    """The events; empty for lines that belong to none."""
    lines: tuple[str, ...]
    """The lines."""
    entries: bool = False
    """Whether these lines matter only as entries of a listing: others show them as content."""


class ShownText:
    """Finds the places of events and shares out the text there."""

    def __init__(
        self,
        trajectory: Trajectory,
        events: tuple[ResourceEvent, ...],
        manifest: SkillManifest | None,
    ) -> None:
        self.events = events
        self._trajectory = trajectory
        self.places = _places(trajectory, events)
        """Place -> positions of the events there, in order."""
        self._texts = _texts(manifest)

    def portions(self, place: Place, text: str) -> list[Portion]:
        """The text at a place, shared out; a place without events is one portion of nobody."""
        lines = text.splitlines()
        here = self.places.get(place)
        if not here:
            return [Portion((), tuple(lines))]
        lists = tuple(i for i in here if self.events[i].kind == "list")
        if len(lists) == len(here):
            return self._share(list(here), lines)
        entries = tuple(line for line in lines if lists and _ENTRY.fullmatch(line))
        lines = undecorated(lines)
        claimed = {i: own for i in here if (own := self._claimed(i, lines))}
        taken = {line for own in claimed.values() for line in own}
        rest = [line for line in lines if line not in taken]
        others = [i for i in here if i not in claimed and i not in lists]
        portions = [Portion((i,), own) for i, own in claimed.items()] + self._share(others, rest)
        return [*portions, Portion(lists, entries, entries=True)] if lists else portions

    def command_lines(self, place: Place) -> list[str]:
        """What the agent wrote into the call at a place, by lines; none for a message."""
        step, call = place
        return call_text(self._trajectory.steps[step].calls[call]).splitlines() if step >= 0 else []

    def visits(self, place: Place | None) -> bool:
        """Whether the call at a place opens, searches or lists a resource itself."""
        here = self.places.get(place, ()) if place else ()
        return any(self.events[i].kind not in RUNS for i in here)

    def _lines_of(self, i: int) -> frozenset[str] | None:
        event = self.events[i]
        if event.kind in RUNS or event.kind == "list":
            return None
        return self._texts.get((_tail(event.skill), event.resource))

    def _claimed(self, i: int, lines: list[str]) -> tuple[str, ...]:
        own = self._lines_of(i) or frozenset()
        return tuple(line for line in lines if line.strip() in own)

    def _share(self, others: list[int], lines: list[str]) -> list[Portion]:
        if len(others) < 2:
            return [Portion(tuple(others), tuple(lines))] if lines else []
        cut = _cut_by_count([self.events[i] for i in others], lines)
        if cut is None:
            return [Portion(tuple(others), tuple(lines))]
        return [Portion((i,), part) for i, part in zip(others, cut, strict=True)]


def undecorated(lines: list[str]) -> list[str]:
    """The lines without their numbers, where nearly all of them have one and the numbers rise."""
    found = [_NUMBERED.match(line) for line in lines]
    numbers = [int(match.group(1)) for match in found if match]
    rising = sum(a < b for a, b in pairwise(numbers))
    if len(numbers) < NUMBERED * sum(map(bool, lines)) or rising < NUMBERED * (len(numbers) - 1):
        return lines
    return [
        line[match.end() :] if match else line for line, match in zip(lines, found, strict=True)
    ]


def _cut_by_count(events: list[ResourceEvent], lines: list[str]) -> list[tuple[str, ...]] | None:
    """One slice per event where every event tells how many lines it showed and they add up."""
    counts = [_count(event) for event in events]
    known = [count for count in counts if count]
    if len(known) < len(counts) or abs(sum(known) - len(lines)) > len(known):
        return None
    cuts, start = [], 0
    for count in known:
        cuts.append(tuple(lines[start : start + count]))
        start += count
    return cuts


def _count(event: ResourceEvent) -> int:
    return sum(end - start + 1 for start, end in event.lines or ())


def _texts(manifest: SkillManifest | None) -> dict[tuple[str, str], frozenset[str]]:
    resources = manifest.resources if manifest else ()
    return {
        (_tail(resource.skill), resource.path): frozenset(
            line.strip() for line in resource.text.splitlines()
        )
        for resource in resources
        if resource.text is not None
    }


def _places(
    trajectory: Trajectory, events: tuple[ResourceEvent, ...]
) -> dict[Place, tuple[int, ...]]:
    """Every place that shows something of an event: its call, and the message it caused."""
    index = _PlaceIndex(trajectory)
    found: dict[Place, list[int]] = defaultdict(list)
    for i, event in enumerate(events):
        if event.counts:
            for place in index.of(event):
                found[place].append(i)
    return {place: tuple(here) for place, here in found.items()}


class _PlaceIndex:
    """Calls and messages by id and by raw line."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._by_id: dict[tuple[str, str], list[Place]] = defaultdict(list)
        self._by_line: dict[tuple[str, str, int], list[Place]] = defaultdict(list)
        for i, step in enumerate(trajectory.steps):
            for j, call in enumerate(step.calls):
                self._add(step.agent, step.file, (i, j), call.call_id, [call.line])
        for i, message in enumerate(trajectory.messages):
            lines = [message.line, message.command_line]
            self._add(message.agent, message.file, (-1, i), message.call_id, lines)

    def _add(
        self, agent: str, file: int, place: Place, call_id: str | None, lines: Iterable[int | None]
    ) -> None:
        if call_id:
            self._by_id[agent, call_id].append(place)
        for line in lines:
            if line is not None:
                self._by_line[agent, self._file(file), line].append(place)

    def _file(self, index: int) -> str:
        files = self._trajectory.files
        return files[index] if index < len(files) else ""

    def of(self, event: ResourceEvent) -> list[Place]:
        """Places of an event: by call id, else by line, then by what the call names."""
        if event.call_id and (event.agent, event.call_id) in self._by_id:
            return self._by_id[event.agent, event.call_id]
        file = event.file if event.file is not None else self._file(0)
        found = self._by_line.get((event.agent, file, event.line), [])
        for spelled in (event.quote, event.resource.rpartition("/")[2], _tail(event.skill)):
            naming = [place for place in found if spelled and self._names(place, spelled)]
            if naming:
                return naming
        return found

    def _names(self, place: Place, spelled: str) -> bool:
        """Whether a message stands here, or a call with an answer that spells something out."""
        step, call = place
        if step < 0:
            return True
        made = self._trajectory.steps[step].calls[call]
        written = " ".join(filter(None, (made.command, made.path, made.skill, made.pattern)))
        return made.result is not None and spelled in written


def _tail(skill: str) -> str:
    return skill.rpartition(":")[2]

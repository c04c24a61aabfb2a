"""One agent's run, gone through once: which events' content turned up in which action.

The clock of an action is its position in the agent's timeline, from 0.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skilljuror.judge.features.extraction import is_heading, is_number
from skilljuror.judge.features.feature_index import FeatureIndex
from skilljuror.judge.replay.content_ownership import ContentOwnership
from skilljuror.judge.replay.shown_text import RUN_KINDS, EventGroup, ShownPortion, ShownText
from skilljuror.judge.replay.timeline import (
    AgentAction,
    Compaction,
    ContextText,
    TimelineEntry,
    timeline,
    traced_lines,
)
from skilljuror.judge.rubric import EruRubric
from skilljuror.judge.signals.cooccurrence import FIELDS, CooccurrenceDetector
from skilljuror.judge.signals.script_artifacts import ScriptRuns, parts_running
from skilljuror.judge.signals.skill_pointers import SkillPointers
from skilljuror.models.trajectory import Trajectory


@dataclass(frozen=True)
class ContentUse:
    """What one action took from one group of events."""

    action: AgentAction
    """The action."""
    clock: int
    """Its position in the timeline."""
    features: tuple[str, ...]
    """What it took, heaviest first."""
    line: str
    """The line of the action with the heaviest of them."""
    group: EventGroup = ()
    """The events whose text offered them; empty where no content was matched."""
    after_failure: bool = False
    """Whether the last result before it had failed."""
    is_access: bool = False
    """Whether the action itself opens, searches or lists a resource."""


@dataclass
class EventTrace:
    """What was found about one event."""

    reached: int | None = None
    """Clock of the result or message that brought it into the context; None when there is none."""
    has_text: bool = False
    """Whether any text of its own was shown."""
    offered: set[str] = field(default_factory=set)
    """Features that it alone had offered when it was shown."""
    uses: list[ContentUse] = field(default_factory=list)
    """Actions that took something from it."""
    contested: int = 0
    """Weight of what the agent used after something else had repeated it."""
    steps_after: int = 0
    """Steps of the agent after its text."""
    made_by: AgentAction | None = None
    """The call behind it."""
    unchanged: bool = False
    """The harness said "unchanged" instead of showing content again."""


class AgentTrace:
    """What became of the content of all events of one agent."""

    def __init__(
        self, trajectory: Trajectory, agent: str, shown: ShownText, rubric: EruRubric
    ) -> None:
        self.events = shown.events
        self.traces: dict[int, EventTrace] = defaultdict(EventTrace)
        """Event -> what was found about it; events are told by their positions in the list of all."""
        self.features = FeatureIndex(rubric.common)
        self.script_runs = ScriptRuns(rubric.generic)
        self._together = (
            CooccurrenceDetector(rubric.cooccurrence),
            CooccurrenceDetector(rubric.fields, FIELDS),
        )
        self.pointers = SkillPointers(
            self._resource(i)[0] for i in range(len(shown.events)) if self._opens_skill(i)
        )
        self._shown = shown
        self._ownership = ContentOwnership(self._same_resource)
        self._last_failed = False
        self._clock = 0
        entries = list(timeline(trajectory, agent))
        for entry in entries:
            self._index(entry)
        self.features.add_names(sorted(self.script_runs.features))
        for self._clock, entry in enumerate(entries):
            self._replay(entry)
        self._count_steps(entries)

    def _same_resource(self, one: EventGroup, other: EventGroup) -> bool:
        return not {self._resource(i) for i in one}.isdisjoint(self._resource(i) for i in other)

    def _resource(self, i: int) -> tuple[str, str]:
        event = self.events[i]
        return event.skill.rpartition(":")[2], event.resource

    def _opens_skill(self, i: int) -> bool:
        event = self.events[i]
        return event.resource == "SKILL.md" and event.kind in {"read", "activate"}

    def _portions(self, entry: ContextText) -> list[ShownPortion]:
        return self._shown.portions(entry.position, entry.text)

    def trace_of(self, i: int) -> EventTrace:
        """What was found about an event; an empty trace where nothing was."""
        return self.traces.get(i) or EventTrace()

    def _is_listing(self, group: EventGroup) -> bool:
        return all(self.events[i].kind == "list" for i in group)

    # First pass: which features there are to be found.

    def _index(self, entry: TimelineEntry) -> None:
        if not isinstance(entry, ContextText):
            return
        for portion in self._portions(entry):
            if not portion.events:
                continue
            listing = self._is_listing(portion.events)
            self.features.add_source(portion.events, portion.lines, listing=listing)
            if not listing:
                for detector in self._together:
                    self.features.add_decisive(portion.events, detector.add(portion.lines))
        for i in self._runs_at(entry):
            self._index_run(i, entry)

    def _runs_at(self, entry: ContextText) -> Iterator[int]:
        """Events of an entry in which bundled code ran."""
        events = self._shown.events_at.get(entry.position, ())
        return (i for i in events if self.events[i].kind in RUN_KINDS)

    def _index_run(self, i: int, entry: ContextText) -> None:
        script = self.events[i].resource.rpartition("/")[2]
        command = self._shown.command_lines(entry.position)
        if self.events[i].kind == "exec":
            command = list(parts_running(command, script)) or command
        self.script_runs.prepare(i, traced_lines(entry.text), command, script)

    # Second pass: who said what first, and who used it.

    def _replay(self, entry: TimelineEntry) -> None:
        if isinstance(entry, Compaction):
            self._ownership.compact()
        elif isinstance(entry, AgentAction):
            self._replay_action(entry)
        else:
            self._replay_text(entry)

    def _replay_text(self, entry: ContextText) -> None:
        if entry.ok is not None:
            self._last_failed = not entry.ok
        for i in self._shown.events_at.get(entry.position, ()):
            self.traces[i].reached = self._clock
            self.traces[i].unchanged |= entry.unchanged
        for i in self._runs_at(entry):
            command = self._shown.command_lines(entry.position)
            failed = entry.ok is False
            self.script_runs.restatements.finish(
                i, traced_lines(entry.text), command, failed=failed
            )
        for portion in self._portions(entry):
            hits = {} if portion.entries else self.features.find(portion.lines)
            self.script_runs.mentioned(hits, prompt=entry.prompt)
            if portion.events and self._is_listing(portion.events):
                entries = self.features.find_entries(portion.lines)
                self._show(portion.events, hits | entries, entry.step)
            elif portion.events:
                own = {self._resource(i)[0] for i in portion.events}
                self.pointers.shown(portion.events, own, portion.lines, entry.step)
                offered = list(hits)
                for detector in self._together:
                    passages, spoilt = detector.show(portion.lines)
                    self._ownership.said_elsewhere(spoilt)
                    offered += passages
                self._show(portion.events, offered, entry.step)
            else:
                self._replay_other_text(entry, portion.lines, hits)

    def _replay_other_text(
        self, entry: ContextText, lines: tuple[str, ...], hits: dict[str, str]
    ) -> None:
        """Text of no event; a summary is the agent's own, so that no event loses anything by it."""
        if entry.prompt or entry.position[0] >= 0:
            self.pointers.said(lines)
        if entry.summary:
            self._spoilt_by(lines, spare=self._ownership.owner)
            self._ownership.summarised(hits)
            return
        spoilt = self._spoilt_by(lines)
        self._ownership.said_elsewhere([*hits, *spoilt], survives=entry.survives)

    def _spoilt_by(self, lines: Sequence[str], spare: Container[str] = ()) -> list[str]:
        """Passages that can prove nothing any more once something else said these lines."""
        return [
            one
            for detector in self._together
            for one in detector.said_elsewhere(lines, spare=spare)
        ]

    def _show(self, group: EventGroup, features: Iterable[str], step: int) -> None:
        own: list[str] = []
        others: list[str] = []
        for feature in features:
            (own if self.features.offers(group, feature) else others).append(feature)
        self._ownership.said_elsewhere(others)
        self._ownership.shown(group, own, step)
        held = self._ownership.owned_by(group, own)
        for i in group:
            self.traces[i].has_text = True
            self.traces[i].offered |= held

    def _replay_action(self, action: AgentAction) -> None:
        for i in self._shown.events_at.get(action.position, ()) if action.position else ():
            self.traces[i].made_by = action
            self.script_runs.start(i)
            if self._opens_skill(i):
                self.pointers.opened(self._resource(i)[0], action, self._clock)
        lines = traced_lines(action.text)
        self.pointers.said(lines)
        hits = self.features.find(lines)
        self.script_runs.act(action, self._clock, hits)
        used = [match for one in self._together for match in one.used(lines)] if action.call else []
        passages = {match.feature: match for match in used}
        owned, contested = self._ownership.used([*hits, *passages])
        self._ownership.said_elsewhere(self._spoilt_by(lines, spare=self._ownership.owner))
        for match in passages.values():
            if match.feature in owned:
                group = owned.pop(match.feature)
                self.features.add_decisive(group, [(match.name, match.source)])
                owned[match.name], hits[match.name] = group, match.line
        for group, features in _by_owner(owned):
            use = self._use(action, group, features, hits)
            for i in group:
                self.traces[i].uses.append(use)
        for group, features in _by_owner(contested):
            for i in group:
                self.traces[i].contested += self.weigh(features)

    def _use(
        self, action: AgentAction, group: EventGroup, features: list[str], lines: dict[str, str]
    ) -> ContentUse:
        weights = self.features.weights
        heaviest_first = sorted(features, key=lambda name: (-weights[name], name))
        kept = list(one_name_per_value(heaviest_first, lines))
        return ContentUse(
            action, self._clock, tuple(kept), lines[kept[0]], group,
            after_failure=self._last_failed,
            is_access=self._shown.accesses_resource(action.position),
        )  # fmt: skip

    def weigh(self, features: Iterable[str]) -> int:
        """Weight of some features together; small numbers are one sign, however many they are, and so are
        headings of one word."""
        names = {name: self.features.weights[name] for name in features}
        slight = [name for name, weight in names.items() if weight == 1]
        numbers, headings = (sum(map(kind, slight)) for kind in (is_number, is_heading))
        return sum(names.values()) - max(0, numbers - 1) - max(0, headings - 1)

    def weight_of(self, uses: Iterable[ContentUse]) -> int:
        """Weight of everything that some actions took, each feature once."""
        return self.weigh({feature for use in uses for feature in use.features})

    def weight_of_names(self, uses: Iterable[ContentUse]) -> int:
        """The same without phrases: names, paths, flags and numbers only."""
        taken = {feature for use in uses for feature in use.features}
        return self.weigh(feature for feature in taken if self.features.weights[feature] > 1)

    def _count_steps(self, entries: list[TimelineEntry]) -> None:
        first: dict[int, int] = {}
        for clock, entry in enumerate(entries):
            if isinstance(entry, AgentAction):
                first.setdefault(entry.step.index, clock)
        clocks = sorted(first.values())
        for trace in self.traces.values():
            if trace.reached is not None:
                trace.steps_after = len(clocks) - bisect_right(clocks, trace.reached)


def one_name_per_value(features: Iterable[str], lines: Mapping[str, str]) -> Iterator[str]:
    """Features without the further names of a setting whose value a line holds once."""
    seen = set()
    for feature in features:
        name, setting, value = feature.rpartition("=")
        if setting and name and (lines[feature], value) in seen:
            continue
        seen.add((lines[feature], value))
        yield feature


def _by_owner(owners: dict[str, EventGroup]) -> Iterator[tuple[EventGroup, list[str]]]:
    grouped: dict[EventGroup, list[str]] = defaultdict(list)
    for feature, group in owners.items():
        grouped[group].append(feature)
    yield from sorted(grouped.items())

"""Trace one agent's run: which actions used the content of which events.

The clock of an action is its position in the agent's timeline, from 0.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skilljuror.base.trajectory import Compaction, Trajectory
from skilljuror.judge.features.extraction import is_heading, is_number
from skilljuror.judge.features.feature_index import FeatureIndex
from skilljuror.judge.replay.content_ownership import ContentOwnership
from skilljuror.judge.replay.shown_text import RUN_KINDS, EventGroup, ShownPortion, ShownText
from skilljuror.judge.replay.timeline import (
    AgentAction,
    ContextText,
    TimelineEntry,
    timeline,
    traced_lines,
)
from skilljuror.judge.rubric import EruRubric
from skilljuror.judge.signals.cooccurrence import FIELDS, CooccurrenceDetector
from skilljuror.judge.signals.script_artifacts import ScriptRuns, parts_running
from skilljuror.judge.signals.skill_pointers import SkillPointers


@dataclass(frozen=True)
class ContentUse:
    """The content of one group of events that one action used."""

    action: AgentAction
    """The action."""
    clock: int
    """Its position in the timeline."""
    features: tuple[str, ...]
    """Features that it used, heaviest first."""
    line: str
    """The line of the action with the heaviest feature."""
    group: EventGroup = ()
    """The events that offered the features; empty if no content was matched."""
    after_failure: bool = False
    """Whether the last result before it was a failure."""
    is_access: bool = False
    """Whether the action itself opens, searches or lists a resource."""


@dataclass
class EventTrace:
    """The findings about one event."""

    reached: int | None = None
    """Clock of the result or message that brought it into the context; None if there is none."""
    has_text: bool = False
    """Whether any of its own text was shown."""
    offered: set[str] = field(default_factory=set)
    """Features that only it had offered when it was shown."""
    uses: list[ContentUse] = field(default_factory=list)
    """Actions that used its content."""
    contested: int = 0
    """Weight of features that the agent used after another text had repeated them."""
    steps_after: int = 0
    """Steps of the agent after its text."""
    made_by: AgentAction | None = None
    """The call behind it."""
    unchanged: bool = False
    """Whether the harness said "unchanged" instead of showing the content again."""


class AgentTrace:
    """Traces the content of all events of one agent."""

    def __init__(
        self, trajectory: Trajectory, agent: str, shown: ShownText, rubric: EruRubric
    ) -> None:
        self.events = shown.events
        self.traces: dict[int, EventTrace] = defaultdict(EventTrace)
        """Position of an event in the list of all events -> its trace."""
        self.features = FeatureIndex(rubric.common)
        self.script_runs = ScriptRuns(rubric.generic)
        self._together = (
            CooccurrenceDetector(rubric.cooccurrence),
            CooccurrenceDetector(rubric.fields, FIELDS),
        )
        self.pointers = SkillPointers(
            self._word(i) for i in range(len(shown.events)) if self._opens_skill(i)
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
        return event.skill, event.resource

    def _word(self, i: int) -> str:
        """The word that a text calls the Skill of an event by: its name without its plugin."""
        return self.events[i].skill.rpartition(":")[2]

    def _opens_skill(self, i: int) -> bool:
        event = self.events[i]
        return event.resource == "SKILL.md" and event.kind in {"read", "activate"}

    def _portions(self, entry: ContextText) -> list[ShownPortion]:
        return self._shown.portions(entry.position, entry.text)

    def trace_of(self, i: int) -> EventTrace:
        """Return the trace of an event; an empty one if nothing was found."""
        return self.traces.get(i) or EventTrace()

    def _is_listing(self, group: EventGroup) -> bool:
        return all(self.events[i].kind == "list" for i in group)

    # First pass: collect the features.

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

    # Second pass: assign each feature to its first showing, and find its uses.

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
                self._show(portion, hits | entries, entry.step)
            elif portion.events:
                own = {self._word(i) for i in portion.events}
                self.pointers.shown(portion.events, own, portion.lines, entry.step)
                offered = dict(hits)
                for detector in self._together:
                    passages, spoilt = detector.show(portion.lines)
                    self._ownership.said_elsewhere(spoilt)
                    offered |= {passage: passage for passage in passages}
                self._show(portion, offered, entry.step)
            else:
                self._replay_other_text(entry, portion.lines, hits)

    def _replay_other_text(
        self, entry: ContextText, lines: tuple[str, ...], hits: dict[str, str]
    ) -> None:
        """Text of no event; a summary is the agent's own, so that no event loses a feature by it."""
        if entry.prompt or entry.position[0] >= 0:
            self.pointers.said(lines)
        if entry.summary:
            self._spoilt_by(lines, spare=self._ownership.owner)
            self._ownership.summarised(hits)
            return
        spoilt = self._spoilt_by(lines)
        self._ownership.said_elsewhere([*hits, *spoilt], survives=entry.survives)

    def _spoilt_by(self, lines: Sequence[str], spare: Container[str] = ()) -> list[str]:
        """Passages that can no longer prove a use after other text repeated these lines."""
        return [
            one
            for detector in self._together
            for one in detector.said_elsewhere(lines, spare=spare)
        ]

    def _show(self, portion: ShownPortion, features: Mapping[str, str], step: int) -> None:
        """Record the features of a shown portion, each with its line; a passage is its own line."""
        group = portion.events
        own: list[str] = []
        others: list[str] = []
        for feature in features:
            (own if self.features.offers(group, feature) else others).append(feature)
        self._ownership.said_elsewhere(others)
        self._ownership.shown(group, own, step, features, portion.lines)
        held = self._ownership.owned_by(group, own)
        for i in group:
            self.traces[i].has_text = True
            self.traces[i].offered |= held

    def _replay_action(self, action: AgentAction) -> None:
        for i in self._shown.events_at.get(action.position, ()) if action.position else ():
            self.traces[i].made_by = action
            self.script_runs.start(i)
            if self._opens_skill(i):
                self.pointers.opened(self._word(i), action, self._clock)
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
        """Return the total weight of features; small numbers count once together, and so do headings
        of one word."""
        names = {name: self.features.weights[name] for name in features}
        slight = [name for name, weight in names.items() if weight == 1]
        numbers, headings = (sum(map(kind, slight)) for kind in (is_number, is_heading))
        return sum(names.values()) - max(0, numbers - 1) - max(0, headings - 1)

    def weight_of(self, uses: Iterable[ContentUse]) -> int:
        """Return the total weight of the features of uses, each once."""
        return self.weigh({feature for use in uses for feature in use.features})

    def weight_of_names(self, uses: Iterable[ContentUse]) -> int:
        """Return the same for names, paths, flags and numbers only, without phrases."""
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
    """Skip further names of a setting whose value is on a line once."""
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

"""One agent's run, read once: which events' content turned up in which action."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from skilljuror.judge.features.extraction import is_number
from skilljuror.judge.features.feature_index import Watch
from skilljuror.judge.replay.content_ownership import Ledger
from skilljuror.judge.replay.shown_text import RUNS, Group, Portion, ShownText
from skilljuror.judge.replay.timeline import Acted, Forgot, Heard, Moment, timeline
from skilljuror.judge.rubric import EruRubric
from skilljuror.judge.signals.cooccurrence import Together
from skilljuror.judge.signals.script_artifacts import Runs, own_parts
from skilljuror.models.trajectory import Trajectory


@dataclass(frozen=True)
class Use:
    """What one action took from one event."""

    action: Acted
    """The action."""
    clock: int
    """Its place in the agent's run."""
    features: tuple[str, ...]
    """What it took, heaviest first."""
    line: str
    """The line of the action with the heaviest of them."""
    group: Group = ()
    """The events whose text offered them; empty where no content was matched."""
    after_failure: bool = False
    """Whether the last result before it had failed."""
    visits: bool = False
    """Whether the action itself is an access to a resource."""


@dataclass
class Trace:
    """What was found about one event."""

    reached: int | None = None
    """Clock at which its result or message reached the context; None when there is none."""
    has_text: bool = False
    """Whether that held any text of its own."""
    offered: set[str] = field(default_factory=set)
    """Features that it alone had offered when it was shown."""
    uses: list[Use] = field(default_factory=list)
    """Actions that took something from it."""
    contested: int = 0
    """Weight of what the agent used after somebody else had repeated it."""
    steps_after: int = 0
    """Steps of the agent after its text."""
    made_by: Acted | None = None
    """The call behind it."""
    unchanged: bool = False
    """The harness said "unchanged" instead of showing content again."""


class AgentRun:
    """Traces of all events of one agent."""

    def __init__(
        self, trajectory: Trajectory, agent: str, shown: ShownText, rubric: EruRubric
    ) -> None:
        self.events = shown.events
        self.traces: dict[int, Trace] = defaultdict(Trace)
        """Position of an event -> what was found."""
        self.watch = Watch(rubric.common)
        self.runs = Runs(rubric.generic)
        self._together = Together(rubric.together)
        self._shown = shown
        self._ledger = Ledger(self._kin)
        self._failed = False
        self._clock = 0
        moments = list(timeline(trajectory, agent))
        for moment in moments:
            self._prepare(moment)
        self.watch.add_names(sorted(self.runs.watched))
        for self._clock, moment in enumerate(moments):
            self._replay(moment)
        self._count_steps(moments)

    def _kin(self, one: Group, other: Group) -> bool:
        return not {self._resource(i) for i in one}.isdisjoint(self._resource(i) for i in other)

    def _resource(self, i: int) -> tuple[str, str]:
        event = self.events[i]
        return event.skill.rpartition(":")[2], event.resource

    def _portions(self, moment: Heard) -> list[Portion]:
        return self._shown.portions(moment.place, moment.text)

    def trace_of(self, i: int) -> Trace:
        """What was found about the event at a position; an empty trace for one of nobody."""
        return self.traces.get(i) or Trace()

    def _lists(self, group: Group) -> bool:
        return all(self.events[i].kind == "list" for i in group)

    # First pass: what is there to be recognised.

    def _prepare(self, moment: Moment) -> None:
        if not isinstance(moment, Heard):
            return
        for portion in self._portions(moment):
            if not portion.group:
                continue
            lists = self._lists(portion.group)
            self.watch.add(portion.group, portion.lines, lists)
            if not lists:
                self.watch.add_whole(portion.group, self._together.add(portion.lines))
        for i in self._shown.places.get(moment.place, ()):
            if self.events[i].kind in RUNS:
                self._prepare_run(i, moment)

    def _prepare_run(self, i: int, moment: Heard) -> None:
        script = self.events[i].resource.rpartition("/")[2]
        command = self._shown.command_lines(moment.place)
        if self.events[i].kind == "exec":
            command = list(own_parts(command, script)) or command
        self.runs.prepare(i, moment.text.splitlines(), command, script)

    # Second pass: who said it, and who used it.

    def _replay(self, moment: Moment) -> None:
        if isinstance(moment, Forgot):
            self._ledger.forget()
        elif isinstance(moment, Acted):
            self._act(moment)
        else:
            self._hear(moment)

    def _hear(self, moment: Heard) -> None:
        if moment.ok is not None:
            self._failed = not moment.ok
        for i in self._shown.places.get(moment.place, ()):
            self.traces[i].reached = self._clock
            self.traces[i].unchanged |= moment.unchanged
            if self.events[i].kind in RUNS:
                command = self._shown.command_lines(moment.place)
                failed = moment.ok is False
                self.runs.restated.finish(i, moment.text.splitlines(), command, failed=failed)
        for portion in self._portions(moment):
            found = {} if portion.entries else self.watch.find(portion.lines)
            self.runs.hear(found, prompt=moment.prompt)
            if portion.group and self._lists(portion.group):
                self._show(
                    portion.group, found | self.watch.find_listed(portion.lines), moment.step
                )
            elif portion.group:
                telling, spoilt = self._together.show(portion.lines)
                self._ledger.hear(spoilt)
                self._show(portion.group, [*found, *telling], moment.step)
            else:
                self._overhear(moment, portion.lines, found)

    def _overhear(self, moment: Heard, lines: tuple[str, ...], found: dict[str, str]) -> None:
        """Nobody's text; a summary is the agent's own, so that nobody loses anything by it."""
        if moment.summary:
            self._together.hear(lines, spare=self._ledger.owner)
            self._ledger.summarise(found)
            return
        spoilt = self._together.hear(lines)
        self._ledger.hear([*found, *spoilt], lasting=moment.lasting)

    def _show(self, group: Group, found: Iterable[str], step: int) -> None:
        own: list[str] = []
        others: list[str] = []
        for feature in found:
            (own if self.watch.offers(group, feature) else others).append(feature)
        self._ledger.hear(others)
        self._ledger.show(group, own, step)
        held = self._ledger.owned_by(group, own)
        for i in group:
            self.traces[i].has_text = True
            self.traces[i].offered |= held

    def _act(self, action: Acted) -> None:
        for i in self._shown.places.get(action.place, ()) if action.place else ():
            self.traces[i].made_by = action
            self.runs.start(i)
        lines = action.text.splitlines()
        found = self.watch.find(lines)
        self.runs.act(action, self._clock, found)
        matches = {one.feature: one for one in self._together.used(lines)} if action.call else {}
        owned, contested = self._ledger.use([*found, *matches])
        self._ledger.hear(self._together.hear(lines, spare=self._ledger.owner))
        for match in matches.values():
            if match.feature in owned:
                group = owned.pop(match.feature)
                self.watch.add_whole(group, [(match.name, match.source)])
                owned[match.name], found[match.name] = group, match.line
        for group, features in _by_owner(owned):
            use = self._use(action, group, features, found)
            for i in group:
                self.traces[i].uses.append(use)
        for group, features in _by_owner(contested):
            for i in group:
                self.traces[i].contested += self.weigh(features)

    def _use(self, action: Acted, group: Group, features: list[str], found: dict[str, str]) -> Use:
        weights = self.watch.weights
        ranked = sorted(features, key=lambda name: (-weights[name], name))
        ranked = list(once(ranked, found))
        return Use(
            action, self._clock, tuple(ranked), found[ranked[0]], group,
            after_failure=self._failed, visits=self._shown.visits(action.place),
        )  # fmt: skip

    def weigh(self, features: Iterable[str]) -> int:
        """Weight of some features; small numbers are one sign, however many they are."""
        names = {name: self.watch.weights[name] for name in features}
        small = sum(weight == 1 and is_number(name) for name, weight in names.items())
        return sum(names.values()) - max(0, small - 1)

    def weight_of(self, uses: Iterable[Use]) -> int:
        """Weight of everything that some actions took, each thing once."""
        return self.weigh({feature for use in uses for feature in use.features})

    def names_of(self, uses: Iterable[Use]) -> int:
        """The same, phrases left out: names, paths, flags and numbers only."""
        taken = {feature for use in uses for feature in use.features}
        return self.weigh(feature for feature in taken if self.watch.weights[feature] > 1)

    def _count_steps(self, moments: list[Moment]) -> None:
        first: dict[int, int] = {}
        for clock, moment in enumerate(moments):
            if isinstance(moment, Acted):
                first.setdefault(moment.step.index, clock)
        clocks = sorted(first.values())
        for trace in self.traces.values():
            if trace.reached is not None:
                trace.steps_after = len(clocks) - bisect_right(clocks, trace.reached)


def once(features: Iterable[str], found: Mapping[str, str]) -> Iterator[str]:
    """Features without the further names of a setting that a line holds once."""
    told = set()
    for feature in features:
        name, setting, value = feature.rpartition("=")
        if setting and name and (found[feature], value) in told:
            continue
        told.add((found[feature], value))
        yield feature


def _by_owner(owners: dict[str, Group]) -> Iterator[tuple[Group, list[str]]]:
    grouped: dict[Group, list[str]] = defaultdict(list)
    for feature, group in owners.items():
        grouped[group].append(feature)
    yield from sorted(grouped.items())

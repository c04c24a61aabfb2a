"""The tracing judge: prove uptake without a model by quotes of the resource and of the action.

An event counts as taken up if content that only its resource showed is in a later action of the same agent:
features of the text (features.py), fields that occur together, outputs restated, files of bundled code that are used,
and pointers to other Skills (signals.py). Calls of one step need weight 3, calls and words of one step 4. The label is `yes` with both quotes; `no` if the access failed, or no name of a listing was used;
`unknown` if the resource offered nothing distinctive, was not shown, was shown but not seen again (agents also follow
a text without repeating it), only shared content was used, or the log ends. Rules, limits and boundary cases:
rubrics/eru.yaml.

The clock of an action is its position in the agent's timeline, from 0.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from msgspec import Struct, field

from skilljuror.base.results import UptakeCategory, Verdict
from skilljuror.base.trajectory import Compaction, ResourceEvent, SkillManifest, Trajectory
from skilljuror.judge.features import (
    DECISIVE_WEIGHT,
    FeatureIndex,
    is_heading,
    is_number,
    is_setting,
    position_of,
)
from skilljuror.judge.shown import (
    RUN_KINDS,
    AgentAction,
    ContentOwnership,
    ContextText,
    EventGroup,
    ShownText,
    TimelineEntry,
    timeline,
    traced_lines,
)
from skilljuror.judge.signals import (
    ContentUse,
    EruRubric,
    FieldPassages,
    RestatementDetector,
    ScriptRuns,
    SkillPointers,
    load_rubric,
    parts_running,
)

QUOTE = 200
"""Maximum characters of a quote."""
WEIGHT_WITH_WORDS = 4
"""Weight that proves a use if the agent's words count too: words are weaker than actions."""
CUT_OFF_STEPS = 5
"""A log that ends within this many steps after an event proves no "no"."""
_WORD_START = re.compile(r"\s\S")
_CHECKS = re.compile(
    r"(?<![\w/.-])(?:tests?|check|verify|validate|assert|lint|pytest|diff|cmp|unittest|mypy|ruff|tsc)"
    r"(?![\w/-])|--dry-run\b|(?:check|verify|validate|test_)[\w-]{0,60}\.(?:py|sh|js|ts)\b"
)


class EventTrace(Struct):
    """What a run shows about one event."""

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


class Decision(Struct, frozen=True):
    """A label with its reason and, for a yes, its proof."""

    category: UptakeCategory
    """Why."""
    use: ContentUse | None = None
    """The action that proves a yes."""
    source: str = ""
    """The line of the resource that proves it; the first feature of the use is on both lines."""


class TracingJudge:
    """Labels events by tracing their content into later actions."""

    name: ClassVar[str] = "tracing/4"
    """Name and version, stored with every verdict."""

    def judge(
        self,
        trial: str,
        trajectory: Trajectory,
        events: tuple[ResourceEvent, ...],
        manifest: SkillManifest | None,
    ) -> Iterator[Verdict]:
        """Yield one verdict per counted event, in order; linear in the text of the trajectory."""
        rubric = load_rubric()
        shown = ShownText(trajectory, events, manifest)
        agents = {event.agent for event in events if event.counts}
        runs = {agent: AgentTrace(trajectory, agent, shown, rubric) for agent in agents}
        for i, event in enumerate(events):
            if not event.counts:
                continue
            run = runs[event.agent]
            decision = decide(event, i, run, trajectory.complete)
            use, quotes = decision.use, dict.fromkeys(_used(i, run, decision))
            call = use.action.call if use else None
            yield Verdict(
                event=event.event,
                trial=trial,
                judge=self.name,
                label=decision.category.label,
                category=decision.category,
                source_quote=clip(decision.source, use.features[0]) if use else None,
                action_quote=clip(use.line, use.features[0]) if use else None,
                action_step=use.action.step.index if use else None,
                action_line=(call.line if call else use.action.step.line) if use else None,
                note=", ".join(use.features[:5]) if use else "",
                used=tuple(quotes),
            )


def _used(i: int, run: "AgentTrace", decision: Decision) -> Iterator[tuple[str, int]]:
    """The line that proves a yes with the step that used it, then the others: each line whose own features
    in the calls of one step have a decisive weight."""
    if decision.use is None:
        return
    yield decision.source, decision.use.action.step.index
    lines: dict[tuple[str, int], set[str]] = defaultdict(set)
    for use in run.trace_of(i).uses:
        for feature in use.features if use.action.call else ():
            if line := run.features.quote(use.group, feature):
                lines[line, use.action.step.index].add(feature)
    for place, features in lines.items():
        if run.weigh(features) >= DECISIVE_WEIGHT:
            yield place


def clip(line: str, feature: str) -> str:
    """Return up to QUOTE characters of a line around a feature, from the start of a word if
    possible."""
    if len(line) <= QUOTE:
        return line.strip()
    position = position_of(line, feature)
    start = max(0, min(position - QUOTE // 4, len(line) - QUOTE))
    if start and not line[start - 1].isspace():
        word = _WORD_START.search(line, start, position + 1)
        start = word.end() - 1 if word else start
    return line[start : start + QUOTE].strip()


class AgentTrace:
    """Traces the content of all events of one agent: which actions used the content of which events."""

    def __init__(
        self, trajectory: Trajectory, agent: str, shown: ShownText, rubric: EruRubric
    ) -> None:
        self.events = shown.events
        self.traces: dict[int, EventTrace] = defaultdict(EventTrace)
        """Position of an event in the list of all events -> its trace."""
        self.features = FeatureIndex(rubric.common)
        self.script_runs = ScriptRuns()
        self.restatements = RestatementDetector(rubric.generic)
        self.pointers = SkillPointers(
            self._word(i) for i in range(len(shown.events)) if self._opens_skill(i)
        )
        self._fields = FieldPassages(rubric.fields)
        self._shown = shown
        self._ownership = ContentOwnership(self._same_resource)
        self._last_failed = False
        self._clock = 0
        entries = list(timeline(trajectory, agent))
        for entry in entries:
            if isinstance(entry, ContextText):
                self._index(entry)
        self.features.add_names(sorted(self.script_runs.features))
        for self._clock, entry in enumerate(entries):
            if isinstance(entry, Compaction):
                self._ownership.compact()
            elif isinstance(entry, AgentAction):
                self._replay_action(entry)
            else:
                self._replay_text(entry)
        self._count_steps(entries)

    def trace_of(self, i: int) -> EventTrace:
        """Return the trace of an event; an empty one if nothing was found."""
        return self.traces.get(i) or EventTrace()

    def _same_resource(self, group: EventGroup, other: EventGroup) -> bool:
        resources, others = (
            {(self.events[i].skill, self.events[i].resource) for i in each}
            for each in (group, other)
        )
        return not resources.isdisjoint(others)

    def _word(self, i: int) -> str:
        """The word that a text calls the Skill of an event by: its name without its plugin."""
        return self.events[i].skill.rpartition(":")[2]

    def _opens_skill(self, i: int) -> bool:
        event = self.events[i]
        return event.resource == "SKILL.md" and event.kind in {"read", "activate"}

    def _is_listing(self, group: EventGroup) -> bool:
        return all(self.events[i].kind == "list" for i in group)

    def _runs_at(self, entry: ContextText) -> list[int]:
        """Events of an entry in which bundled code ran."""
        events = self._shown.events_at.get(entry.position, ())
        return [i for i in events if self.events[i].kind in RUN_KINDS]

    # First pass: collect the features.

    def _index(self, entry: ContextText) -> None:
        for portion in self._shown.portions(entry.position, entry.text):
            if not portion.events:
                continue
            listing = self._is_listing(portion.events)
            self.features.add_source(portion.events, portion.lines, listing=listing)
            if not listing:
                self.features.add_decisive(portion.events, self._fields.add(portion.lines))
        for i in self._runs_at(entry):
            script = self.events[i].resource.rpartition("/")[2]
            command = self._shown.command_lines(entry.position)
            if self.events[i].kind == "exec":
                command = list(parts_running(command, script)) or command
            self.script_runs.prepare(i, traced_lines(entry.text), command, script)

    # Second pass: assign each feature to its first showing, and find its uses.

    def _replay_text(self, entry: ContextText) -> None:
        if entry.ok is not None:
            self._last_failed = not entry.ok
        for i in self._shown.events_at.get(entry.position, ()):
            self.traces[i].reached = self._clock
            self.traces[i].unchanged |= entry.unchanged
        for i in self._runs_at(entry):
            command = self._shown.command_lines(entry.position)
            self.restatements.finish(i, traced_lines(entry.text), command, failed=entry.ok is False)
        for portion in self._shown.portions(entry.position, entry.text):
            hits = {} if portion.entries else self.features.find(portion.lines)
            self.script_runs.mentioned(hits, prompt=entry.prompt)
            if not portion.events:
                self._replay_other_text(entry, portion.lines, hits)
            elif self._is_listing(portion.events):
                entries = self.features.find_entries(portion.lines)
                self._show(portion.events, portion.lines, hits | entries, entry.step)
            else:
                own = {self._word(i) for i in portion.events}
                self.pointers.shown(portion.events, own, portion.lines, entry.step)
                provable, spoilt = self._fields.show(portion.lines)
                self._ownership.said_elsewhere(spoilt)
                offered = hits | {passage: passage for passage in provable}
                self._show(portion.events, portion.lines, offered, entry.step)

    def _replay_other_text(
        self, entry: ContextText, lines: tuple[str, ...], hits: dict[str, str]
    ) -> None:
        """Text of no event; a summary is the agent's own, so that no event loses a feature by it."""
        if entry.prompt or entry.position[0] >= 0:
            self.pointers.said(lines)
        if entry.summary:
            self._fields.said_elsewhere(lines, spare=self._ownership.owner)
            self._ownership.summarised(hits)
            return
        spoilt = self._fields.said_elsewhere(lines)
        self._ownership.said_elsewhere([*hits, *spoilt], survives=entry.survives)

    def _show(
        self, group: EventGroup, lines: tuple[str, ...], features: Mapping[str, str], step: int
    ) -> None:
        """Record the features of shown lines, each with its line; a passage is its own line."""
        own = [feature for feature in features if self.features.offers(group, feature)]
        self._ownership.said_elsewhere(features.keys() - set(own))
        self._ownership.shown(group, own, step, features, lines)
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
        self.restatements.act(action, self._clock)
        self.script_runs.act(action, self._clock, hits)
        matches = self._fields.used(lines) if action.call else ()
        passages = {match.feature: match for match in matches}
        owned, contested = self._ownership.used([*hits, *passages])
        spoilt = self._fields.said_elsewhere(lines, spare=self._ownership.owner)
        self._ownership.said_elsewhere(spoilt)
        for match in passages.values():
            if match.feature in owned:
                group = owned.pop(match.feature)
                self.features.add_decisive(group, [(match.name, match.source)])
                owned[match.name], hits[match.name] = group, match.line
        weights = self.features.weights
        for group, features in _by_owner(owned):
            features.sort(key=lambda name: (-weights[name], name))
            use = ContentUse(
                action, self._clock, tuple(features), hits[features[0]], group, after_failure=self._last_failed,
                is_access=self._shown.accesses_resource(action.position),
            )  # fmt: skip
            for i in group:
                self.traces[i].uses.append(use)
        for group, features in _by_owner(contested):
            for i in group:
                self.traces[i].contested += self.weigh(features)

    def weigh(self, features: Iterable[str]) -> int:
        """Return the total weight of features; small numbers count once together, and so do headings
        of one word."""
        names = {name: self.features.weights[name] for name in features}
        slight = [name for name, weight in names.items() if weight == 1]
        small, headings = (sum(map(kind, slight)) for kind in (is_number, is_heading))
        return sum(names.values()) - max(0, small - 1) - max(0, headings - 1)

    def weight_of(self, uses: Iterable[ContentUse]) -> int:
        """Return the total weight of the features of uses, each once."""
        return self.weigh({feature for use in uses for feature in use.features})

    def _count_steps(self, entries: list[TimelineEntry]) -> None:
        first: dict[int, int] = {}
        for clock, entry in enumerate(entries):
            if isinstance(entry, AgentAction):
                first.setdefault(entry.step.index, clock)
        clocks = sorted(first.values())
        for trace in self.traces.values():
            if trace.reached is not None:
                trace.steps_after = len(clocks) - bisect_right(clocks, trace.reached)


def _by_owner(owners: dict[str, EventGroup]) -> list[tuple[EventGroup, list[str]]]:
    grouped: dict[EventGroup, list[str]] = defaultdict(list)
    for feature, group in owners.items():
        grouped[group].append(feature)
    return sorted(grouped.items())


def decide(event: ResourceEvent, i: int, run: AgentTrace, complete: bool) -> Decision:
    """Return the label of event `i` by the rules of the rubric; `complete` is False for a log that was cut off."""
    trace = run.trace_of(i)
    if trace.reached is not None:
        proof = _taken_up(event, trace, run) or _by_signal(event, i, trace, run)
        if proof:
            return proof
    runs = event.kind in RUN_KINDS
    if runs:
        had_content = trace.reached is not None
    else:
        told = event.ok is not False if event.kind == "list" else event.content_exposed != "none"
        had_content = trace.reached is not None and trace.has_text and told
    if not had_content:
        failed = event.ok is False and not trace.unchanged
        return Decision(UptakeCategory.FAILED_PROBE if failed else UptakeCategory.NOT_SHOWN)
    if trace.steps_after == 0 or (not complete and trace.steps_after <= CUT_OFF_STEPS):
        return Decision(UptakeCategory.NO_LATER_ACTION)
    if event.ok is False and runs:
        return Decision(UptakeCategory.FAILED_PROBE)
    if run.weigh(trace.offered) < DECISIVE_WEIGHT:
        return Decision(UptakeCategory.NOTHING_DISTINCTIVE)
    if trace.contested >= DECISIVE_WEIGHT:
        return Decision(UptakeCategory.ALSO_ELSEWHERE)
    if any(is_setting(name) for use in trace.uses if use.action.call for name in use.features):
        return Decision(UptakeCategory.NOTHING_DISTINCTIVE)  # a use, or a good guess
    return Decision(
        UptakeCategory.LISTING if event.kind == "list" else UptakeCategory.NOT_SEEN_AGAIN
    )


def _taken_up(event: ResourceEvent, trace: EventTrace, run: AgentTrace) -> Decision | None:
    """A use by calls of one step, or by calls and words of one step."""
    calls = [use for use in trace.uses if use.action.call]
    strong = _strong(calls, run, DECISIVE_WEIGHT) or _strong(trace.uses, run, WEIGHT_WITH_WORDS)
    if not strong:
        return None
    best = min(strong, key=lambda use: (use.is_access, -run.weight_of([use]), use.clock))
    source = run.features.quote(best.group, best.features[0])
    return Decision(_category(event, best), best, source)


def _strong(uses: list[ContentUse], run: AgentTrace, enough: int) -> list[ContentUse]:
    """The uses in steps whose total weight is at least `enough`."""
    steps: dict[int, list[ContentUse]] = defaultdict(list)
    for use in uses:
        steps[use.action.step.index].append(use)
    heavy = (uses for uses in steps.values() if run.weight_of(uses) >= enough)
    return [use for uses in heavy for use in uses]


def _category(event: ResourceEvent, use: ContentUse) -> UptakeCategory:
    call = use.action.call
    if use.is_access:
        return UptakeCategory.NAVIGATION
    if call is None:
        judged = event.kind in RUN_KINDS and event.ok is not False
        return UptakeCategory.VALIDATION if judged else UptakeCategory.DIAGNOSIS
    if use.after_failure and call.action in {"shell", "python", "write", "edit"}:
        return UptakeCategory.CORRECTION
    checks = call.written is None and _CHECKS.search(use.line)
    return UptakeCategory.VALIDATION if checks else UptakeCategory.IMPLEMENTATION


def _by_signal(event: ResourceEvent, i: int, trace: EventTrace, run: AgentTrace) -> Decision | None:
    """A successful run that wrote a file that a later action uses, or that the prompt requires; a run whose output
    the next words restate; a resource that names another Skill that the agent opens next."""
    if event.kind in RUN_KINDS and event.ok is not False and trace.reached is not None:
        proof = next(run.script_runs.worked_with(i, trace.reached), None)
        asked = next(run.script_runs.asked_for(i), None)
        if proof is None and asked and trace.made_by:
            use = ContentUse(trace.made_by, trace.reached, (asked.feature,), asked.line)
            proof = use, asked.line
        if proof:
            return Decision(UptakeCategory.IMPLEMENTATION, *proof)
    if proof := run.restatements.restatements.get(i):
        failed = event.ok is False
        return Decision(UptakeCategory.DIAGNOSIS if failed else UptakeCategory.VALIDATION, *proof)
    if proof := run.pointers.led.get(i):
        return Decision(UptakeCategory.NAVIGATION, *proof)
    return None

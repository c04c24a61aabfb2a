"""Decide the label of an event from its trace: yes, no or unknown, with a category."""

import re
from collections import defaultdict
from dataclasses import dataclass

from skilljuror.base.results import UptakeCategory
from skilljuror.base.trajectory import ResourceEvent
from skilljuror.judge.agent_trace import AgentTrace, ContentUse, EventTrace
from skilljuror.judge.features.extraction import DECISIVE_WEIGHT
from skilljuror.judge.features.key_values import is_setting
from skilljuror.judge.replay.shown_text import RUN_KINDS

WEIGHT_WITH_WORDS = 4
"""Weight that proves a use if the agent's words count too: words are weaker than actions."""

CUT_OFF_STEPS = 5
"""A log that ends within this many steps after an event proves no "no"."""

_CHECKS = re.compile(
    r"(?<![\w/.-])(?:tests?|check|verify|validate|assert|lint|pytest|diff|cmp|unittest|mypy|ruff|tsc)"
    r"(?![\w/-])|--dry-run\b|(?:check|verify|validate|test_)[\w-]{0,60}\.(?:py|sh|js|ts)\b"
)


@dataclass(frozen=True)
class Decision:
    """A label with its reason and, for a yes, its proof."""

    category: UptakeCategory
    """Why."""
    use: ContentUse | None = None
    """The action that proves a yes."""
    source: str = ""
    """The line of the resource that proves it."""
    feature: str = ""
    """The feature on both lines."""


def decide(event: ResourceEvent, i: int, run: AgentTrace | None, complete: bool) -> Decision:
    """Return the label of event `i`, by the rules of the rubric in their order.

    `run` is None for an agent without a timeline; `complete` is False for a log that was cut off.
    """
    trace = run.trace_of(i) if run else EventTrace()
    if run is not None and trace.reached is not None:
        proof = (
            _taken_up(event, trace, run)
            or _wrote_artifact(event, i, run)
            or _restated(event, i, run)
            or _led_on(i, run)
        )
        if proof:
            return proof
    if not _had_content(event, trace):
        return _without_content(event, trace)
    if trace.steps_after == 0 or (not complete and trace.steps_after <= CUT_OFF_STEPS):
        return Decision(UptakeCategory.NO_LATER_ACTION)
    if event.ok is False and event.kind in RUN_KINDS:
        return Decision(UptakeCategory.FAILED_PROBE)
    if run is None or run.weigh(trace.offered) < DECISIVE_WEIGHT:
        return Decision(UptakeCategory.NOTHING_DISTINCTIVE)
    if trace.contested >= DECISIVE_WEIGHT:
        return Decision(UptakeCategory.ALSO_ELSEWHERE)
    if _uses_a_setting(trace):
        return Decision(UptakeCategory.NOTHING_DISTINCTIVE)
    if event.kind == "list":
        return Decision(UptakeCategory.LISTING)
    return Decision(UptakeCategory.NOT_SEEN_AGAIN)


def _uses_a_setting(trace: EventTrace) -> bool:
    """Whether a call sets a name to the resource's value: a use, or a good guess."""
    calls = (use for use in trace.uses if use.action.call)
    return any(is_setting(feature) for use in calls for feature in use.features)


def _had_content(event: ResourceEvent, trace: EventTrace) -> bool:
    """Whether there is anything to use: output of runs, names of listings, content of the rest."""
    if trace.reached is None:
        return False
    if event.kind in RUN_KINDS:
        return True
    if not trace.has_text:
        return False
    if event.kind == "list":
        return event.ok is not False
    return event.content_exposed != "none"


def _without_content(event: ResourceEvent, trace: EventTrace) -> Decision:
    if event.ok is False and not trace.unchanged:
        return Decision(UptakeCategory.FAILED_PROBE)
    return Decision(UptakeCategory.NOT_SHOWN)


def _taken_up(event: ResourceEvent, trace: EventTrace, run: AgentTrace) -> Decision | None:
    """A use by calls of one step, names in calls of several steps, or calls and words of one step."""
    calls = [use for use in trace.uses if use.action.call]
    strong = _strong(calls, run, DECISIVE_WEIGHT)
    if not strong and run.weight_of_names(calls) >= WEIGHT_WITH_WORDS:
        strong = calls
    strong = strong or _strong(trace.uses, run, WEIGHT_WITH_WORDS)
    if not strong:
        return None
    best = min(strong, key=lambda use: (use.is_access, -run.weight_of([use]), use.clock))
    feature = best.features[0]
    source = run.features.quote(best.group, feature)
    return Decision(_category(event, best), best, source, feature)


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


def _wrote_artifact(event: ResourceEvent, i: int, run: AgentTrace) -> Decision | None:
    """A successful run that wrote a file that a later action uses, or that the prompt requires."""
    trace = run.trace_of(i)
    if event.kind not in RUN_KINDS or event.ok is False or trace.reached is None:
        return None
    for artifact, later in run.script_runs.worked_with(i, trace.reached):
        use = ContentUse(later.action, later.clock, (artifact.feature,), later.line)
        return Decision(UptakeCategory.IMPLEMENTATION, use, artifact.line, artifact.feature)
    asked = next(run.script_runs.asked_for(i), None)
    if asked is None or trace.made_by is None:
        return None
    made = ContentUse(trace.made_by, trace.reached, (asked.feature,), asked.line)
    return Decision(UptakeCategory.IMPLEMENTATION, made, asked.line, asked.feature)


def _restated(event: ResourceEvent, i: int, run: AgentTrace) -> Decision | None:
    """A run whose output the agent's next words restate."""
    words = run.script_runs.restatements.restatements.get(i)
    if words is None:
        return None
    use = ContentUse(words.action, words.clock, words.shared, words.line)
    category = UptakeCategory.DIAGNOSIS if event.ok is False else UptakeCategory.VALIDATION
    return Decision(category, use, words.printed, words.shared[0])


def _led_on(i: int, run: AgentTrace) -> Decision | None:
    """A resource that names another Skill that the agent opens next."""
    led = run.pointers.led.get(i)
    if led is None:
        return None
    lines = led.action.text.splitlines() or [led.name]
    line = next((line for line in lines if led.name in line), lines[0])
    use = ContentUse(led.action, led.clock, (led.name,), line)
    return Decision(UptakeCategory.NAVIGATION, use, led.source, led.name)

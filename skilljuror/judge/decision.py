"""From what was traced to a label: yes, no or unknown, and why."""

import re
from collections import defaultdict
from dataclasses import dataclass

from skilljuror.judge.agent_trace import AgentRun, Trace, Use
from skilljuror.judge.features.extraction import ENOUGH
from skilljuror.judge.features.key_values import is_setting
from skilljuror.judge.replay.shown_text import RUNS
from skilljuror.models.events import ResourceEvent
from skilljuror.models.measure import UptakeCategory, UptakeLabel

WORDS_ENOUGH = 4
"""Weight that is enough where words count too: saying is less than doing."""

CUT_OFF = 5
"""A log that is cut off within this many steps after the event decides nothing against it."""

_CHECKS = re.compile(
    r"(?<![\w/.-])(?:tests?|check|verify|validate|assert|lint|pytest|diff|cmp|unittest|mypy|ruff|tsc)"
    r"(?![\w/-])|--dry-run\b|(?:check|verify|validate|test_)[\w-]{0,60}\.(?:py|sh|js|ts)\b"
)


@dataclass(frozen=True)
class Decision:
    """A label with its reason and, for a yes, its proof."""

    label: UptakeLabel
    """yes, no or unknown."""
    category: UptakeCategory
    """Why."""
    use: Use | None = None
    """The action that proves a yes."""
    source: str = ""
    """The line of the resource that proves it."""
    sign: str = ""
    """What stands on both lines."""


def decide(event: ResourceEvent, i: int, run: AgentRun | None, complete: bool) -> Decision:
    """The label of the event at a position; the order of the rules is that of the rubric."""
    trace = run.trace_of(i) if run else Trace()
    if run is not None and trace.reached is not None:
        proof = (
            _taken_up(event, trace, run)
            or _wrote_artifact(event, i, run)
            or _restated(event, i, run)
        )
        if proof:
            return proof
    if not _had_content(event, trace):
        return _without_content(event, trace)
    if trace.steps_after == 0 or (not complete and trace.steps_after <= CUT_OFF):
        return Decision("unknown", "no_later_action")
    if event.ok is False and event.kind in RUNS:
        return Decision("no", "failed_probe")
    if run is None or run.weigh(trace.offered) < ENOUGH:
        return Decision("unknown", "nothing_distinctive")
    if trace.contested >= ENOUGH:
        return Decision("unknown", "also_elsewhere")
    if _one_setting(trace):
        return Decision("unknown", "nothing_distinctive")
    return Decision("no", "listing" if event.kind == "list" else "not_seen_again")


def _one_setting(trace: Trace) -> bool:
    """Whether a deed gave a name the value that the resource gives it: a use, or a good guess."""
    deeds = (use for use in trace.uses if use.action.call)
    return any(is_setting(feature) for use in deeds for feature in use.features)


def _had_content(event: ResourceEvent, trace: Trace) -> bool:
    """Runs are judged on their output, a listing on its names, the rest on content shown."""
    if trace.reached is None:
        return False
    if event.kind in RUNS:
        return True
    if not trace.has_text:
        return False
    if event.kind == "list":
        return event.ok is not False
    return event.content_exposed != "none"


def _without_content(event: ResourceEvent, trace: Trace) -> Decision:
    if event.ok is False and not trace.unchanged:
        return Decision("no", "failed_probe")
    return Decision("unknown", "not_shown")


def _taken_up(event: ResourceEvent, trace: Trace, run: AgentRun) -> Decision | None:
    """Deeds of one step, or names used in deeds of several steps, or deeds and words of a step."""
    deeds = [use for use in trace.uses if use.action.call]
    strong = _strong(deeds, run, ENOUGH)
    if not strong and run.names_of(deeds) >= WORDS_ENOUGH:
        strong = deeds
    strong = strong or _strong(trace.uses, run, WORDS_ENOUGH)
    if not strong:
        return None
    best = min(strong, key=lambda use: (use.visits, -run.weight_of([use]), use.clock))
    sign = best.features[0]
    source = run.watch.quote(best.group, sign)
    return Decision("yes", _category(event, best), best, source, sign)


def _strong(uses: list[Use], run: AgentRun, enough: int) -> list[Use]:
    """The uses in those steps in which they weigh enough together."""
    steps: dict[int, list[Use]] = defaultdict(list)
    for use in uses:
        steps[use.action.step.index].append(use)
    heavy = (found for found in steps.values() if run.weight_of(found) >= enough)
    return [use for found in heavy for use in found]


def _category(event: ResourceEvent, use: Use) -> UptakeCategory:
    call = use.action.call
    if use.visits:
        return "navigation"
    if call is None:
        judged = event.kind in RUNS and event.ok is not False
        return "validation" if judged else "diagnosis"
    if use.after_failure and call.action in {"shell", "python", "write", "edit"}:
        return "correction"
    checks = call.written is None and _CHECKS.search(use.line)
    return "validation" if checks else "implementation"


def _wrote_artifact(event: ResourceEvent, i: int, run: AgentRun) -> Decision | None:
    """A run that worked and wrote what a later action works with, or what the prompt asks for."""
    trace = run.trace_of(i)
    if event.kind not in RUNS or event.ok is False or trace.reached is None:
        return None
    for artifact, touch in run.runs.worked_with(i, trace.reached):
        use = Use(touch.action, touch.clock, (artifact.feature,), touch.line)
        return Decision("yes", "implementation", use, artifact.line, artifact.feature)
    asked = next(run.runs.asked_for(i), None)
    if asked is None or trace.made_by is None:
        return None
    made = Use(trace.made_by, trace.reached, (asked.feature,), asked.line)
    return Decision("yes", "implementation", made, asked.line, asked.feature)


def _restated(event: ResourceEvent, i: int, run: AgentRun) -> Decision | None:
    """A run whose output the agent's very next words restate: it was read and judged."""
    found = run.runs.restated.found.get(i)
    if found is None:
        return None
    use = Use(found.action, found.clock, found.shared, found.line)
    category: UptakeCategory = "diagnosis" if event.ok is False else "validation"
    return Decision("yes", category, use, found.printed, found.shared[0])

"""One page with the steps of one run, or of several runs side by side."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skilljuror.base.files import write_atomic
from skilljuror.base.results import LocalEffect, Verdict
from skilljuror.base.trajectory import ResourceEvent, ToolCall, Trajectory
from skilljuror.report.formatting import format_value
from skilljuror.report.sights import resource_rows, unit_rows

LONGEST = 20_000
"""Characters of one text on the page."""
SHORT = 160
"""Characters of a step's summary."""
VERIFIER_LINES = 8
"""Last lines of the verifier that are shown above the steps."""
EFFECTS = {
    "failed": "failed", "error_gone": "error gone", "wrote": "file written", "worked": "worked",
}  # fmt: skip
"""Effect of an action -> its words."""
LABELS = {"yes": "uptake", "no": "no uptake", "unknown": "uptake unknown"}


class Bridges:
    """Verdicts on the events of a run, and the effects of its actions."""

    def __init__(self, verdicts: Iterable[Verdict], effects: Iterable[LocalEffect]) -> None:
        self.of = {verdict.event: verdict for verdict in verdicts}
        self._effects = {(one.agent, one.step, one.line): one for one in effects}

    def links(self, event: ResourceEvent) -> list[tuple[str, str]]:
        """Return (name, words) of the signal and the effect around a use that was taken up."""
        verdict = self.of.get(event.event)
        if verdict is None or verdict.label != "yes":
            return []
        links = [("signal", verdict.source_quote)] if verdict.source_quote else []
        place = (event.agent, verdict.action_step or 0, verdict.action_line or 0)
        if effect := self._effects.get(place):
            quote = f": {effect.quote}" if effect.quote else ""
            links.append((
                "effect",
                f"{EFFECTS[effect.effect]} in step {effect.effect_step}{quote}",
            ))
        return links

    def uptake(self, event: ResourceEvent) -> str:
        """Return the verdict in words; "" if the event is not judged."""
        verdict = self.of.get(event.event)
        if verdict is None:
            return ""
        step = f" in step {verdict.action_step}" if verdict.action_step else ""
        quote = f": {verdict.action_quote}" if verdict.action_quote else ""
        return f"{LABELS[verdict.label]}: {verdict.category}{step}{quote}"


def place_of(event: ResourceEvent) -> str:
    """Return Skill, resource and lines of an event."""
    lines = ", ".join(f"{first}-{last}" for first, last in event.lines or ())
    return f"{event.skill}/{event.resource}" + (f" lines {lines}" if lines else "")


@dataclass(frozen=True)
class EventView:
    """One use of a resource."""

    kind: str
    place: str
    shown: str
    """How much of its content was shown, and whether it failed."""
    label: str
    """yes, no, unknown, or "" if not judged."""
    uptake: str
    links: list[tuple[str, str]]


@dataclass(frozen=True)
class CallView:
    """One call and its result."""

    prompt: str
    asked: str
    result: str
    failed: bool


@dataclass(frozen=True)
class StepView:
    """One step, or the prompt (number 0)."""

    anchor: str
    number: int
    agent: str
    """"" for the main agent."""
    summary: str
    text: str
    calls: tuple[CallView, ...]
    events: tuple[EventView, ...]

    @property
    def mark(self) -> str:
        """Class of its block in the strip."""
        labels = {event.label for event in self.events}
        if not self.events:
            return "failed" if any(call.failed for call in self.calls) else "other"
        return "taken" if "yes" in labels else "skill"


@dataclass(frozen=True)
class LinkView:
    """One use that was taken up: resource, action and effect."""

    place: str
    step: int
    anchor: str
    """Of the step of the use; "" without one."""
    signal: str
    """Text of the resource."""
    action: str
    action_step: int | None
    action_anchor: str
    effect: str


@dataclass(frozen=True)
class RunView:
    """One run."""

    name: str
    facts: tuple[str, ...]
    scripted: bool
    steps: tuple[StepView, ...]
    chain: tuple[LinkView, ...]
    no_chain: str
    """Why there is no chain; else ""."""
    verifier: str
    said: str
    """Last lines of the verifier."""


def write_trajectories(
    runs: Sequence[Any], target: Path, title: str = "", notes: Sequence[str] = ()
) -> None:
    """Write the page of one or more runs (`RunDetails` records), with the texts that they hold; notes are
    lines below the title."""
    from skilljuror.report.canvas import SCRIPTED  # a terminal needs none of this
    from skilljuror.report.page import templates

    views = [run_view(details, number) for number, details in enumerate(runs)]
    page = templates().get_template("trajectory.html.j2")
    title = title or (views[0].name if len(views) == 1 else f"{len(views)} runs")
    scripted = SCRIPTED if any(view.scripted for view in views) else ""
    anchors = [
        {(one.agent or "main", one.number): one.anchor for one in run.steps} for run in views
    ]
    opened, units = resource_rows(runs, anchors), unit_rows(runs, anchors)
    write_atomic(
        target,
        page.render(
            title=title, notes=notes, runs=views, opened=opened, units=units, scripted=scripted
        ),
    )


def run_view(details: Any, number: int = 0) -> RunView:
    """Return what the page shows of one run."""
    record, log = details.record, details.trajectory
    facts = []
    if record is not None:
        reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
        facts.append(f"{record.task} · {record.variant or 'no skill'} · {record.status} · {reward}")
        facts += [record.message] if record.message else []
    if log is None:
        facts.append("this trial has no readable log")
    else:
        agent = " ".join(part for part in (log.agent, log.agent_version, log.model) if part)
        facts.append(f"{log.format} · {agent or 'agent unknown'} · {len(log.steps)} steps")
    facts.append(_use(details))
    steps = tuple(_steps(details, log, number)) if log is not None else ()
    chain = tuple(_chain(details, steps))
    return RunView(
        name=details.name,
        facts=tuple(facts),
        scripted=record is not None and record.scripted,
        steps=steps,
        chain=chain,
        no_chain="" if chain else _no_chain(details),
        verifier=_cut(details.verifier or ""),
        said="\n".join((details.verifier or "").rstrip().splitlines()[-VERIFIER_LINES:]),
    )


def _use(details: Any) -> str:
    """Minutes and tokens, each with the reason where it is not known."""
    found = {one.metric: one for one in details.use}
    minutes, tokens = found.get("agent_minutes"), found.get("display_tokens")
    if minutes is None or minutes.value is None:
        minutes = found.get("log_minutes", minutes)
    parts = [
        f"{unit} not known ({one.reason})" if one.value is None else f"{format_value('', one.value)} {unit}"
        for unit, one in (("minutes", minutes), ("display tokens", tokens))
        if one is not None
    ]  # fmt: skip
    return " · ".join(parts)


def _chain(details: Any, steps: Sequence[StepView]) -> Iterable[LinkView]:
    """Uses that were taken up, by the step of their action."""
    bridges = Bridges(details.verdicts, details.effects)
    anchors = {(step.agent or "main", step.number): step.anchor for step in steps}
    links = []
    for event in details.events:
        verdict = bridges.of.get(event.event)
        if verdict is None or verdict.label != "yes":
            continue
        words = dict(bridges.links(event))
        links.append(LinkView(
            place=place_of(event), step=event.step, anchor=anchors.get((event.agent, event.step), ""),
            signal=_short(words.get("signal", "")), action=_short(verdict.action_quote or ""),
            action_step=verdict.action_step,
            action_anchor=anchors.get((event.agent, verdict.action_step or 0), ""),
            effect=_short(words.get("effect", "")),
        ))  # fmt: skip
    return sorted(links, key=lambda link: (link.action_step or link.step, link.step))


def _no_chain(details: Any) -> str:
    if not any(event.counts for event in details.events):
        return "No use of a Skill."
    if not details.verdicts:
        return "The uses are not judged: skilljuror judge STUDY."
    return "No use with uptake."


def _steps(details: Any, log: Trajectory, number: int) -> Iterable[StepView]:
    bridges = Bridges(details.verdicts, details.effects)
    events: dict[tuple[str, int], list[EventView]] = defaultdict(list)
    for event in details.events:
        verdict = bridges.of.get(event.event)
        failed = ", failed" if event.ok is False else ""
        view = EventView(
            event.kind, place_of(event), f"{event.content_exposed}{failed}",
            verdict.label if verdict else "", bridges.uptake(event), bridges.links(event),
        )  # fmt: skip
        events[event.agent, event.step].append(view)
    prompts = [one.text for one in log.messages if one.step == 0 and one.kind == "prompt"]
    start = "\n\n".join(prompts)
    first = tuple(events.pop(("main", 0), ()))
    if start or first:
        yield StepView(f"r{number}-0", 0, "", _short(start), _cut(start), (), first)
    for place, step in enumerate(log.steps, start=1):
        calls = tuple(map(_call, step.calls))
        agent = "" if step.agent == "main" else step.agent
        found = tuple(events.pop((step.agent, step.index), ()))
        summary = _short(step.text) or _short(" ; ".join(call.asked for call in calls))
        text = _cut(step.text)
        yield StepView(f"r{number}-{place}", step.index, agent, summary, text, calls, found)
    for (agent, step_number), rest in events.items():
        yield StepView(
            f"r{number}-{agent}-{step_number}", step_number, agent, "", "", (), tuple(rest)
        )


def _call(call: ToolCall) -> CallView:
    result = call.result
    return CallView(
        "$" if call.action == "shell" else call.name,
        _cut(call.asked),
        _cut(result.text) if result else "",
        result is not None and result.ok is False,
    )


def _short(text: str) -> str:
    folded = " ".join(text[: 4 * SHORT].split())
    return folded if len(folded) <= SHORT else folded[: SHORT - 1] + "…"


def _cut(text: str) -> str:
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}\n… {left:,} more characters"

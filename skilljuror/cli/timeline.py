"""One trajectory printed for a person."""

from collections import defaultdict

from skilljuror.base.trajectory import Message, ResourceEvent, Step, ToolCall, Trajectory
from skilljuror.cli.output import print_indented, print_legend
from skilljuror.harness.artifacts import last_lines
from skilljuror.report.trajectory import Bridges, RunDetails, place_of

SHORT = 200
VERIFIER_LINES = 20
"""Last lines of the verifier's output shown without --full."""


def print_timeline(details: RunDetails, full: bool = False) -> None:
    """Steps in order with their calls, the skill resources they touched and the uptake."""
    _print_head(details)
    if details.trajectory is None:
        print("this trial has no readable log")
    else:
        _print_steps(details, details.trajectory, full)
    if details.verifier:
        print()
        text = details.verifier if full else last_lines(details.verifier, VERIFIER_LINES)
        print_indented(text, "[verifier] ", "   ")
    if details.verdicts:
        print()
        print_legend(verdict.category for verdict in details.verdicts)


def _print_steps(details: RunDetails, trajectory: Trajectory, full: bool) -> None:
    bridges = Bridges(details.verdicts)
    events: dict[tuple[str, int], list[ResourceEvent]] = defaultdict(list)
    for event in details.events:
        events[event.agent, event.step].append(event)
    for message in trajectory.messages:
        if message.step == 0 and message.kind == "prompt":
            _print_message(message, full)
    _print_events(events.pop(("main", 0), []), bridges)
    for step in trajectory.steps:
        _print_step(step, full)
        _print_events(events.pop((step.agent, step.index), []), bridges)
    for rest in events.values():
        _print_events(rest, bridges)


def _print_head(details: RunDetails) -> None:
    print(details.name)
    record = details.record
    if record is not None:
        reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
        skill = record.variant or "no skill"
        print(f"{record.task} · {skill} · {record.status} · {reward} · {record.isolation}")
        if record.scripted:
            print("scripted policy: no language model ran; says nothing about real agents")
        if record.message:
            print(f"note: {record.message}")
    if details.trajectory is not None:
        log = details.trajectory
        agent = " ".join(part for part in (log.agent, log.agent_version, log.model) if part)
        print(f"{log.format} · {agent or 'agent unknown'} · {len(log.steps)} steps")


def _print_message(message: Message, full: bool) -> None:
    print()
    print_indented(_cut(message.text, full), f"[{message.kind}] ", "   ")


def _print_step(step: Step, full: bool) -> None:
    who = "" if step.agent == "main" else f" ({step.agent})"
    print()
    print_indented(_cut(step.text, full), f"{step.index}{who}. ", "   ")
    for call in step.calls:
        _print_call(call, full)


def _print_call(call: ToolCall, full: bool) -> None:
    prompt = "$" if call.action == "shell" else call.name
    print_indented(_cut(call.asked, full), f"   {prompt} ", "     ")
    if call.result is not None:
        failed = " [failed]" if call.result.ok is False else ""
        text = _cut(call.result.text, full)
        if text or failed:
            print_indented(f"{text}{failed}", "     ", "     ")


def _print_events(events: list[ResourceEvent], bridges: Bridges) -> None:
    for event in events:
        failed = "" if event.ok is not False else ", failed"
        line = f"{event.kind} {place_of(event)} ({event.content_exposed}{failed})"
        if uptake := bridges.uptake(event):
            line += f" → {_cut(uptake, False)}"
        print_indented(line, "   ● ", "     ")
        for name, words in bridges.links(event):
            print_indented(f"{name}: {_cut(words, False)}", "     ", "       ")


def _cut(text: str, full: bool) -> str:
    if full:
        return text
    folded = " ".join(text[: 4 * SHORT].split())
    return folded if len(folded) <= SHORT else folded[: SHORT - 1] + "…"

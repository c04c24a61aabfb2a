"""The questions that a run puts to a model: one, or several that overlap where the log is long.

What is the same in all of them comes first, and what differs most comes last, so that a provider may
cache the beginning. Every text of a log stands in a block of data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from skilljuror.errors import JudgeError
from skilljuror.files import data_dir
from skilljuror.judge.by_model.excerpts import AskedEvent, RunCall, RunExcerpt, RunStep
from skilljuror.llm import as_data
from skilljuror.tokens import estimate

QUESTION_TOKENS = 48_000
"""Estimated tokens of one question: what models of 64,000 can hold beside the prompt and an answer."""
OVERLAP_TOKENS = 4_000
"""Of these, steps that the question before has shown already."""
FOLLOWING_TOKENS = 240_000
"""Estimated tokens of the steps after an access that are shown at all, over all questions."""
TASK, SHOWN, CALL, WORDS, STEP = 8_000, 16_000, 24_000, 12_000, 48_000
"""Characters of a task, of what an access showed, of a call, of an agent's words and of a whole step
that are shown."""
MOST_CALLS = 100
"""Calls of one step that are shown; agents make some ten."""


@dataclass(frozen=True)
class Rubric:
    """What a model is told of uptake."""

    system: str
    """The beginning of every question."""
    labels: dict[str, str]
    """Category -> the label that it belongs to."""


@dataclass(frozen=True)
class Question:
    """One question to a model."""

    messages: tuple[dict[str, str], ...]
    """What is asked."""
    events: tuple[AskedEvent, ...]
    """The events that it asks about, in order."""
    cut: bool
    """Whether actions that follow one of these events are shown in part, or not: a no cannot be told."""


@lru_cache(maxsize=1)
def load_rubric() -> Rubric:
    """rubrics/eru-model.yaml. Raises JudgeError when it is damaged."""
    path = data_dir("rubrics") / "eru-model.yaml"
    try:
        content = yaml.safe_load(path.read_bytes())
        categories = content["categories"]
        listed = [
            f"  {label}\n" + "\n".join(f"    {name}: {means}" for name, means in named.items())
            for label, named in _labelled(categories)
        ]
        system = "\n".join([content["system"], "Categories", *listed])
        return Rubric(
            system, {name: label for label, all_ in _labelled(categories) for name in all_}
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise JudgeError(
            f"the rubric {path.name!r} cannot be read: {error!r}; reinstall skilljuror",
            file=str(path),
        ) from error


def _labelled(categories: dict[Any, dict[str, str]]) -> list[tuple[str, dict[str, str]]]:
    """Label -> category -> meaning; YAML reads a bare yes and no as true and false."""
    words = {True: "yes", False: "no"}
    return [(words.get(label, label), named) for label, named in categories.items()]


def questions_of(
    run: RunExcerpt, budget: int = QUESTION_TOKENS, overlap: int = OVERLAP_TOKENS
) -> Iterator[Question]:
    """The questions about the events of a run, in order; none for an event that nothing follows."""
    costs = {(step.agent, step.index): estimate(str(_told_step(step))) for step in run.steps}
    waiting = list(run.events)
    while waiting:
        batch = _batch(waiting, budget // 2)
        asked: set[str] = set()
        for question in _questions_about(batch, run, costs, budget, overlap):
            asked.update(event.event for event in question.events)
            yield question
        late = [
            event
            for event in batch[1:]
            if event.event not in asked and any(_follows(step, event) for step in run.steps)
        ]
        waiting = late + waiting[len(batch) :]


def _questions_about(
    events: Sequence[AskedEvent],
    run: RunExcerpt,
    costs: dict[tuple[str, int], int],
    budget: int,
    overlap: int,
) -> Iterator[Question]:
    """Questions about events that fit into one, from the first of them on as far as steps are shown."""
    task = clipped(run.task, TASK)
    first = {event.agent: event.step for event in reversed(events)}
    following = [s for s in run.steps if s.index >= first.get(s.agent, s.index + 1)]
    steps = list(_within(following, costs, FOLLOWING_TOKENS))
    beyond = following[len(steps) :]
    room = budget - estimate(task) - sum(map(_cost, events))
    for window in _windows(steps, costs, max(room, budget // 4), overlap):
        asked = tuple(event for event in events if any(_follows(s, event) for s in window))
        if asked:
            hidden = [step for step in window if not _is_whole(step)] + beyond
            cut = any(_follows(step, event) for step in hidden for event in asked)
            yield Question(_messages(task, window, asked), asked, cut)


def _follows(step: RunStep, event: AskedEvent) -> bool:
    return step.agent == event.agent and step.index > event.reached


def _batch(events: Sequence[AskedEvent], room: int) -> list[AskedEvent]:
    """The first events, as many as fit into one question; one at least."""
    batch: list[AskedEvent] = []
    for event in events:
        room -= _cost(event)
        if batch and room < 0:
            break
        batch.append(event)
    return batch


def _cost(event: AskedEvent) -> int:
    return estimate(str(_told_event(event)))


def _within(
    steps: Sequence[RunStep], costs: dict[tuple[str, int], int], room: int
) -> Iterator[RunStep]:
    for step in steps:
        room -= costs[step.agent, step.index]
        if room < 0:
            return
        yield step


def _windows(
    steps: Sequence[RunStep], costs: dict[tuple[str, int], int], room: int, overlap: int
) -> Iterator[list[RunStep]]:
    """Steps that fit into one question, each time with the last ones of the time before."""
    window: list[RunStep] = []
    held = 0
    for step in steps:
        cost = costs[step.agent, step.index]
        if window and held + cost > room:
            yield window
            window = list(_within(window[:0:-1], costs, min(overlap, room - cost)))[::-1]
            held = sum(costs[one.agent, one.index] for one in window)
        window.append(step)
        held += cost
    if window:
        yield window


def _messages(
    task: str, steps: Sequence[RunStep], events: Sequence[AskedEvent]
) -> tuple[dict[str, str], ...]:
    parts = [
        "The task that the agent was given:",
        as_data("task", task),
        "What the agent did, step by step; of what came back only the beginning is told:",
        as_data("steps", [_told_step(step) for step in steps]),
        "The accesses to judge, each with what it showed:",
        as_data("accesses", [_told_event(event) for event in events]),
        f"Answer with one JSON object that holds a verdict on each access; there are {len(events)}.",
    ]
    return (
        {"role": "system", "content": load_rubric().system},
        {"role": "user", "content": "\n".join(parts)},
    )


def _told_step(step: RunStep) -> dict[str, Any]:
    most = _most(step)
    told: dict[str, Any] = {"agent": step.agent, "step": step.index}
    if step.words:
        told["words"] = clipped(step.words, WORDS)
    if step.calls:
        told["calls"] = [_told_call(call, most) for call in step.calls[:MOST_CALLS]]
    if len(step.calls) > MOST_CALLS:
        told["more"] = f"{len(step.calls) - MOST_CALLS} calls left out"
    return told


def _most(step: RunStep) -> int:
    """Characters of each call of a step that are shown."""
    return min(CALL, STEP // max(len(step.calls), 1))


def _is_whole(step: RunStep) -> bool:
    """Whether all that the agent did in a step is shown."""
    most = _most(step)
    texts = all(len(call.text) <= most for call in step.calls)
    return texts and len(step.words) <= WORDS and len(step.calls) <= MOST_CALLS


def _told_call(call: RunCall, most: int) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "call": clipped(call.text, most),
        "worked": call.ok,
        "output": call.output[:most],
    }


def _told_event(event: AskedEvent) -> dict[str, Any]:
    return {
        "event": name_of(event),
        "agent": event.agent,
        "step": event.step,
        "skill": event.skill,
        "resource": event.resource,
        "access": event.kind,
        "worked": event.ok,
        "call": clipped(event.call, CALL),
        "shown": clipped(event.shown, SHOWN),
    }


def name_of(event: AskedEvent) -> str:
    """What an event is called in a question: the same for the same log under any key."""
    return f"e{event.ordinal}"


def clipped(text: str, most: int) -> str:
    """The text, without its middle where it is longer than `most` characters."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]}\n[{len(text) - most} characters left out]\n{text[-tail:]}"

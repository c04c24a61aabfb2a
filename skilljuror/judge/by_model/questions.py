"""The questions that a run puts to a model: one, or several that overlap where the log is long.

What is the same in all of them comes first, and what differs most comes last, so that a provider may
cache the beginning. Every text of a log stands in a block of data.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import yaml

from skilljuror.errors import JudgeError
from skilljuror.files import data_dir
from skilljuror.judge.by_model.excerpts import AskedEvent, RunCall, RunExcerpt, RunStep
from skilljuror.llm import as_data
from skilljuror.tokens import count

QUESTION_TOKENS = 48_000
"""Tokens of one question as it is sent, in o200k_base: models of 64,000 hold it beside the prompt and an
answer, also where their own vocabulary takes a quarter more."""
OVERLAP_TOKENS = 4_000
"""Of these, steps that the question before has shown already."""
FOLLOWING_TOKENS = 240_000
"""Tokens of the steps after an access that are shown at all, over all questions."""
TASK, SHOWN, CALL, WORDS, STEP = 8_000, 32_000, 24_000, 12_000, 48_000
"""Characters of a task, of what an access showed, of a call, of an agent's words and of a whole step
that are shown: half as many, a quarter and so on, where they take up too much of a question."""
LEAST_SHARE = 128
"""Of these characters, one in so many is shown of any text."""
MOST_CALLS = 100
"""Calls of one step that are shown; agents make some ten."""

T = TypeVar("T")


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
    cut: frozenset[str]
    """Ids of those of which what they showed, or actions that follow them, are told in part or not at
    all: a no cannot be known."""


@lru_cache(maxsize=1)
def load_rubric() -> Rubric:
    """rubrics/eru-model.yaml. Raises JudgeError when it is damaged."""
    path = data_dir("rubrics") / "eru-model.yaml"
    try:
        content = yaml.safe_load(path.read_bytes())
        categories = content["categories"]
        listed = [
            f"  {label}\n" + "\n".join(f"    {name}: {means}" for name, means in named.items())
            for label, named in categories.items()
        ]
        system = "\n".join([content["system"], "Categories", *listed])
        labels = {name: label for label, named in categories.items() for name in named}
        return Rubric(system, labels)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise JudgeError(
            f"the rubric {path.name!r} cannot be read: {error!r}; reinstall skilljuror",
            file=str(path),
        ) from error


@dataclass(frozen=True)
class _Told(Generic[T]):
    """A task, a step or an access, as questions hold it."""

    one: T
    """What is told."""
    value: Any
    """How."""
    share: int
    """One in so many of the characters that may be shown."""
    tokens: int
    """What it takes of a question."""


def questions_of(
    run: RunExcerpt, budget: int = QUESTION_TOKENS, overlap: int = OVERLAP_TOKENS
) -> Iterator[Question]:
    """The questions about the events of a run, in order; none for an event that nothing follows."""
    task = _fitted(run.task, _told_task, budget // 8)
    steps = [_fitted(step, _told_step, budget * 3 // 8) for step in run.steps]
    waiting = [_fitted(event, _told_event, budget // 2) for event in run.events]
    while waiting:
        batch = list(_within(waiting, budget // 2)) or waiting[:1]
        asked: set[str] = set()
        for question in _questions_about(batch, steps, task, budget, overlap):
            asked.update(event.event for event in question.events)
            yield question
        late = [
            event
            for event in batch
            if event.one.event not in asked and any(_follows(step, event) for step in steps)
        ]
        if not asked:
            late = [event for event in late if event is not batch[0]]
        waiting = late + waiting[len(batch) :]


def _fitted(one: T, tell: Callable[[T, int], Any], room: int) -> _Told[T]:
    """As much of something as fits into `room` tokens."""
    share = 1
    while True:
        value = tell(one, share)
        tokens = count(as_data("told", value))
        if tokens <= room or share == LEAST_SHARE:
            return _Told(one, value, share, tokens)
        share *= 2


def _questions_about(
    events: Sequence[_Told[AskedEvent]],
    steps: Sequence[_Told[RunStep]],
    task: _Told[str],
    budget: int,
    overlap: int,
) -> Iterator[Question]:
    """Questions about events that fit into one, from the first of them on as far as steps are shown."""
    first = {event.one.agent: event.one.step for event in reversed(events)}
    following = [s for s in steps if s.one.index >= first.get(s.one.agent, s.one.index + 1)]
    shown = list(_within(following, FOLLOWING_TOKENS))
    beyond = following[len(shown) :]
    room = budget - task.tokens - sum(event.tokens for event in events)
    for window in _windows(shown, room, overlap):
        asked = [event for event in events if any(_follows(step, event) for step in window)]
        if asked:
            hidden = [step for step in window if not _is_whole(step)] + beyond
            cut = frozenset(event.one.event for event in asked if _is_cut(event, hidden))
            messages = _messages(task, window, asked)
            yield Question(messages, tuple(event.one for event in asked), cut)


def _follows(step: _Told[RunStep], event: _Told[AskedEvent]) -> bool:
    return step.one.agent == event.one.agent and step.one.index > event.one.reached


def _is_cut(event: _Told[AskedEvent], hidden: Sequence[_Told[RunStep]]) -> bool:
    in_part = len(event.one.shown) > SHOWN // event.share
    return in_part or any(_follows(step, event) for step in hidden)


def _within(parts: Sequence[_Told[T]], room: int) -> Iterator[_Told[T]]:
    for part in parts:
        room -= part.tokens
        if room < 0:
            return
        yield part


def _windows(
    steps: Sequence[_Told[RunStep]], room: int, overlap: int
) -> Iterator[list[_Told[RunStep]]]:
    """Steps that fit into one question, each time with the last ones of the time before."""
    window: list[_Told[RunStep]] = []
    held = 0
    for step in steps:
        if window and held + step.tokens > room:
            yield window
            window = list(_within(window[:0:-1], min(overlap, room - step.tokens)))[::-1]
            held = sum(one.tokens for one in window)
        window.append(step)
        held += step.tokens
    if window:
        yield window


def _messages(
    task: _Told[str], steps: Sequence[_Told[RunStep]], events: Sequence[_Told[AskedEvent]]
) -> tuple[dict[str, str], ...]:
    parts = [
        "The task that the agent was given:",
        as_data("task", task.value),
        "What the agent did, step by step; of what came back only the beginning is told:",
        as_data("steps", [step.value for step in steps]),
        "The accesses to judge, each with what it showed:",
        as_data("accesses", [event.value for event in events]),
        f"Answer with one JSON object that holds a verdict on each access; there are {len(events)}.",
    ]
    return (
        {"role": "system", "content": load_rubric().system},
        {"role": "user", "content": "\n".join(parts)},
    )


def _told_task(task: str, share: int) -> str:
    return clipped(task, TASK // share)


def _told_step(step: RunStep, share: int) -> dict[str, Any]:
    most = _most(step, share)
    told: dict[str, Any] = {"agent": step.agent, "step": step.index}
    if step.words:
        told["words"] = clipped(step.words, WORDS // share)
    if step.calls:
        told["calls"] = [_told_call(call, most) for call in step.calls[:MOST_CALLS]]
    if len(step.calls) > MOST_CALLS:
        told["more"] = f"{len(step.calls) - MOST_CALLS} calls left out"
    return told


def _most(step: RunStep, share: int) -> int:
    """Characters of each call of a step that are shown."""
    return min(CALL, STEP // min(max(len(step.calls), 1), MOST_CALLS)) // share


def _is_whole(told: _Told[RunStep]) -> bool:
    """Whether all that the agent did in a step is shown."""
    step, most = told.one, _most(told.one, told.share)
    texts = all(len(call.text) <= most for call in step.calls)
    return texts and len(step.words) <= WORDS // told.share and len(step.calls) <= MOST_CALLS


def _told_call(call: RunCall, most: int) -> dict[str, Any]:
    return {
        "tool": clipped(call.tool, most),
        "call": clipped(call.text, most),
        "worked": call.ok,
        "output": call.output[:most],
    }


def _told_event(event: AskedEvent, share: int) -> dict[str, Any]:
    return {
        "event": name_of(event),
        "agent": event.agent,
        "step": event.step,
        "skill": event.skill,
        "resource": event.resource,
        "access": event.kind,
        "worked": event.ok,
        "call": clipped(event.call, CALL // share),
        "shown": clipped(event.shown, SHOWN // share),
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

"""Build the questions about a run for a model: one, or several that overlap for a long log.

Their common parts come first, so that a provider can cache them. Texts of logs are in blocks of data.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from skilljuror.base.llm import as_data
from skilljuror.base.texts import count
from skilljuror.judge.by_model.excerpts import AskedEvent, RunCall, RunExcerpt, RunStep
from skilljuror.judge.definition import load_definition

QUESTION_TOKENS = 48_000
"""Tokens of one question in o200k_base: with the prompt and an answer it fits models of 64,000, even if
their vocabulary needs a quarter more."""
OVERLAP_TOKENS = 4_000
"""Tokens of steps repeated from the previous question, within QUESTION_TOKENS."""
FOLLOWING_TOKENS = 240_000
"""Maximum tokens of the steps after an access, over all questions."""
TASK, SHOWN, CALL, WORDS, STEP = 8_000, 32_000, 24_000, 12_000, 48_000
"""Maximum characters of a task, of an access's shown text, of a call, of an agent's words and of a whole
step; halved, repeatedly, if they exceed their part of a question."""
EARLIER = 600
"""Maximum characters of the shown text of an access that is not to be judged; halved alike."""
LEAST_SHARE = 128
"""Smallest share of these characters: one in this many."""
MOST_CALLS = 100
"""Maximum calls of one step; agents make about ten."""

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One question to a model."""

    task: str
    """The task, cut."""
    steps: tuple[Any, ...]
    """JSON values of the steps."""
    accesses: tuple[Any, ...]
    """JSON values of the accesses to judge, in order."""
    earlier: tuple[Any, ...]
    """JSON values of earlier accesses of the same agents."""
    events: tuple[AskedEvent, ...]
    """The events that it asks about, in order."""
    cut: frozenset[str]
    """Ids of events whose shown text or later actions are incomplete in the question: a no is unknown."""
    padding: str = ""
    """Meaningless text, for a probe."""

    @cached_property
    def messages(self) -> tuple[dict[str, str], ...]:
        """The messages to the model."""
        parts = [
            "The task that the agent was given:",
            as_data("task", self.task),
            "What the agent did, step by step; of what came back only the beginning is told:",
            as_data("steps", self.steps),
        ]
        if self.earlier:
            parts += [
                "What the agent had accessed before, shortened and not to be judged:",
                as_data("earlier", self.earlier),
            ]
        parts += [
            "The accesses to judge, each with what it showed:",
            as_data("accesses", self.accesses),
        ]
        if self.padding:
            parts += [
                "Lines that belong to nothing, to be passed over:", as_data("padding", self.padding)
            ]  # fmt: skip
        parts.append(
            f"Answer with one JSON object that holds a verdict on each access; there are {len(self.events)}."
        )
        return (
            {"role": "system", "content": load_definition().prompt},
            {"role": "user", "content": "\n".join(parts)},
        )

    def without(self, decided: Collection[str]) -> "Question | None":
        """Return the question without decided events, which become earlier accesses; None if no event
        is left."""
        left = [event for event in self.events if event.event not in decided]
        if len(left) == len(self.events):
            return self
        names = {name_of(event) for event in left}
        moved = [_earlier_value(one, 1) for one in self.events if one.event in decided]
        if not left:
            return None
        return replace(
            self,
            accesses=tuple(value for value in self.accesses if value["event"] in names),
            earlier=(*self.earlier, *moved),
            events=tuple(left),
            cut=self.cut & {event.event for event in left},
        )


@dataclass(frozen=True)
class _Part(Generic[T]):
    """A task, a step or an access as part of a question."""

    one: T
    """The record."""
    value: Any
    """Its JSON value."""
    share: int
    """Divisor of its maximum characters."""
    tokens: int
    """Tokens of the value."""


def questions_of(
    run: RunExcerpt, budget: int = QUESTION_TOKENS, overlap: int = OVERLAP_TOKENS
) -> Iterator[Question]:
    """Yield the questions about the events of a run, in order; none for an event without later steps."""
    task = _fitted(run.task, _task_value, budget // 8)
    steps = [_fitted(step, _step_value, budget * 3 // 8) for step in run.steps]
    for_earlier = budget // 8 if len(run.events) + len(run.others) > 1 else 0
    for_events = budget // 2 - for_earlier
    waiting = [_fitted(event, _event_value, for_events) for event in run.events]
    while waiting:
        batch = list(_within(waiting, for_events)) or waiting[:1]
        earlier = _earlier(run, [event.one for event in batch], for_earlier)
        asked: set[str] = set()
        for question in _questions_about(batch, steps, task, earlier, budget, overlap):
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


def _fitted(one: T, tell: Callable[[T, int], Any], room: int) -> _Part[T]:
    """A record, cut to `room` tokens."""
    share = 1
    while (told := _part(one, tell, share)).tokens > room and share < LEAST_SHARE:
        share *= 2
    return told


def _part(one: T, tell: Callable[[T, int], Any], share: int) -> _Part[T]:
    value = tell(one, share)
    return _Part(one, value, share, count(as_data("told", value)))


def _questions_about(
    events: Sequence[_Part[AskedEvent]],
    steps: Sequence[_Part[RunStep]],
    task: _Part[str],
    earlier: Sequence[_Part[AskedEvent]],
    budget: int,
    overlap: int,
) -> Iterator[Question]:
    """Questions about events that fit into one, over the steps from the first of them on."""
    first = {event.one.agent: event.one.step for event in reversed(events)}
    following = [s for s in steps if s.one.index >= first.get(s.one.agent, s.one.index + 1)]
    shown = list(_within(following, FOLLOWING_TOKENS))
    beyond = following[len(shown) :]
    room = budget - task.tokens - sum(told.tokens for told in (*events, *earlier))
    for window in _windows(shown, room, overlap):
        asked = [event for event in events if any(_follows(step, event) for step in window)]
        if asked:
            hidden = [step for step in window if not _is_whole(step)] + beyond
            cut = frozenset(event.one.event for event in asked if _is_cut(event, hidden))
            yield Question(
                task.value, tuple(step.value for step in window), tuple(event.value for event in asked),
                tuple(one.value for one in earlier), tuple(event.one for event in asked), cut,
            )  # fmt: skip


def _earlier(run: RunExcerpt, asked: Sequence[AskedEvent], room: int) -> list[_Part[AskedEvent]]:
    """All earlier accesses of the same agents, cut until they fit; the last ones if they never do."""
    last = {event.agent: event.ordinal for event in asked}
    ids = {event.event for event in asked}
    before = [
        event
        for event in sorted((*run.others, *run.events), key=lambda event: event.ordinal)
        if event.event not in ids and event.ordinal < last.get(event.agent, 0)
    ]
    share = 1
    while True:
        told = [_part(event, _earlier_value, share) for event in before]
        if sum(one.tokens for one in told) <= room or share == LEAST_SHARE:
            return list(_within(told[::-1], room))[::-1]
        share *= 2


def _follows(step: _Part[RunStep], event: _Part[AskedEvent]) -> bool:
    return step.one.agent == event.one.agent and step.one.index > event.one.reached


def _is_cut(event: _Part[AskedEvent], hidden: Sequence[_Part[RunStep]]) -> bool:
    in_part = len(event.one.shown) > SHOWN // event.share
    return in_part or any(_follows(step, event) for step in hidden)


def _within(parts: Sequence[_Part[T]], room: int) -> Iterator[_Part[T]]:
    for part in parts:
        room -= part.tokens
        if room < 0:
            return
        yield part


def _windows(
    steps: Sequence[_Part[RunStep]], room: int, overlap: int
) -> Iterator[list[_Part[RunStep]]]:
    """Windows of steps that fit into one question, each with the last steps of the previous one."""
    window: list[_Part[RunStep]] = []
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


def _task_value(task: str, share: int) -> str:
    return clipped(task, TASK // share)


def _step_value(step: RunStep, share: int) -> dict[str, Any]:
    most = _most(step, share)
    told: dict[str, Any] = {"agent": step.agent, "step": step.index}
    if step.words:
        told["words"] = clipped(step.words, WORDS // share)
    if step.calls:
        told["calls"] = [_call_value(call, most) for call in step.calls[:MOST_CALLS]]
    if len(step.calls) > MOST_CALLS:
        told["more"] = f"{len(step.calls) - MOST_CALLS} calls left out"
    return told


def _most(step: RunStep, share: int) -> int:
    """Maximum characters of each call of a step."""
    return min(CALL, STEP // min(max(len(step.calls), 1), MOST_CALLS)) // share


def _is_whole(told: _Part[RunStep]) -> bool:
    """Whether a step is complete in the question."""
    step, most = told.one, _most(told.one, told.share)
    texts = all(len(call.text) <= most for call in step.calls)
    return texts and len(step.words) <= WORDS // told.share and len(step.calls) <= MOST_CALLS


def _call_value(call: RunCall, most: int) -> dict[str, Any]:
    return {
        "tool": clipped(call.tool, most),
        "call": clipped(call.text, most),
        "worked": call.ok,
        "output": call.output[:most],
    }


def _event_value(event: AskedEvent, share: int) -> dict[str, Any]:
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


def _earlier_value(event: AskedEvent, share: int) -> dict[str, Any]:
    told = _event_value(event, share)
    most = EARLIER // share
    return told | {"call": clipped(event.call, most // 4), "shown": clipped(event.shown, most)}


def name_of(event: AskedEvent) -> str:
    """Return the name of an event in a question: the same for the same log under any key."""
    return f"e{event.ordinal}"


def clipped(text: str, most: int) -> str:
    """Return the text, without its middle if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]}\n[{len(text) - most} characters left out]\n{text[-tail:]}"

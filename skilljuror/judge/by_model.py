"""Ask a model about the events of a run: what it is shown, the questions, and the check of its answers.

A log that is too long becomes several questions that overlap. Their common parts come first, so that a provider can
cache them. Texts of logs are in blocks of data. A yes counts only with quotes that are in the log.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, ValidationError

from skilljuror.base.errors import QuestionRefused
from skilljuror.base.files import digest_json
from skilljuror.base.llm import Message, ModelAnswer, ModelClient, as_data, prompt
from skilljuror.base.results import JudgeCalls, UptakeCategory, UptakeLabel, Verdict
from skilljuror.base.texts import count
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Step, Trajectory
from skilljuror.judge.shown import RUN_KINDS, ContextText, ShownText, call_text, timeline
from skilljuror.judge.signals import damaged, eru_content

OUTPUT = 300
"""Characters of the result of a later call: enough to see how it went."""
QUESTION_TOKENS = 48_000
"""Tokens of one question in o200k_base: with the prompt and an answer it fits models of 64,000, even if
their vocabulary needs a quarter more."""
OVERLAP_TOKENS = 4_000
"""Tokens of steps repeated from the previous question, within QUESTION_TOKENS."""
TASK, SHOWN, CALL, WORDS, STEP, EARLIER = 8_000, 32_000, 24_000, 12_000, 48_000, 600
"""Maximum characters of a task, of an access's shown text, of a call, of an agent's words, of all calls of a step, and
of the shown text of an access that is not to be judged."""
LEFT_OUT = "characters left out"
"""Marks a text without its middle."""
SHORTEST_QUOTE = 8
"""Minimum characters of a quote that is not a whole line: shorter ones are in too many places."""
LONGEST_QUOTE = 400
"""Maximum characters of a stored quote."""
_FILE = re.compile(r"[\w-]+\.[A-Za-z]\w{0,9}\b")

T = TypeVar("T")
N = TypeVar("N", int, float)


class Definition(Struct, frozen=True):
    """The definition of uptake for the tracing judge, models and people, and the prompt for a model."""

    question: str
    """The question about every access."""
    rules: tuple[str, ...]
    """Rules for the answer, one or a few sentences each."""
    prompt: str
    """System prompt for a model: the question, the rules and the form of an answer."""
    categories: frozenset[UptakeCategory]
    """The categories that a model may use."""


@lru_cache(maxsize=1)
def load_definition() -> Definition:
    """Return the packaged definition (rubrics/eru.yaml). Raises JudgeError if it is invalid."""
    content = eru_content()
    try:
        question, model = str(content["question"]).strip(), content["model"]
        rules = tuple(str(rule["text"]).strip() for rule in content["definition"])
        unknown = {UptakeCategory(name) for name in model["unknown"]}
        categories = [c for c in UptakeCategory if c.label != "unknown" or c in unknown]
        lines = [model["role"], f"    {question}", "", model["data"], "How to decide"]
        lines += [f"- {' '.join(text.split())}" for text in (*rules, *model["notes"])]
        lines += ["", "What to answer", model["answer"], "Categories"]
        for label in ("yes", "no", "unknown"):
            lines.append(f"  {label}")
            lines += [f"    {c}: {c.legend}" for c in categories if c.label == label]
        return Definition(question, rules, "\n".join(lines), frozenset(categories))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(error) from error


# What a model is shown of a run.


class AskedEvent(Struct, frozen=True):
    """One event to judge, with the text that it showed."""

    event: str
    """Id of the event."""
    ordinal: int
    """Number of the event in its trajectory: its name in the question."""
    agent: str
    """Agent of the access."""
    step: int
    """Step of the access."""
    reached: int
    """Step after which the agent knew its content: only later steps can use it."""
    skill: str
    """Skill."""
    resource: str
    """Resource inside the skill."""
    kind: str
    """read, exec, list, …"""
    ok: bool | None
    """Whether the access succeeded; None if unknown."""
    call: str
    """The call or command of the access; "" if the harness injected it."""
    shown: str
    """The shown text of the resource, or its helper's output."""

    @property
    def name(self) -> str:
        """Its name in a question: the same for the same log under any key."""
        return f"e{self.ordinal}"


class RunCall(Struct, frozen=True):
    """One call of a step."""

    tool: str
    """The tool as the log names it."""
    text: str
    """All text that the agent wrote into it."""
    line: int
    """Place of the call."""
    ok: bool | None
    """Whether it succeeded; None if unknown."""
    output: str
    """The first OUTPUT characters of its result."""


class RunStep(Struct, frozen=True):
    """One step of an agent."""

    agent: str
    """Its agent."""
    index: int
    """Its number."""
    line: int
    """Place of the step."""
    words: str
    """The agent's text and reasoning."""
    calls: tuple[RunCall, ...]
    """Its calls without polls, which write nothing."""


class RunExcerpt(Struct, frozen=True):
    """Some events of a run, and the later steps of their agents."""

    task: str
    """Prompts of these agents' users."""
    steps: tuple[RunStep, ...]
    """Steps of the agents of the events, from the first access on."""
    events: tuple[AskedEvent, ...]
    """The events, in order."""
    others: tuple[AskedEvent, ...] = ()
    """All other accesses of these agents, in order."""


def excerpt_of(
    trajectory: Trajectory,
    events: tuple[ResourceEvent, ...],
    manifest: SkillManifest | None,
    asked: Collection[str],
) -> RunExcerpt:
    """Return the excerpt for the events with the ids `asked`."""
    agents = dict.fromkeys(event.agent for event in events if event.event in asked and event.counts)
    texts = ShownText(trajectory, events, manifest)
    every: list[AskedEvent] = []
    for agent in agents:
        own = {i: event for i, event in enumerate(events) if event.agent == agent and event.counts}
        every += _asked_events(trajectory, agent, own, texts)
    every.sort(key=lambda event: event.ordinal)
    chosen = [event for event in every if event.event in asked]
    first = {agent: min(event.step for event in chosen if event.agent == agent) for agent in agents}
    return RunExcerpt(
        task="\n\n".join(
            message.text
            for message in trajectory.messages
            if message.kind == "prompt" and message.agent in {"main", *agents}
        ),
        steps=tuple(
            run_step(step)
            for step in trajectory.steps
            if step.agent in first and step.index >= first[step.agent]
        ),
        events=tuple(chosen),
        others=tuple(event for event in every if event.event not in asked),
    )


def _asked_events(
    trajectory: Trajectory, agent: str, own: dict[int, ResourceEvent], texts: ShownText
) -> list[AskedEvent]:
    """Events of one agent with the lines that each showed."""
    lines: dict[int, list[str]] = {i: [] for i in own}
    reached: dict[int, int] = {}
    calls: dict[int, str] = {}
    for entry in timeline(trajectory, agent):
        if not isinstance(entry, ContextText) or entry.position not in texts.events_at:
            continue
        for i in own.keys() & set(texts.events_at[entry.position]):
            reached.setdefault(i, entry.step)
            calls.setdefault(i, "\n".join(texts.command_lines(entry.position)))
        for portion in texts.portions(entry.position, entry.text):
            for i in own.keys() & set(portion.events):
                lines[i] += portion.lines
    return [
        AskedEvent(
            event.event, event.ordinal, agent, event.step, reached.get(i, event.step), event.skill,
            event.resource, event.kind, event.ok, calls.get(i, ""), "\n".join(lines[i]),
        )
        for i, event in own.items()
    ]  # fmt: skip


def run_step(step: Step) -> RunStep:
    """Return a step with its text and calls."""
    words = "\n".join(part for part in (step.text, step.reasoning) if part)
    calls = []
    for call in step.calls:
        if call.action != "poll":
            ok, output = (call.result.ok, call.result.text) if call.result else (None, "")
            calls.append(RunCall(call.name, call_text(call), call.line, ok, output[:OUTPUT]))
    return RunStep(step.agent, step.index, step.line, words, tuple(calls))


# The questions.


class Question(Struct, frozen=True):
    """One question to a model; the parts are JSON values."""

    task: str
    """The task, cut."""
    steps: tuple[Any, ...]
    """Steps of the agents."""
    accesses: tuple[Any, ...]
    """The accesses to judge, in order."""
    earlier: tuple[Any, ...]
    """Earlier accesses of the same agents."""
    events: tuple[AskedEvent, ...]
    """The events that it asks about, in order."""
    cut: frozenset[str]
    """Ids of events whose shown text or later actions are incomplete in the question: a no is unknown."""

    @property
    def messages(self) -> list[Message]:
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
            f"Answer with one JSON object that holds a verdict on each access; there are {len(self.events)}.",
        ]
        return [
            {"role": "system", "content": load_definition().prompt},
            {"role": "user", "content": "\n".join(parts)},
        ]

    def without(self, decided: Collection[str]) -> "Question":
        """Return the question without decided events, which become earlier accesses."""
        left = tuple(event for event in self.events if event.event not in decided)
        names = {event.name for event in left}
        moved = [_event_value(event, EARLIER) for event in self.events if event not in left]
        return replace(
            self, events=left, earlier=(*self.earlier, *moved),
            accesses=tuple(value for value in self.accesses if value["event"] in names),
        )  # fmt: skip


def questions_of(
    run: RunExcerpt, budget: int = QUESTION_TOKENS, overlap: int = OVERLAP_TOKENS
) -> Iterator[Question]:
    """Yield the questions about the events of a run, in order; none for an event without later steps.

    Half of the budget is for the accesses to judge and the earlier ones, the rest for the task and the steps.
    """
    task = clipped(run.task, TASK)
    steps = [_part(step, _step_value(step)) for step in run.steps]
    waiting = [_part(event, _event_value(event)) for event in run.events]
    while waiting:
        batch = list(_within(waiting, budget * 3 // 8)) or waiting[:1]
        waiting = waiting[len(batch) :]
        events = [part.record for part in batch]
        first = {event.agent: event.step for event in reversed(events)}
        last = {event.agent: event.ordinal for event in events}
        before = [
            _part(event, _event_value(event, EARLIER))
            for event in sorted((*run.others, *run.events), key=lambda event: -event.ordinal)
            if event not in events and event.ordinal < last.get(event.agent, 0)
        ]
        earlier = [*_within(before, budget // 8)][::-1]
        room = budget - count(as_data("told", task))
        room -= sum(part.tokens for part in (*batch, *earlier))
        following = [step for step in steps if step.record.index >= first.get(step.record.agent, math.inf)]  # fmt: skip
        for window in _windows(following, room, overlap):
            asked = [
                event for event in batch if any(_follows(step.record, event.record) for step in window)
            ]  # fmt: skip
            cut = frozenset(
                event.record.event
                for event in asked
                if not event.whole
                or any(not step.whole and _follows(step.record, event.record) for step in window)
            )
            if asked:
                yield Question(
                    task, tuple(step.value for step in window), tuple(event.value for event in asked),
                    tuple(part.value for part in earlier), tuple(event.record for event in asked), cut,
                )  # fmt: skip


class _Part(Struct, Generic[T], frozen=True):
    """A step or an access as part of a question."""

    record: T
    value: dict[str, Any]
    """Its JSON value."""
    whole: bool
    """Whether nothing of it is left out."""
    tokens: int
    """Tokens of the value."""


def _part(record: T, value: dict[str, Any]) -> _Part[T]:
    told = as_data("told", value)
    return _Part(record, value, LEFT_OUT not in told, count(told))


def _follows(step: RunStep, event: AskedEvent) -> bool:
    return step.agent == event.agent and step.index > event.reached


def _within(parts: Iterable[_Part[T]], room: int) -> Iterator[_Part[T]]:
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
            held = sum(part.tokens for part in window)
        window.append(step)
        held += step.tokens
    if window:
        yield window


def _step_value(step: RunStep) -> dict[str, Any]:
    most = min(CALL, STEP // max(len(step.calls), 1))
    value: dict[str, Any] = {"agent": step.agent, "step": step.index}
    if step.words:
        value["words"] = clipped(step.words, WORDS)
    if step.calls:
        value["calls"] = [
            {"tool": call.tool, "call": clipped(call.text, most), "worked": call.ok, "output": call.output}
            for call in step.calls
        ]  # fmt: skip
    return value


def _event_value(event: AskedEvent, most: int = SHOWN) -> dict[str, Any]:
    """An access, with at most so many characters of what it showed."""
    return {
        "event": event.name,
        "agent": event.agent,
        "step": event.step,
        "skill": event.skill,
        "resource": event.resource,
        "access": event.kind,
        "worked": event.ok,
        "call": clipped(event.call, min(CALL, most)),
        "shown": clipped(event.shown, most),
    }


def clipped(text: str, most: int) -> str:
    """Return the text, without its middle if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]}\n[{len(text) - most} {LEFT_OUT}]\n{text[-tail:]}"


# The answers.


class Answer(BaseModel):
    """A model's object about one event."""

    model_config = ConfigDict(extra="ignore")
    event: str
    label: Literal["yes", "no", "unknown"]
    category: str
    evidence: str = ""
    source: str | None = None
    quote: str | None = None
    step: int | None = None


class Answers(BaseModel):
    """A whole answer; its objects are validated one by one, so that an invalid one spoils no other."""

    verdicts: list[Any]


class Outcome(Struct, frozen=True):
    """The checked answer about one event."""

    label: UptakeLabel
    """yes, no or unknown."""
    category: UptakeCategory
    """Why."""
    evidence: str = ""
    """The model's sentence, or why its answer is unusable."""
    source: str | None = None
    """For a yes: quote of the shown text."""
    quote: str | None = None
    """For a yes: quote of the action."""
    step: int | None = None
    """For a yes: step of the action."""
    line: int | None = None
    """For a yes: place of the action."""
    prompt_sha256: str | None = None
    """Digest of the question."""


class ModelJudgement(Struct, frozen=True):
    """A model's answers about some events of one run."""

    outcomes: dict[str, Outcome]
    """Event id -> outcome of the answers about it."""
    answers: tuple[ModelAnswer, ...]
    """All answers, unusable ones included."""
    refused: str = ""
    """Why the server rejected a question; "" if it accepted all."""


def read_answers(
    given: Answers, events: Sequence[AskedEvent]
) -> tuple[dict[str, Answer], str | None]:
    """Return (event id -> valid answer, the first problem or None)."""
    ids = {event.name: event.event for event in events}
    labels = {c.value: c.label for c in UptakeCategory if c in load_definition().categories}
    read: dict[str, Answer] = {}
    wrong: list[str] = []
    for number, value in enumerate(given.verdicts):
        try:
            answer = Answer.model_validate(value)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, ("verdicts", number, *problem["loc"])))
            wrong.append(f"{where}: {problem['msg']}")
            continue
        if answer.event not in ids:
            wrong.append(f"verdicts.{number}: there is no access {answer.event!r}")
        elif ids[answer.event] in read:
            wrong.append(f"verdicts.{number}: a second verdict on {answer.event!r}")
        elif labels.get(answer.category) != answer.label:
            fitting = ", ".join(name for name, label in labels.items() if label == answer.label)
            wrong.append(
                f"verdicts.{number}: the category of a {answer.label} is one of {fitting},"
                f" not {answer.category!r}"
            )
        else:
            read[ids[answer.event]] = answer
    missing = [name for name, event in ids.items() if event not in read]
    if missing and not wrong:
        wrong.append(f"no verdict on {', '.join(missing[:5])}")
    return read, wrong[0] if wrong else None


def outcome_of(answer: Answer, event: AskedEvent, run: RunExcerpt) -> Outcome:
    """Look up the quotes of an answer; without them a yes becomes unknown.

    The source is a quote of the shown text; of a helper, or if nothing was shown, also of the call.
    """
    category = UptakeCategory(answer.category)
    evidence = _one_line(answer.evidence)[:LONGEST_QUOTE]
    if answer.label != "yes":
        return Outcome(answer.label, category, evidence)
    texts = [event.shown]
    if event.kind in RUN_KINDS or not event.shown.strip():
        texts.append(event.call)
    forms = _forms(answer.source)
    source = next((quote for text in texts for quote in forms if _is_in(quote, text)), None)
    action = _action(answer, event, run)
    if source is None or action is None:
        which = "of the action" if action is None else "of the resource"
        sought = answer.quote if action is None else answer.source
        said = _one_line(f"quote {which} not found: {sought}")[:LONGEST_QUOTE]
        return Outcome("unknown", UptakeCategory.UNVERIFIED_QUOTE, said)
    quote, step, line = action
    source, quote = source[:LONGEST_QUOTE], quote[:LONGEST_QUOTE]
    return Outcome("yes", category, evidence, source, quote, step.index, line)


def merged(parts: Sequence[Outcome], cut: bool) -> Outcome:
    """Merge the outcomes of several questions about one event: yes if any is yes, no if all are no
    and nothing was cut, else the first reason for unknown, unusable answers first."""
    first = (UptakeCategory.UNPARSED, UptakeCategory.UNVERIFIED_QUOTE)

    def rank(part: Outcome) -> int:
        if part.category in first:
            return 1 + first.index(part.category)
        return {"yes": 0, "unknown": 3, "no": 4}[part.label]

    best = min(parts, key=rank)
    if best.label == "no" and cut:
        return replace(
            best, label="unknown", category=UptakeCategory.INSUFFICIENT_CONTEXT,
            evidence="the question did not include all shown text and later actions",
        )  # fmt: skip
    return best


def _action(answer: Answer, event: AskedEvent, run: RunExcerpt) -> tuple[str, RunStep, int] | None:
    """(quote, step, place) of the later action with the quote, the named step first; for a successful
    helper also its own call, if the quote names a file that the task requires, other than the helper itself."""
    own = [step for step in run.steps if step.agent == event.agent]
    later = [step for step in own if step.index > event.reached]
    later.sort(key=lambda step: step.index != answer.step)
    forms = _forms(answer.quote)
    texts = [
        (step, line, text)
        for step in later
        for line, text in (
            *((call.line, call.text) for call in step.calls),
            (step.line, step.words),
        )
    ]
    if not _first_with(forms, texts) and event.kind in RUN_KINDS and event.ok is True:
        required = set(_FILE.findall(run.task)) - {event.resource.rpartition("/")[2]}
        forms = [form for form in forms if not required.isdisjoint(_FILE.findall(form))]
        calls = [
            (s, call.line, call.text) for s in own if s.index == event.step for call in s.calls
        ]
        texts = [place for place in calls if event.call.strip() and event.call in place[2]]
    return _first_with(forms, texts)


def _first_with(
    forms: Sequence[str], texts: Sequence[tuple[RunStep, int, str]]
) -> tuple[str, RunStep, int] | None:
    quotes = ((quote, *place) for place in texts for quote in forms)
    return next((found[:3] for found in quotes if _is_in(found[0], found[3])), None)


def _forms(given: str | None) -> list[str]:
    """A quote with single blanks, also decoded from JSON, the form in which texts are shown."""
    spelled = given or ""
    try:
        text = json.loads(f'"{spelled}"')
    except ValueError:
        text = spelled
    return [form for form in dict.fromkeys((_one_line(spelled), _one_line(text))) if form]


def _is_in(quote: str, text: str) -> bool:
    if len(quote) < SHORTEST_QUOTE:
        return any(quote == _one_line(line) for line in text.splitlines())
    return quote in _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def ask_about(
    client: ModelClient, run: RunExcerpt, questions: Sequence[Question]
) -> ModelJudgement:
    """Ask a model the questions about a run. Later parts of a long run skip events that an earlier part proved.

    Events of unusable answers and of rejected questions become `unparsed`. Raises ModelError if the
    model is unavailable or the budget is spent.
    """
    parts: dict[str, list[Outcome]] = defaultdict(list)
    answers: list[ModelAnswer] = []
    cut: set[str] = set()
    taken_up: set[str] = set()
    refused = ""
    for whole in questions:
        question = whole.without(taken_up)
        if not question.events:
            continue
        said = _ask(client, question, run)
        answers += said.answers
        refused = refused or said.refused
        for event, outcome in said.outcomes.items():
            parts[event].append(outcome)
            if outcome.label == "yes":
                taken_up.add(event)
        cut.update(question.cut)
    outcomes = {event: merged(each, event in cut) for event, each in parts.items()}
    return ModelJudgement(outcomes, tuple(answers), refused)


def _ask(client: ModelClient, question: Question, run: RunExcerpt) -> ModelJudgement:
    """The outcome of each event: of several attempts, the last with an answer about it."""
    read: dict[str, Outcome] = {}
    answers: list[ModelAnswer] = []
    problem = refused = ""
    by_id, messages = {event.event: event for event in question.events}, question.messages

    def check(value: Answers) -> str | None:
        valid, wrong = read_answers(value, question.events)
        read.update((name, outcome_of(answer, by_id[name], run)) for name, answer in valid.items())
        return wrong

    try:
        for attempt in client.attempts(Answers, messages, check):
            answers.append(attempt.answer)
            problem = attempt.problem
    except QuestionRefused as error:
        problem = refused = error.message
    sha256 = digest_json(prompt(messages))
    unusable = Outcome("unknown", UptakeCategory.UNPARSED, problem)
    outcomes = {name: replace(read.get(name, unusable), prompt_sha256=sha256) for name in by_id}
    return ModelJudgement(outcomes, tuple(answers), refused)


def verdict_of(event: str, trial: str, judge: str, model: str, outcome: Outcome) -> Verdict:
    """Return an outcome as a row."""
    return Verdict(
        event=event,
        trial=trial,
        judge=judge,
        label=outcome.label,
        category=outcome.category,
        source_quote=outcome.source,
        action_quote=outcome.quote,
        action_step=outcome.step,
        action_line=outcome.line,
        model=model,
        prompt_sha256=outcome.prompt_sha256,
        note=outcome.evidence,
    )


def calls_of(trial: str, judge: str, model: str, said: ModelJudgement) -> JudgeCalls:
    """Return calls, tokens and cost of the answers as a row."""
    return JudgeCalls(
        trial=trial,
        judge=judge,
        model=model,
        asked=len(said.outcomes),
        calls=len(said.answers),
        input_tokens=_total(answer.prompt_tokens for answer in said.answers),
        output_tokens=_total(answer.output_tokens for answer in said.answers),
        cost_usd=_total(answer.cost_usd for answer in said.answers),
    )


def _total(values: Iterable[N | None]) -> N | None:
    """The sum; None if a value is unknown."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)

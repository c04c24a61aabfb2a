"""What a model answered about events: read strictly, and its quotes looked up in the log."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from skilljuror.judge.by_model.excerpts import AskedEvent, RunExcerpt, RunStep
from skilljuror.judge.by_model.questions import load_rubric, name_of
from skilljuror.models.measure import UptakeCategory, UptakeLabel

SHORTEST_QUOTE = 8
"""Characters that a quote needs, unless it is a whole line: shorter ones stand everywhere."""
LONGEST_QUOTE = 400
"""Characters of a quote that are kept."""


class Answer(BaseModel):
    """The object that a model gives for one event."""

    model_config = ConfigDict(extra="ignore")
    event: str
    label: Literal["yes", "no", "unknown"]
    category: str
    evidence: str = ""
    source: str | None = None
    quote: str | None = None
    step: int | None = None


class Answers(BaseModel):
    """A whole answer; what its objects are is looked at one by one, so that one bad object spoils no other."""

    verdicts: list[Any]


@dataclass(frozen=True)
class Settled:
    """What an answer about one event comes to."""

    label: UptakeLabel
    """yes, no or unknown."""
    category: UptakeCategory
    """Why."""
    evidence: str = ""
    """The model's sentence; where its answer could not be used, why not."""
    source: str | None = None
    """For a yes: words that the access showed."""
    quote: str | None = None
    """For a yes: words of the action."""
    step: int | None = None
    """For a yes: step of the action."""
    line: int | None = None
    """For a yes: raw line of the action."""
    prompt_sha256: str | None = None
    """Digest of the question."""


def read_answers(
    given: Answers, events: Sequence[AskedEvent]
) -> tuple[dict[str, Answer], str | None]:
    """Event id -> what can be read of the answer, and what is wrong with the rest; None when nothing is."""
    ids = {name_of(event): event.event for event in events}
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
        problem_here = _problem(answer, ids, read)
        if problem_here:
            wrong.append(f"verdicts.{number}: {problem_here}")
        else:
            read[ids[answer.event]] = answer
    missing = [name for name, event in ids.items() if event not in read]
    if missing and not wrong:
        wrong.append(f"no verdict on {', '.join(missing[:5])}")
    return read, wrong[0] if wrong else None


def _problem(answer: Answer, ids: dict[str, str], read: dict[str, Answer]) -> str | None:
    if answer.event not in ids:
        return f"there is no access {answer.event!r}"
    if ids[answer.event] in read:
        return f"a second verdict on {answer.event!r}"
    labels = load_rubric().labels
    if labels.get(answer.category) != answer.label:
        fitting = ", ".join(name for name, label in labels.items() if label == answer.label)
        return f"the category of a {answer.label} is one of {fitting}, not {answer.category!r}"
    return None


def settled(answer: Answer, event: AskedEvent, run: RunExcerpt) -> Settled:
    """What an answer comes to once its quotes were looked up."""
    category: Any = answer.category
    if answer.label != "yes":
        return Settled(answer.label, category, _sentence(answer.evidence))
    source = _source(answer.source, event)
    found = _action(answer, event, run)
    if source is None or found is None:
        which = "of the action" if found is None else "of the resource"
        said = _sentence(
            f"quote {which} not found: {answer.quote if found is None else answer.source}"
        )
        return Settled("unknown", "unverified_quote", said)
    quote, step, line = found
    return Settled(
        "yes", category, _sentence(answer.evidence), source[:LONGEST_QUOTE], quote[:LONGEST_QUOTE],
        step.index, line,
    )  # fmt: skip


def merged(parts: Sequence[Settled], cut: bool) -> Settled:
    """What several questions about one event come to together: a yes anywhere, no where all say no and
    nothing was left out, else what first kept it open."""
    for one in parts:
        if one.label == "yes":
            return one
    order = ("unparsed", "unverified_quote")
    unknown = [one for one in parts if one.label == "unknown"]
    for category in order:
        for one in unknown:
            if one.category == category:
                return one
    if unknown:
        return unknown[0]
    if cut:
        return replace(
            parts[0], label="unknown", category="insufficient_context",
            evidence="not all that was shown and done was told",
        )  # fmt: skip
    return parts[0]


def _source(given: str | None, event: AskedEvent) -> str | None:
    """The quote of the resource as it stands in what was shown, or in the call where nothing was."""
    text = event.shown if event.shown.strip() else event.call
    return next((quote for quote in _forms(given) if _stands_in(quote, text)), None)


def _action(answer: Answer, event: AskedEvent, run: RunExcerpt) -> tuple[str, RunStep, int] | None:
    """(quote, step, raw line) of the later action that holds the quote, that of the step named first."""
    later = [s for s in run.steps if s.agent == event.agent and s.index > event.reached]
    later.sort(key=lambda step: step.index != answer.step)
    forms = _forms(answer.quote)
    texts = ((step, line, text) for step in later for line, text in _texts(step))
    for step, line, text in texts:
        for quote in forms:
            if _stands_in(quote, text):
                return quote, step, line
    return None


def _texts(step: RunStep) -> Iterator[tuple[int, str]]:
    for call in step.calls:
        yield call.line, call.text
    yield step.line, step.words


def _forms(given: str | None) -> list[str]:
    """A quote with single blanks, and once more as the text that it spells as JSON: texts are shown so.
    Blanks alone are no quote."""
    spelled = given or ""
    try:
        text = json.loads(f'"{spelled}"')
    except ValueError:
        text = spelled
    return [form for form in dict.fromkeys((_one_line(spelled), _one_line(text))) if form]


def _stands_in(quote: str, text: str) -> bool:
    if len(quote) < SHORTEST_QUOTE:
        return any(quote == _one_line(line) for line in text.splitlines())
    return quote in _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    return _one_line(text)[:LONGEST_QUOTE]

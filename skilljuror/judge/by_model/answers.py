"""Read a model's answers about events strictly, and look up their quotes in the log."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from skilljuror.base.results import UptakeCategory, UptakeLabel
from skilljuror.judge.by_model.excerpts import AskedEvent, RunExcerpt, RunStep
from skilljuror.judge.by_model.questions import name_of
from skilljuror.judge.definition import load_definition
from skilljuror.judge.replay.shown_text import RUN_KINDS

SHORTEST_QUOTE = 8
"""Minimum characters of a quote that is not a whole line: shorter ones are in too many places."""
LONGEST_QUOTE = 400
"""Maximum characters of a stored quote."""
_FILE = re.compile(r"[\w-]+\.[A-Za-z]\w{0,9}\b")


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


@dataclass(frozen=True)
class Outcome:
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


def read_answers(
    given: Answers, events: Sequence[AskedEvent]
) -> tuple[dict[str, Answer], str | None]:
    """Return (event id -> valid answer, the first problem or None)."""
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
    labels = {one.value: one.label for one in UptakeCategory if one in load_definition().categories}
    if labels.get(answer.category) != answer.label:
        fitting = ", ".join(name for name, label in labels.items() if label == answer.label)
        return f"the category of a {answer.label} is one of {fitting}, not {answer.category!r}"
    return None


def outcome_of(answer: Answer, event: AskedEvent, run: RunExcerpt) -> Outcome:
    """Look up the quotes of an answer; without them a yes becomes unknown."""
    category = UptakeCategory(answer.category)
    if answer.label != "yes":
        return Outcome(answer.label, category, _sentence(answer.evidence))
    source = _source(answer.source, event)
    found = _action(answer, event, run)
    if source is None or found is None:
        which = "of the action" if found is None else "of the resource"
        said = _sentence(
            f"quote {which} not found: {answer.quote if found is None else answer.source}"
        )
        return Outcome("unknown", UptakeCategory.UNVERIFIED_QUOTE, said)
    quote, step, line = found
    return Outcome(
        "yes", category, _sentence(answer.evidence), source[:LONGEST_QUOTE], quote[:LONGEST_QUOTE],
        step.index, line,
    )  # fmt: skip


def merged(parts: Sequence[Outcome], cut: bool) -> Outcome:
    """Merge the outcomes of several questions about one event: yes if any is yes, no if all are no
    and nothing was cut, else the first reason for unknown."""
    for one in parts:
        if one.label == "yes":
            return one
    order = (UptakeCategory.UNPARSED, UptakeCategory.UNVERIFIED_QUOTE)
    unknown = [one for one in parts if one.label == "unknown"]
    for category in order:
        for one in unknown:
            if one.category == category:
                return one
    if unknown:
        return unknown[0]
    if cut:
        return replace(
            parts[0], label="unknown", category=UptakeCategory.INSUFFICIENT_CONTEXT,
            evidence="the question did not include all shown text and later actions",
        )  # fmt: skip
    return parts[0]


def _source(given: str | None, event: AskedEvent) -> str | None:
    """The quote as it is in the shown text; of a helper, or if nothing was shown, also in the call."""
    texts = [event.shown]
    if event.kind in RUN_KINDS or not event.shown.strip():
        texts.append(event.call)
    return next((q for text in texts for q in _forms(given) if _is_in(q, text)), None)


def _action(answer: Answer, event: AskedEvent, run: RunExcerpt) -> tuple[str, RunStep, int] | None:
    """(quote, step, place) of the later action with the quote, the named step first; for a successful
    helper also its own call, if the quote names a file that the task requires."""
    own = [s for s in run.steps if s.agent == event.agent]
    later = [step for step in own if step.index > event.reached]
    later.sort(key=lambda step: step.index != answer.step)
    forms = _forms(answer.quote)
    texts = [(step, line, text) for step in later for line, text in _texts(step)]
    found = _first_with(forms, texts)
    if found or event.kind not in RUN_KINDS or event.ok is not True:
        return found
    calls = [(s, call.line, call.text) for s in own if s.index == event.step for call in s.calls]
    ran = [one for one in calls if event.call.strip() and event.call in one[2]]
    return _first_with([form for form in forms if _names_a_file(form, run.task, event)], ran)


def _first_with(
    forms: Sequence[str], texts: Sequence[tuple[RunStep, int, str]]
) -> tuple[str, RunStep, int] | None:
    for step, line, text in texts:
        for quote in forms:
            if _is_in(quote, text):
                return quote, step, line
    return None


def _names_a_file(quote: str, task: str, event: AskedEvent) -> bool:
    """Whether a quote names a file that the task names, other than the helper itself."""
    named = set(_FILE.findall(quote)) - {event.resource.rpartition("/")[2]}
    return not named.isdisjoint(_FILE.findall(task))


def _texts(step: RunStep) -> Iterator[tuple[int, str]]:
    for call in step.calls:
        yield call.line, call.text
    yield step.line, step.words


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


def _sentence(text: str) -> str:
    return _one_line(text)[:LONGEST_QUOTE]

"""Ask a model about a run, check its answers and merge them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from skilljuror.base.errors import QuestionRefused
from skilljuror.base.files import digest_json
from skilljuror.base.llm import ModelAnswer, ModelClient, prompt
from skilljuror.base.results import JudgeCalls, UptakeCategory, Verdict
from skilljuror.judge.by_model.answers import Answers, Outcome, merged, outcome_of, read_answers
from skilljuror.judge.by_model.excerpts import RunExcerpt
from skilljuror.judge.by_model.questions import Question

N = TypeVar("N", int, float)


@dataclass(frozen=True)
class ModelJudgement:
    """A model's answers about some events of one run."""

    outcomes: dict[str, Outcome]
    """Event id -> outcome of the answers about it."""
    answers: tuple[ModelAnswer, ...]
    """All answers, unusable ones included."""
    refused: str = ""
    """Why the server rejected a question; "" if it accepted all."""
    questions: tuple[Question, ...] = ()
    """The questions as asked, without events that earlier parts had proved."""


def ask_about(
    client: ModelClient, run: RunExcerpt, questions: Sequence[Question], repeat: int = 0
) -> ModelJudgement:
    """Ask a model the questions about a run; another `repeat` bypasses answers of the earlier ones.
    Later parts of a long run skip events that an earlier part proved.

    Events of unusable answers and of rejected questions become `unparsed`. Raises ModelError if the
    model is unavailable or the budget is spent.
    """
    parts: dict[str, list[Outcome]] = defaultdict(list)
    given: list[ModelAnswer] = []
    cut: set[str] = set()
    taken_up: set[str] = set()
    asked: list[Question] = []
    refused = ""
    for whole in questions:
        question = whole.without(taken_up)
        if question is None:
            continue
        asked.append(question)
        said = _ask(client, question, run, repeat)
        given += said.answers
        refused = refused or said.refused
        for event, one in said.outcomes.items():
            parts[event].append(one)
            if one.label == "yes":
                taken_up.add(event)
        cut.update(question.cut)
    return ModelJudgement(
        {event: merged(ones, event in cut) for event, ones in parts.items()},
        tuple(given),
        refused,
        tuple(asked),
    )


def _ask(client: ModelClient, question: Question, run: RunExcerpt, repeat: int) -> ModelJudgement:
    """The outcome of each event: of several attempts, the last with an answer about it."""
    read: dict[str, Outcome] = {}
    answers: list[ModelAnswer] = []
    problem = refused = ""

    def check(value: Answers) -> str | None:
        found, wrong = read_answers(value, question.events)
        by_id = {event.event: event for event in question.events}
        read.update((one, outcome_of(answer, by_id[one], run)) for one, answer in found.items())
        return wrong

    try:
        for attempt in client.attempts(Answers, question.messages, check, repeat):
            answers.append(attempt.answer)
            problem = attempt.problem
    except QuestionRefused as error:
        problem = refused = error.message
    sha256 = digest_json(prompt(question.messages))
    said = {
        event.event: replace(
            read.get(event.event) or Outcome("unknown", UptakeCategory.UNPARSED, problem),
            prompt_sha256=sha256,
        )
        for event in question.events
    }
    return ModelJudgement(said, tuple(answers), refused)


def verdict_of(event: str, trial: str, judge: str, model: str, one: Outcome) -> Verdict:
    """Return an outcome as a row."""
    return Verdict(
        event=event,
        trial=trial,
        judge=judge,
        label=one.label,
        category=one.category,
        source_quote=one.source,
        action_quote=one.quote,
        action_step=one.step,
        action_line=one.line,
        model=model,
        prompt_sha256=one.prompt_sha256,
        note=one.evidence,
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

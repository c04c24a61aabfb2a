"""A run put to a model: its questions asked, the answers checked and put together."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from skilljuror.errors import QuestionRefused
from skilljuror.files import digest_json
from skilljuror.judge.by_model.answers import Answers, Settled, merged, read_answers, settled
from skilljuror.judge.by_model.excerpts import RunExcerpt
from skilljuror.judge.by_model.questions import Question
from skilljuror.llm import ModelAnswer, ModelClient
from skilljuror.llm.answers import prompt
from skilljuror.models.measure import JudgeCalls, Verdict

N = TypeVar("N", int, float)


@dataclass(frozen=True)
class ModelJudgement:
    """What a model said of some events of one run."""

    settled: dict[str, Settled]
    """Event id -> what the answers about it come to."""
    answers: tuple[ModelAnswer, ...]
    """Every answer it took, those that could not be used included."""
    refused: str = ""
    """Why the server did not take a question; "" where it took all."""


def ask_about(
    client: ModelClient, run: RunExcerpt, questions: Sequence[Question], repeat: int = 0
) -> ModelJudgement:
    """Ask a model the questions about a run; another `repeat` asks all of them anew.

    An answer that cannot be used, and a question that the server does not take, leave their events
    `unparsed`. Raises ModelError where the model cannot be reached or paid.
    """
    parts: dict[str, list[Settled]] = defaultdict(list)
    given: list[ModelAnswer] = []
    cut: set[str] = set()
    refused = ""
    for question in questions:
        said = _ask(client, question, run, repeat)
        given += said.answers
        refused = refused or said.refused
        for event, one in said.settled.items():
            parts[event].append(one)
        cut.update(question.cut)
    return ModelJudgement(
        {event: merged(ones, event in cut) for event, ones in parts.items()}, tuple(given), refused
    )


def _ask(client: ModelClient, question: Question, run: RunExcerpt, repeat: int) -> ModelJudgement:
    """What the best answer says of each event: of several tries, the last that says anything of it."""
    read: dict[str, Settled] = {}
    answers: list[ModelAnswer] = []
    problem = refused = ""

    def check(value: Answers) -> str | None:
        found, wrong = read_answers(value, question.events)
        by_id = {event.event: event for event in question.events}
        read.update((one, settled(answer, by_id[one], run)) for one, answer in found.items())
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
            read.get(event.event) or Settled("unknown", "unparsed", problem), prompt_sha256=sha256
        )
        for event in question.events
    }
    return ModelJudgement(said, tuple(answers), refused)


def verdict_of(event: str, trial: str, judge: str, model: str, one: Settled) -> Verdict:
    """What a model settled, as a row."""
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
    """What the answers took, as a row."""
    return JudgeCalls(
        trial=trial,
        judge=judge,
        model=model,
        asked=len(said.settled),
        calls=len(said.answers),
        input_tokens=_total(answer.prompt_tokens for answer in said.answers),
        output_tokens=_total(answer.output_tokens for answer in said.answers),
        cost_usd=_total(answer.cost_usd for answer in said.answers),
    )


def _total(values: Iterable[N | None]) -> N | None:
    """The sum; None where one is not known."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)

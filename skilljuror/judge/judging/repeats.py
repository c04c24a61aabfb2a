"""Ask a model more than once: the verdict is the mode of its answers; every answer is stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from skilljuror.base.errors import UsageError
from skilljuror.base.llm import ModelClient
from skilljuror.base.results import RepeatedVerdict, UptakeCategory
from skilljuror.judge.by_model.answers import Outcome
from skilljuror.judge.by_model.asking import ModelJudgement, ask_about
from skilljuror.judge.by_model.excerpts import RunExcerpt
from skilljuror.judge.by_model.probes import PROBES
from skilljuror.judge.by_model.questions import Question
from skilljuror.measures.stats.judge_noise import modal_label

Probe = Literal["repeat", "order", "length"]


@dataclass(frozen=True)
class Asking:
    """The answers to one asking."""

    probe: Probe
    """Variation; "repeat" for the plain question."""
    repeat: int
    """Number of the asking, from 0, per variation."""
    said: ModelJudgement
    """Its answers."""


def check_probes(names: Sequence[str]) -> None:
    """Raise UsageError for an unknown probe."""
    if unknown := sorted(set(names) - set(PROBES)):
        raise UsageError(
            f"unknown probe {unknown[0]!r}; choose one of {', '.join(PROBES)}", field="probe"
        )


def askings_of(
    client: ModelClient,
    run: RunExcerpt,
    questions: Sequence[Question],
    repeat: int = 1,
    probes: Sequence[str] = (),
) -> tuple[Asking, ...]:
    """Ask `repeat` times about a run, and once more per probe that applies. Raises ModelError."""
    made = [
        Asking("repeat", number, ask_about(client, run, questions, number))
        for number in range(repeat)
    ]
    asked = made[0].said.questions
    for name in probes:
        changed = [PROBES[name](question) for question in asked]
        kept = {one.event for question in changed if question for one in question.events}
        if kept:
            # an unchanged question is answered from the log of calls
            both = [new or old for new, old in zip(changed, asked, strict=True)]
            said = ask_about(client, run, both)
            of_changed = {event: one for event, one in said.outcomes.items() if event in kept}
            made.append(Asking(cast(Probe, name), 0, replace(said, outcomes=of_changed)))
    return tuple(made)


def repeated_verdicts(
    trial: str, judge: str, model: str, askings: Sequence[Asking]
) -> Iterator[RepeatedVerdict]:
    """Yield every answer as a row; none if a model was asked only once."""
    for asking in askings if len(askings) > 1 else ():
        for event, one in asking.said.outcomes.items():
            yield RepeatedVerdict(
                event, trial, judge, asking.probe, asking.repeat, one.label, one.category, model,
                one.prompt_sha256,
            )  # fmt: skip


def modal_judgement(askings: Sequence[Asking]) -> ModelJudgement:
    """Return the mode of the usable answers to the plain question, unknown for a tie; the calls of all
    askings count, shared ones once."""
    repeats = [asking.said.outcomes for asking in askings if asking.probe == "repeat"]
    answers = {answer.key: answer for asking in askings for answer in asking.said.answers}
    outcomes = {event: _mode(event, repeats) for event in repeats[0]}
    return ModelJudgement(outcomes, tuple(answers.values()))


def _mode(event: str, repeats: Sequence[Mapping[str, Outcome]]) -> Outcome:
    """The mode of the usable answers."""
    given = [said[event] for said in repeats if event in said]
    usable = [one for one in given if one.category != UptakeCategory.UNPARSED]
    if not usable:
        return given[0]
    label = modal_label([one.label for one in usable])
    for one in usable:
        if one.label == label:
            return one
    labels = ", ".join(one.label if one in usable else one.category for one in given)
    return replace(
        Outcome(
            "unknown",
            UptakeCategory.INSUFFICIENT_CONTEXT,
            f"no majority among its answers: {labels}",
        ),
        prompt_sha256=given[0].prompt_sha256,
    )

"""Asking a judge's model more than once: the verdict is the mode of its answers, and what wavers is kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from skilljuror.errors import UsageError
from skilljuror.judge.by_model.answers import Settled
from skilljuror.judge.by_model.asking import ModelJudgement, ask_about
from skilljuror.judge.by_model.excerpts import RunExcerpt
from skilljuror.judge.by_model.probes import PROBES
from skilljuror.judge.by_model.questions import Question
from skilljuror.llm import ModelClient
from skilljuror.models.measure import RepeatedVerdict
from skilljuror.stats.judge_noise import modal_label

Probe = Literal["repeat", "order", "length"]


@dataclass(frozen=True)
class Asking:
    """What a model said when it was asked once."""

    probe: Probe
    """Way of asking; "repeat" for the plain question."""
    repeat: int
    """Number of the asking, from 0, within its way."""
    said: ModelJudgement
    """Its answers."""


def check_probes(names: Sequence[str]) -> None:
    """Raise UsageError for the name of a probe that there is not."""
    if unknown := sorted(set(names) - set(PROBES)):
        raise UsageError(
            f"unknown probe {unknown[0]!r}; choose of {', '.join(PROBES)}", field="probe"
        )


def askings_of(
    client: ModelClient,
    run: RunExcerpt,
    questions: Sequence[Question],
    repeat: int = 1,
    probes: Sequence[str] = (),
) -> tuple[Asking, ...]:
    """Ask `repeat` times about a run, and once more for each probe that applies to it. Raises ModelError."""
    made = [
        Asking("repeat", number, ask_about(client, run, questions, number))
        for number in range(repeat)
    ]
    for name in probes:
        changed = [PROBES[name](question) for question in questions]
        kept = {one.event for question in changed if question for one in question.events}
        if kept:
            # a question that stays as it was is answered from the log, for its part of the run
            both = [new or old for new, old in zip(changed, questions, strict=True)]
            said = ask_about(client, run, both)
            of_kept = {event: one for event, one in said.settled.items() if event in kept}
            made.append(Asking(cast(Probe, name), 0, replace(said, settled=of_kept)))
    return tuple(made)


def repeated_verdicts(
    trial: str, judge: str, model: str, askings: Sequence[Asking]
) -> Iterator[RepeatedVerdict]:
    """Every answer as a row; none where a model was asked but once."""
    for asking in askings if len(askings) > 1 else ():
        for event, one in asking.said.settled.items():
            yield RepeatedVerdict(
                event, trial, judge, asking.probe, asking.repeat, one.label, one.category, model,
                one.prompt_sha256,
            )  # fmt: skip


def modal_judgement(askings: Sequence[Asking]) -> ModelJudgement:
    """The mode of the answers to the plain question that could be used, unknown where two tie; what all
    askings took counts, an answer that two of them share once."""
    repeats = [asking.said.settled for asking in askings if asking.probe == "repeat"]
    answers = {answer.key: answer for asking in askings for answer in asking.said.answers}
    settled = {event: _mode(event, repeats) for event in repeats[0]}
    return ModelJudgement(settled, tuple(answers.values()))


def _mode(event: str, repeats: Sequence[Mapping[str, Settled]]) -> Settled:
    """What most of the answers say that could be used."""
    given = [said[event] for said in repeats if event in said]
    usable = [one for one in given if one.category != "unparsed"]
    if not usable:
        return given[0]
    label = modal_label([one.label for one in usable])
    for one in usable:
        if one.label == label:
            return one
    told = ", ".join(one.label if one in usable else one.category for one in given)
    return replace(
        Settled("unknown", "insufficient_context", f"no majority among its answers: {told}"),
        prompt_sha256=given[0].prompt_sha256,
    )

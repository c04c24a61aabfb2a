"""Asking a judge's model again: the verdict becomes the mode of its answers, and what wavers is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

from msgspec import structs

from skilljuror.errors import UsageError
from skilljuror.files import StudyFolder
from skilljuror.judge.by_model.answers import Settled
from skilljuror.judge.by_model.asking import ModelJudgement, ask_about
from skilljuror.judge.by_model.probes import PROBES
from skilljuror.llm import ModelClient
from skilljuror.models.measure import RepeatedVerdict
from skilljuror.pipeline.judging import WAIT_SECONDS, batches
from skilljuror.pipeline.judging_by_model import (
    AnsweredRun,
    Asked,
    Cascade,
    CascadeJob,
    CascadeSummary,
    ModelOptions,
    PreparedRun,
    answer_run,
    answered,
    prices_of,
)
from skilljuror.pipeline.workers import Listener, Progress, silent
from skilljuror.queries.run import run
from skilljuror.stats.judge_noise import modal_label
from skilljuror.store import open_write

Probe = Literal["repeat", "order", "length"]


@dataclass(frozen=True)
class RepeatedRun:
    """One run about which a model was asked more than once."""

    first: AnsweredRun
    """What the cascade rested on."""
    askings: tuple[tuple[Probe, int, ModelJudgement], ...]
    """(way of asking, its number, what was said); the first asking is ("repeat", 0, …)."""


def ask_again(
    study: Path,
    options: ModelOptions,
    before: CascadeSummary,
    judge: str = "tracing",
    *,
    jobs: int = 1,
    progress: Listener = silent,
) -> CascadeSummary:
    """Ask the model of a cascade that came to `before` again: so often in all about what it was asked
    about, and once more for each probe.

    Each verdict of the model becomes the mode of its repeats, unknown where two tie; probes change none.
    The first asking is read from the log of calls. Raises ModelError, UsageError for an unknown probe.
    """
    check_probes(options.probes)
    folder = StudyFolder(study)
    client = ModelClient(options.choice, folder.calls, options.budget_usd, prices_of(folder))
    cascade = Cascade(study, judge, client, options.check_yes)
    open_jobs, _ = cascade.jobs(again=True, left_out=set())
    ask = partial(_ask, client, options)
    done = 0
    for batch in batches(answered(open_jobs, ask, options.threads, jobs)):
        _put(cascade, [(job, said) for job, said in batch if said.first.problem is None])
        done += len(batch)
        progress(Progress("judge again", done, len(open_jobs), batch[-1][0].run.name))
    rows = run(cascade.database, "judge_stability").records()
    after = cascade.summary(before.first, list(before.judged.unread))
    return structs.replace(
        after,
        paid_usd=None if after.paid_usd is None else after.paid_usd + (before.paid_usd or 0.0),
        stability=tuple(row for row in rows if row["judge"] == cascade.name),
    )


def check_probes(names: Sequence[str]) -> None:
    """Raise UsageError for the name of a probe that there is not."""
    if unknown := sorted(set(names) - set(PROBES)):
        raise UsageError(
            f"unknown probe {unknown[0]!r}; choose of {', '.join(PROBES)}", field="probe"
        )


def _ask(
    client: ModelClient, options: ModelOptions, item: tuple[CascadeJob, PreparedRun]
) -> RepeatedRun:
    """Ask about one run in all ways; in a thread."""
    first, asked = answer_run(client, item), item[1].asked
    if first.asked is None or asked is None:
        return RepeatedRun(first, ())
    ways: list[tuple[Probe, int, ModelJudgement]] = [("repeat", 0, first.asked)]
    for number in range(1, options.repeat):
        said = ask_about(client, asked.excerpt, asked.questions, number)
        ways.append(("repeat", number, said))
    for name in options.probes:
        if (said_so := _probed(client, asked, name)) is not None:
            ways.append((cast(Probe, name), 0, said_so))
    return RepeatedRun(first, tuple(ways))


def _probed(client: ModelClient, asked: Asked, name: str) -> ModelJudgement | None:
    changed = [PROBES[name](question) for question in asked.questions]
    questions = [question for question in changed if question is not None]
    return ask_about(client, asked.excerpt, questions) if questions else None


def _put(cascade: Cascade, said: Sequence[tuple[CascadeJob, RepeatedRun]]) -> None:
    """The modal verdicts and all that they rest on, in one transaction."""
    names = [job.run.name for job, _ in said]
    rows = [
        RepeatedVerdict(
            event, job.run.name, cascade.name, probe, number, one.label, one.category,
            cascade.model, one.prompt_sha256,
        )
        for job, run_ in said
        for probe, number, judgement in run_.askings
        for event, one in judgement.settled.items()
    ]  # fmt: skip
    with open_write(cascade.database, wait=WAIT_SECONDS) as store, store.transaction():
        cascade.put(store, [(job, _modal(one)) for job, one in said])
        store.put_repeated(cascade.name, names, rows)


def _modal(run_: RepeatedRun) -> AnsweredRun:
    """The run as answered by the mode of the repeats; what all askings took counts."""
    repeats = [said.settled for probe, _, said in run_.askings if probe == "repeat"]
    if not repeats:
        return run_.first
    answers = tuple(answer for _, _, said in run_.askings for answer in said.answers)
    settled = {event: _mode(event, repeats) for event in repeats[0]}
    return replace(run_.first, asked=ModelJudgement(settled, answers))


def _mode(event: str, repeats: Sequence[Mapping[str, Settled]]) -> Settled:
    given = [said[event] for said in repeats if event in said]
    label = modal_label([one.label for one in given]).label
    for one in given:
        if one.label == label:
            return one
    told = ", ".join(one.label for one in given)
    return replace(
        Settled("unknown", "insufficient_context", f"no majority among its answers: {told}"),
        prompt_sha256=given[0].prompt_sha256,
    )

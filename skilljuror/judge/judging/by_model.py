"""The cascade: a judge without a model decides what it can prove, and a model judges the rest."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import ModelError, TrajectoryError, UsageError, require, resolve
from skilljuror.base.files import StudyFolder, digest_json, sha256
from skilljuror.base.llm import (
    MOST_UNPARSED,
    THREADS,
    ModelChoice,
    ModelClient,
    SpendingCap,
    in_flight,
    study_prices,
)
from skilljuror.base.results import UptakeCategory, Verdict
from skilljuror.base.workers import Listener, Progress, silent, worker_pool, workers_for
from skilljuror.events.attribute import attribute
from skilljuror.judge import JUDGES
from skilljuror.judge.base import Judge
from skilljuror.judge.by_model.asking import ModelJudgement, ask_about, calls_of, verdict_of
from skilljuror.judge.by_model.excerpts import RunExcerpt, excerpt_of
from skilljuror.judge.by_model.questions import Question, questions_of
from skilljuror.judge.judging.judge_study import (
    WAIT_SECONDS,
    JudgeJob,
    JudgeSummary,
    batches,
    inputs_of,
    judge_study,
    load_run,
    summary_of,
)
from skilljuror.judge.judging.repeats import (
    Asking,
    askings_of,
    check_probes,
    modal_judgement,
    repeated_verdicts,
)
from skilljuror.store import open_write
from skilljuror.store.ingest.logs import LoggedRun, logged_runs
from skilljuror.store.ingest.quotes import keeps_quotes
from skilljuror.store.questions.run import run
from skilljuror.store.writer import Store

UNDECIDED = frozenset({
    UptakeCategory.NOT_SEEN_AGAIN, UptakeCategory.NOTHING_DISTINCTIVE, UptakeCategory.ALSO_ELSEWHERE,
})  # fmt: skip
"""Categories of unknown events with shown content and later steps: a reader may decide them."""
CHECK_YES = 0.1
"""Share of the first judge's yes that the model checks."""

_KINDS = "SELECT trial, event, label, category FROM verdicts WHERE judge = $judge ORDER BY event"
_PAID = (
    "SELECT trial, cost_usd, calls FROM judge_calls"
    " WHERE judge IN ($judge, $checker) AND cost_usd IS NOT NULL AND calls > 0"
)


class ModelOptions(Struct, frozen=True):
    """The model and its limits."""

    choice: ModelChoice
    """The model."""
    check_yes: float = CHECK_YES
    """Share of the first judge's yes that the model checks, 0 to 1."""
    budget_usd: float | SpendingCap | None = None
    """Maximum cost of the answers, stored ones included, US dollars; a cap can be shared; None for no
    limit."""
    threads: int = THREADS
    """Calls in flight."""
    repeat: int = 1
    """Number of times that each question is asked; the mode of the answers counts."""
    probes: tuple[str, ...] = ()
    """Variations that are asked once more and do not affect the verdict: order, length."""


class CascadeSummary(Struct, frozen=True):
    """The result of a cascade."""

    judged: JudgeSummary
    """Verdicts of the judge and the model together."""
    first: JudgeSummary
    """Verdicts of the judge without a model."""
    model: str
    """Name of the model."""
    shares: dict[str, Any]
    """The row of the query `cascade`."""
    paid_usd: float | None
    """Cost of this run, US dollars; None for a model of unknown price."""
    problem: str | None = None
    """Why the result is unusable: too many unusable answers."""
    stability: tuple[dict[str, Any], ...] = ()
    """Rows of the query `judge_stability` about it, if the model was asked more than once."""


class CascadeJob(Struct, frozen=True):
    """One run with events for the model."""

    run: JudgeJob
    """The run."""
    asked: frozenset[str] = frozenset()
    """Events that the first judge left undecided."""
    checked: frozenset[str] = frozenset()
    """Sample of the events of its yes."""


@dataclass(frozen=True)
class Asked:
    """Some events of a run, with their questions."""

    excerpt: RunExcerpt
    """The excerpt that the questions show."""
    questions: tuple[Question, ...]
    """The questions."""


@dataclass(frozen=True)
class PreparedRun:
    """One run with its questions."""

    asked: Asked | None = None
    """About undecided events."""
    checked: Asked | None = None
    """About the sample of yes: separate, so that another sample changes no other question."""
    problem: str | None = None
    """Why its log is unreadable."""


@dataclass(frozen=True)
class AnsweredRun:
    """One run with the model's answers."""

    askings: tuple[Asking, ...] = ()
    """About undecided events: repeats of the plain question first, then probes."""
    checked: ModelJudgement | None = None
    """About the sample of yes."""
    problem: str | None = None
    """Why its log is unreadable."""

    @property
    def asked(self) -> ModelJudgement | None:
        """The mode of all askings; None if nothing was undecided."""
        return modal_judgement(self.askings) if self.askings else None

    @property
    def refused(self) -> str:
        """Why the server rejected a question about it; "" if it accepted all."""
        said = [asking.said for asking in self.askings]
        said += [self.checked] if self.checked else []
        return next((one.refused for one in said if one.refused), "")


def judge_with_model(
    study: Path,
    options: ModelOptions,
    judge: str = "tracing",
    *,
    again: bool = False,
    jobs: int = 1,
    progress: Listener = silent,
) -> CascadeSummary:
    """Judge every ingested trajectory by `judge`, then ask a model about the undecided events.

    Verdicts are stored as they arrive, after their answers are in the study's log of calls: an
    interrupted run resumes and pays nothing twice. Events of a question that the server rejects become
    `unparsed`, and the next run asks again. Raises ModelError if the model is unavailable or the budget
    is spent (finished verdicts are stored); UsageError for a study without texts and for an unknown
    probe; MissingDependency without the model library.
    """
    require("models", "'judge --model'")
    check_probes(options.probes)
    _refuse_without_texts(study)
    calls = StudyFolder(study).calls
    client = ModelClient(options.choice, calls, options.budget_usd, study_prices(study))
    first = judge_study(study, judge, again=again, jobs=jobs, progress=progress)
    cascade = Cascade(study, judge, client, options)
    left_out = {name for name, _ in first.unread}
    open_jobs, rest = cascade.jobs(again, left_out)
    with open_write(cascade.database, wait=WAIT_SECONDS) as store:
        cascade.put(store, [(job, AnsweredRun()) for job in rest])
    if client.cap:
        cascade.count_paid(client.cap, {job.run.name for job in open_jobs})
    done, refused = 0, ""
    unread = list(first.unread)
    for batch in batches(answered(client, options, open_jobs, jobs)):
        read = [(job, said) for job, said in batch if said.problem is None]
        with open_write(cascade.database, wait=WAIT_SECONDS) as store:
            cascade.put(store, read)
        unread += [(job.run.name, said.problem) for job, said in batch if said.problem]
        refused = next((said.refused for _, said in batch if said.refused), refused)
        done += len(batch)
        progress(Progress("judge", done, len(open_jobs), batch[-1][0].run.name))
    return cascade.summary(first, sorted(unread), refused)


def answered(
    client: ModelClient, options: ModelOptions, work: list[CascadeJob], jobs: int
) -> Iterator[tuple[CascadeJob, AnsweredRun]]:
    """Yield runs as they are answered: worker processes read the logs, threads ask the model."""
    ask = partial(answer_run, client, options)
    with worker_pool(workers_for(work, jobs)) as pool:
        prepared = pool.map_unordered(prepare_run, work)
        for (job, _), said in in_flight(prepared, ask, options.threads):
            yield job, said


def _refuse_without_texts(study: Path) -> None:
    if not keeps_quotes(study):
        raise UsageError(
            "a model cannot judge a study ingested with --no-quotes: it reads and quotes texts of the"
            " logs; judge without --model, or ingest the logs into another study"
        )


class Cascade:
    """Selects the runs and names of a cascade, and stores its results."""

    def __init__(self, study: Path, judge: str, client: ModelClient, options: ModelOptions) -> None:
        kind = resolve(JUDGES, judge, "judge", Judge)
        self.study = study
        self.database = StudyFolder.existing(study).existing_database
        self.judge = judge
        self.client = client
        self.check_yes = options.check_yes
        self.first = kind.name
        self.model = client.choice.model
        self.name = f"cascade/2 ({self.first}, {self.model})"
        """Judge name of all verdicts."""
        self.checker = f"model/2 ({self.model})"
        """Judge name of the model's answers on the sample of yes."""
        names = [str(row[0]) for row in run(self.database, "trajectory_names").rows]
        self.logged: dict[str, LoggedRun] = (
            {} if StudyFolder(study).planned else logged_runs(self.database, names)
        )
        how = [options.choice.key([]), options.check_yes, options.repeat, options.probes]
        self.inputs = {
            name: digest_json([digest, how])
            for name, digest in inputs_of(kind, judge, self.logged.values()).items()
        }
        self.names = names

    def jobs(self, again: bool, left_out: set[str]) -> tuple[list[CascadeJob], list[CascadeJob]]:
        """Return (runs for the model, other runs), without runs that are judged and unchanged."""
        with open_write(self.database) as store:
            before = {} if again else store.judged(self.name)
        asked: dict[str, set[str]] = defaultdict(set)
        checked: dict[str, set[str]] = defaultdict(set)
        for trial, event, label, category in run(self.database, _KINDS, judge=self.first).rows:
            if label == "unknown" and category in UNDECIDED:
                asked[trial].add(event)
            elif label == "yes" and _is_sampled(event, self.check_yes):
                checked[trial].add(event)
        todo = [
            CascadeJob(
                JudgeJob(self.study, name, self.judge, self.logged.get(name)),
                frozenset(asked[name]),
                frozenset(checked[name]),
            )
            for name in self.names
            if name not in left_out
            and (name not in before or before[name] != self.inputs.get(name))
        ]
        return (
            [job for job in todo if job.asked or job.checked],
            [job for job in todo if not job.asked and not job.checked],
        )

    def count_paid(self, cap: SpendingCap, asked_now: set[str]) -> None:
        """Count the cost of stored answers about runs that are not asked about now."""
        paid = run(self.database, _PAID, judge=self.name, checker=self.checker).rows
        for trial, dollars, calls in paid:
            if trial not in asked_now:
                cap.count(dollars, calls)

    def put(self, store: Store, said: list[tuple[CascadeJob, AnsweredRun]]) -> None:
        """Store all rows about some runs in one transaction."""
        names = [job.run.name for job, _ in said]
        answers = {job.run.name: one.asked for job, one in said}
        checks = {job.run.name: one.checked for job, one in said}
        with store.transaction():
            verdicts = [
                self._row(verdict, answers[verdict.trial])
                for verdict in store.verdicts(self.first, names)
            ]
            checked = [
                verdict_of(event, name, self.checker, self.model, one)
                for name, check in checks.items()
                for event, one in (check.outcomes.items() if check else ())
            ]
            inputs = {  # None for a run that the next judging must ask about again
                job.run.name: None if one.refused else self.inputs.get(job.run.name)
                for job, one in said
            }
            store.put_judged(self.name, inputs, verdicts)
            store.put_judged(self.checker, dict.fromkeys(names), checked)
            again = [
                row
                for job, one in said
                for row in repeated_verdicts(job.run.name, self.name, self.model, one.askings)
            ]
            store.put_repeated(self.name, names, again)
            for judge, by_name in ((self.name, answers), (self.checker, checks)):
                took = [
                    calls_of(name, judge, self.model, one) for name, one in by_name.items() if one
                ]
                store.put_judge_calls(judge, names, took)

    def _row(self, verdict: Verdict, said: ModelJudgement | None) -> Verdict:
        """The model's verdict on an event, or else the first judge's."""
        one = said.outcomes.get(verdict.event) if said else None
        if one is None:
            return replace(verdict, judge=self.name)
        return verdict_of(verdict.event, verdict.trial, self.name, self.model, one)

    def summary(
        self, first: JudgeSummary, unread: list[tuple[str, str]], refused: str
    ) -> CascadeSummary:
        """Return the summary of the stored rows; `refused` is why the server rejected a question."""
        stability = run(self.database, "judge_stability").records()
        rows = run(self.database, "cascade", judge=self.name).records()
        shares = rows[0] if rows else {}
        return CascadeSummary(
            judged=summary_of(self.database, self.name, len(self.names), unread),
            first=first,
            model=self.model,
            shares=shares,
            paid_usd=self.client.spent_usd if self.client.price else None,
            problem=_problem(shares, refused),
            stability=tuple(row for row in stability if row["judge"] == self.name),
        )


def _problem(shares: dict[str, Any], refused: str) -> str | None:
    if not shares or (shares["unparsed_share"] or 0) <= MOST_UNPARSED:
        return None
    why = refused or "see the model's answers in calls.jsonl, and use another model"
    return (
        f"no usable answer on {shares['unparsed']} of {shares['asked']} events asked, more than"
        f" {MOST_UNPARSED:.0%}: the rates are unreliable; {why}"
    )


def _is_sampled(event: str, share: float) -> bool:
    """Whether an event belongs to a sample of that share: by digest, equal on every machine."""
    return int(sha256(event.encode())[:8], 16) < share * 16**8


def prepare_run(job: CascadeJob) -> PreparedRun:
    """Read one run and build its questions, in a worker process."""
    try:
        trajectory, manifest, _ = load_run(job.run)
    except TrajectoryError as error:
        return PreparedRun(problem=error.message)
    if trajectory is None:
        return PreparedRun(problem="the trial has no readable log")
    attribution = attribute(trajectory, manifest)

    def asked(events: frozenset[str]) -> Asked | None:
        if not events:
            return None
        excerpt = excerpt_of(trajectory, attribution.events, attribution.manifest, events)
        questions = tuple(questions_of(excerpt))
        return Asked(excerpt, questions) if questions else None

    return PreparedRun(asked(job.asked), asked(job.checked))


def answer_run(
    client: ModelClient, options: ModelOptions, item: tuple[CascadeJob, PreparedRun]
) -> AnsweredRun:
    """Ask about one run, in a thread."""
    job, prepared = item
    asked, checked = prepared.asked, prepared.checked
    try:
        return AnsweredRun(
            askings_of(client, asked.excerpt, asked.questions, options.repeat, options.probes)
            if asked
            else (),
            ask_about(client, checked.excerpt, checked.questions) if checked else None,
            prepared.problem,
        )
    except ModelError as error:
        raise ModelError(f"{error.message} (asked about {job.run.name})") from error

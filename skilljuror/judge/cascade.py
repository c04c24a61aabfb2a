"""The cascade: a judge without a model decides what it can prove, and a model judges the rest."""

from collections import defaultdict
from collections.abc import Collection, Iterator
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
from skilljuror.base.results import UptakeCategory
from skilljuror.base.workers import Listener, Progress, silent, worker_pool, workers_for
from skilljuror.events.attribute import attribute
from skilljuror.judge import JUDGES, Judge
from skilljuror.judge.by_model import (
    ModelJudgement,
    Question,
    RunExcerpt,
    ask_about,
    calls_of,
    excerpt_of,
    questions_of,
    verdict_of,
)
from skilljuror.judge.study import (
    WAIT_SECONDS,
    JudgeJob,
    JudgeSummary,
    batches,
    groups_of,
    inputs_of,
    judge_study,
    load_run,
    summary_of,
)
from skilljuror.store import open_write
from skilljuror.store.logs import LoggedRun, logged_runs
from skilljuror.store.questions import run
from skilljuror.store.records import keeps_quotes
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


class CascadeJob(Struct, frozen=True):
    """One run with events for the model."""

    run: JudgeJob
    """The run."""
    asked: frozenset[str] = frozenset()
    """Events that the first judge left undecided."""
    checked: frozenset[str] = frozenset()
    """Sample of the events of its yes: asked apart, so that another sample changes no other question."""


Asked = tuple[RunExcerpt, tuple[Question, ...]]
"""Some events of a run, with their questions."""


class AnsweredRun(Struct, frozen=True):
    """One run with the model's answers."""

    asked: ModelJudgement | None = None
    """About undecided events."""
    checked: ModelJudgement | None = None
    """About the sample of yes."""
    problem: str | None = None
    """Why its log is unreadable."""

    @property
    def refused(self) -> str:
        """Why the server rejected a question about it; "" if it accepted all."""
        said = (each for each in (self.asked, self.checked) if each)
        return next((each.refused for each in said if each.refused), "")


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
    is spent (finished verdicts are stored); UsageError for a study without texts; MissingDependency
    without the model library.
    """
    require("models", "'judge --model'")
    if not keeps_quotes(study):
        raise UsageError(
            "a model cannot judge a study ingested with --no-quotes: it reads and quotes texts of the"
            " logs; judge without --model, or ingest the logs into another study"
        )
    calls = StudyFolder(study).calls
    client = ModelClient(options.choice, calls, options.budget_usd, study_prices(study))
    first = judge_study(study, judge, again=again, jobs=jobs, progress=progress)
    cascade = Cascade(study, judge, client, options)
    open_jobs, rest = cascade.jobs(again, {name for name, _ in first.unread})
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
    with worker_pool(workers_for(work, jobs)) as pool:
        prepared = pool.map_unordered(prepare_run, work)
        for (job, _), said in in_flight(prepared, partial(_answer_run, client), options.threads):
            yield job, said


class Cascade:
    """Selects the runs and names of a cascade, and stores its results."""

    def __init__(self, study: Path, judge: str, client: ModelClient, options: ModelOptions) -> None:
        kind = resolve(JUDGES, judge, "judge", Judge)
        self.study = study
        folder = StudyFolder.existing(study)
        self.database = folder.existing_database
        self.judge = judge
        self.client = client
        self.check_yes = options.check_yes
        self.first = kind.name
        self.model = client.choice.model
        self.name = f"cascade/2 ({self.first}, {self.model})"
        """Judge name of all verdicts."""
        self.checker = f"model/2 ({self.model})"
        """Judge name of the model's answers on the sample of yes."""
        self.names = [str(row[0]) for row in run(self.database, "trajectory_names").rows]
        self.logged: dict[str, LoggedRun] = (
            {} if folder.planned else logged_runs(self.database, self.names)
        )
        groups = groups_of(folder, self.names, self.logged)
        how = [options.choice.key([]), options.check_yes]
        self.inputs = {
            name: digest_json([digest, how])
            for name, digest in inputs_of(kind, judge, groups).items()
        }

    def jobs(
        self, again: bool, left_out: Collection[str]
    ) -> tuple[list[CascadeJob], list[CascadeJob]]:
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
        """Store all rows about some runs in one transaction: the model's verdict on an event, or else the
        first judge's."""
        names = [job.run.name for job, _ in said]
        answers = {job.run.name: answer.asked for job, answer in said if answer.asked}
        checks = {job.run.name: answer.checked for job, answer in said if answer.checked}
        of_model = {
            event: verdict_of(event, name, self.name, self.model, outcome)
            for name, judgement in answers.items()
            for event, outcome in judgement.outcomes.items()
        }
        checked = [
            verdict_of(event, name, self.checker, self.model, outcome)
            for name, judgement in checks.items()
            for event, outcome in judgement.outcomes.items()
        ]
        inputs = {  # None for a run that the next judging must ask about again
            job.run.name: None if answer.refused else self.inputs.get(job.run.name)
            for job, answer in said
        }
        with store.transaction():
            verdicts = [
                of_model.get(verdict.event) or replace(verdict, judge=self.name)
                for verdict in store.verdicts(self.first, names)
            ]
            store.put_judged(self.name, inputs, verdicts)
            store.put_judged(self.checker, dict.fromkeys(names), checked)
            for judge, by_name in ((self.name, answers), (self.checker, checks)):
                took = [calls_of(name, judge, self.model, each) for name, each in by_name.items()]
                store.put_judge_calls(judge, names, took)

    def summary(
        self, first: JudgeSummary, unread: list[tuple[str, str]], refused: str
    ) -> CascadeSummary:
        """Return the summary of the stored rows; `refused` is why the server rejected a question."""
        rows = run(self.database, "cascade", judge=self.name).records()
        shares = rows[0] if rows else {}
        problem = None
        if shares and (shares["unparsed_share"] or 0) > MOST_UNPARSED:
            why = refused or "see the model's answers in calls.jsonl, and use another model"
            problem = (
                f"no usable answer on {shares['unparsed']} of {shares['asked']} events asked, more than"
                f" {MOST_UNPARSED:.0%}: the rates are unreliable; {why}"
            )
        return CascadeSummary(
            judged=summary_of(self.database, self.name, len(self.names), unread),
            first=first,
            model=self.model,
            shares=shares,
            paid_usd=self.client.spent_usd if self.client.price else None,
            problem=problem,
        )


def _is_sampled(event: str, share: float) -> bool:
    """Whether an event belongs to a sample of that share: by digest, equal on every machine."""
    return int(sha256(event.encode())[:8], 16) < share * 16**8


def prepare_run(job: CascadeJob) -> tuple[Asked | None, Asked | None, str | None]:
    """Read one run in a worker process; return the questions about undecided events and about the sample of
    yes, and why its log is unreadable."""
    try:
        trajectory, manifest, _ = load_run(job.run)
    except TrajectoryError as error:
        return None, None, error.message
    if trajectory is None:
        return None, None, "the trial has no readable log"
    attribution = attribute(trajectory, manifest)

    def asked(events: frozenset[str]) -> Asked | None:
        if not events:
            return None
        excerpt = excerpt_of(trajectory, attribution.events, attribution.manifest, events)
        questions = tuple(questions_of(excerpt))
        return (excerpt, questions) if questions else None

    return asked(job.asked), asked(job.checked), None


def _answer_run(
    client: ModelClient,
    item: tuple[CascadeJob, tuple[Asked | None, Asked | None, str | None]],
) -> AnsweredRun:
    """Ask about one run, in a thread."""
    job, (asked, checked, problem) = item
    try:
        said = [ask_about(client, *each) if each else None for each in (asked, checked)]
    except ModelError as error:
        raise ModelError(f"{error.message} (asked about {job.run.name})") from error
    return AnsweredRun(said[0], said[1], problem)

"""The cascade: a judge without a model settles what it can prove, and a model is asked about the rest."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.attribution.attribute import attribute
from skilljuror.errors import ModelError, TrajectoryError, UsageError
from skilljuror.files import StudyFolder, digest_json, sha256
from skilljuror.judge import JUDGES
from skilljuror.judge.base import Judge
from skilljuror.judge.by_model.asking import ModelJudgement, ask_about, calls_of, verdict_of
from skilljuror.judge.by_model.excerpts import RunExcerpt, excerpt_of
from skilljuror.judge.by_model.questions import Question, questions_of
from skilljuror.llm import ModelChoice, ModelClient, SpendingCap, in_flight
from skilljuror.models.measure import Verdict
from skilljuror.pipeline.ingestion.logs import LoggedRun, logged_runs
from skilljuror.pipeline.ingestion.quotes import keeps_quotes
from skilljuror.pipeline.judging import (
    WAIT_SECONDS,
    JudgeJob,
    JudgeSummary,
    batches,
    inputs_of,
    judge_study,
    load_run,
    summary_of,
)
from skilljuror.pipeline.judging_repeats import (
    Asking,
    askings_of,
    check_probes,
    modal_judgement,
    repeated_verdicts,
)
from skilljuror.pipeline.lookup import database_of
from skilljuror.pipeline.model_calls import MOST_UNPARSED, THREADS, study_prices
from skilljuror.pipeline.workers import Listener, Progress, silent, worker_pool
from skilljuror.queries.run import run
from skilljuror.registry import resolve
from skilljuror.store import open_write
from skilljuror.store.writer import Store

UNDECIDED = frozenset({"not_seen_again", "nothing_distinctive", "also_elsewhere"})
"""Categories of an unknown whose content was shown and after which the agent went on: a reader may tell."""
CHECK_YES = 0.1
"""Share of the first judge's yes that the model is asked about, too."""

_KINDS = "SELECT trial, event, label, category FROM verdicts WHERE judge = $judge ORDER BY event"
_PAID = (
    "SELECT trial, cost_usd, calls FROM judge_calls"
    " WHERE judge IN ($judge, $checker) AND cost_usd IS NOT NULL AND calls > 0"
)


class ModelOptions(Struct, frozen=True):
    """Which model is asked, and how much."""

    choice: ModelChoice
    """The model."""
    check_yes: float = CHECK_YES
    """Share of the first judge's yes that the model is asked about, too, 0 to 1."""
    budget_usd: float | SpendingCap | None = None
    """What the answers may cost, US dollars, those of runs judged before included; a cap may be shared
    by several; None for no limit."""
    threads: int = THREADS
    """Calls in flight."""
    repeat: int = 1
    """How often it is asked the same in all; the mode of its answers counts."""
    probes: tuple[str, ...] = ()
    """Other ways in which it is asked once more, without a say in the verdict: order, length."""


class CascadeSummary(Struct, frozen=True):
    """What a cascade came to."""

    judged: JudgeSummary
    """What the judge and the model say together."""
    first: JudgeSummary
    """What the judge without a model said alone."""
    model: str
    """Model that was asked."""
    shares: dict[str, Any]
    """The row of the question `cascade`."""
    paid_usd: float | None
    """What this very run paid, US dollars; None for a model of unknown price."""
    problem: str | None = None
    """Why the result must not pass: too many answers that could not be used."""
    stability: tuple[dict[str, Any], ...] = ()
    """Rows of the question `judge_stability` about it, where the model was asked more than once."""


class CascadeJob(Struct, frozen=True):
    """One run whose open events go to the model."""

    run: JudgeJob
    """The run."""
    asked: frozenset[str] = frozenset()
    """Events that the first judge left undecided."""
    checked: frozenset[str] = frozenset()
    """Events of its yes that are asked about, too."""


@dataclass(frozen=True)
class Asked:
    """Some events of a run, ready to be asked about."""

    excerpt: RunExcerpt
    """What there is to see."""
    questions: tuple[Question, ...]
    """The questions."""


@dataclass(frozen=True)
class PreparedRun:
    """One run read again, with its questions."""

    asked: Asked | None = None
    """About what is undecided."""
    checked: Asked | None = None
    """About the sample of yes: apart, so that another sample changes no other question."""
    problem: str | None = None
    """Why its log could not be read again."""


@dataclass(frozen=True)
class AnsweredRun:
    """One run with what the model said."""

    askings: tuple[Asking, ...] = ()
    """About what was undecided, in every way of asking; the plain question first."""
    checked: ModelJudgement | None = None
    """About the sample of yes."""
    problem: str | None = None
    """Why its log could not be read again."""

    @property
    def asked(self) -> ModelJudgement | None:
        """What all askings come to; None where nothing was undecided."""
        return modal_judgement(self.askings) if self.askings else None

    @property
    def refused(self) -> str:
        """Why the server did not take a question about it; "" where it took all."""
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
    """Judge every ingested trajectory by `judge`, then ask a model about what that left undecided.

    Verdicts are stored as they come, and every answer is in the study's log of calls before: a
    judging that was broken off goes on and pays nothing twice. A question that the server does not take
    leaves its events `unparsed`, and is asked again the next time. Raises ModelError where the model
    cannot be reached or paid, with what was judged until then kept; UsageError for a study that keeps
    no texts and for an unknown probe.
    """
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
    """Runs as they are answered: read again in worker processes, asked about in threads of this one."""
    ask = partial(answer_run, client, options)
    with worker_pool(jobs) as pool:
        prepared = pool.map_unordered(prepare_run, work)
        for (job, _), said in in_flight(prepared, ask, options.threads):
            yield job, said


def _refuse_without_texts(study: Path) -> None:
    if not keeps_quotes(study):
        raise UsageError(
            "this study was ingested with --no-quotes: a model would have to be sent texts of its logs,"
            " and its answers quote them; judge without --model, or ingest the logs into another study"
        )


class Cascade:
    """Which runs are judged, under which names, and how what is said of them becomes rows."""

    def __init__(self, study: Path, judge: str, client: ModelClient, options: ModelOptions) -> None:
        kind = resolve(JUDGES, judge, "judge", Judge)
        self.study = study
        self.database = database_of(study)
        self.judge = judge
        self.client = client
        self.check_yes = options.check_yes
        self.first = kind.name
        self.model = client.choice.model
        self.name = f"cascade/1 ({self.first}, {self.model})"
        """Judge under which all verdicts stand."""
        self.checker = f"model/1 ({self.model})"
        """Judge under which the model's answers on the sample of yes stand."""
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
        """Runs that the model is asked about, and those that it need not be: all that are not judged
        as they are."""
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
        """Count the stored answers about runs that are not asked about now: nobody reads them again."""
        paid = run(self.database, _PAID, judge=self.name, checker=self.checker).rows
        for trial, dollars, calls in paid:
            if trial not in asked_now:
                cap.count(dollars, calls)

    def put(self, store: Store, said: list[tuple[CascadeJob, AnsweredRun]]) -> None:
        """All rows about some runs, in one transaction."""
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
                for event, one in (check.settled.items() if check else ())
            ]
            inputs = {  # none of a run that is to be asked about again
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
        """A verdict of the first judge, or in its place what the model says of the same event."""
        one = said.settled.get(verdict.event) if said else None
        if one is None:
            return replace(verdict, judge=self.name)
        return verdict_of(verdict.event, verdict.trial, self.name, self.model, one)

    def summary(
        self, first: JudgeSummary, unread: list[tuple[str, str]], refused: str
    ) -> CascadeSummary:
        """What is stored now; `refused` says why a question was not taken."""
        with open_write(self.database) as store:
            said = Counter(store.verdict_counts(self.name, self.names))
        stability = run(self.database, "judge_stability").records()
        rows = run(self.database, "cascade", judge=self.name).records() if said else []
        shares = rows[0] if rows else {}
        return CascadeSummary(
            judged=summary_of(self.name, len(self.names), said, unread),
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
    why = refused or "see what the model answered in calls.jsonl, and take another model"
    return (
        f"no usable answer on {shares['unparsed']} of {shares['asked']} events asked, more than"
        f" {MOST_UNPARSED:.0%}: the rates say little; {why}"
    )


def _is_sampled(event: str, share: float) -> bool:
    """Whether an event belongs to a sample of that share: by digest, the same on every machine."""
    return int(sha256(event.encode())[:8], 16) < share * 16**8


def prepare_run(job: CascadeJob) -> PreparedRun:
    """Read one run again and put its questions together; in a worker process."""
    try:
        trajectory, manifest = load_run(job.run)
    except TrajectoryError as error:
        return PreparedRun(problem=error.message)
    if trajectory is None:
        return PreparedRun(problem="the trial left no log that can be read")
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
    """Ask about one run; in a thread."""
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

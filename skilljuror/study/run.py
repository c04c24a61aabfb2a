"""Run a study file: plan, build the variants, run the trials in order; rerun to resume.

One run at a time holds the lock of a study's folder. Trials run in workers, or in the batches of a harness that
schedules them itself, until all are done, the budget is used up, or a stop rule says that the rest would be
paid for in vain. The budget counts every attempt, reruns included, between trials.
"""

import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, TypeVar

from msgspec import Struct

from skilljuror.base.build import VariantManifest
from skilljuror.base.errors import HarnessError, ModelError, StudyError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.platforms import lock, require_posix
from skilljuror.base.results import Price, TrialContext
from skilljuror.base.study import (
    NO_VERIFIER,
    Budget,
    PlannedTrial,
    StudyPlan,
    TrialRecord,
    arm_at,
    trial_arms,
)
from skilljuror.base.texts import PRICES, with_packaged
from skilljuror.base.workers import Listener, Progress, silent, worker_pool
from skilljuror.harness.base import (
    Batch,
    BatchHarness,
    CheckedHarness,
    Collected,
    TrialJob,
)
from skilljuror.harness.leaks import refuse_leaks
from skilljuror.harness.sandbox import bwrap_problem, remove_tree
from skilljuror.layouts.build.protected_texts import fingerprints_of, save_fingerprints
from skilljuror.measures.run_measures import efficiency
from skilljuror.store.trials import contaminations_of, log_of
from skilljuror.study.plan import (
    StudyRun,
    accepted_builds,
    assay_builds,
    chose_isolation,
    finished_records,
    make_builds,
    prepared,
    save_plan,
    without_ruled_out,
)
from skilljuror.study.trial import (
    RUN_STOPPED,
    STAGING,
    RunSetup,
    is_machine_fault,
    refuse_changed_task,
    retry_seconds,
    run_trial,
    save_trial,
    stop_trial,
    to_run_again,
)

DISCLOSURE = "Skills available for this task: {}."
"""Last line of the prompt with `disclosure: named`."""
SCRATCH = "skilljuror-run-"
_WAIT_SECONDS = 12.0
"""Seconds to wait for the workers of a killed run."""
PRINTED = "agent-stdout.txt"
"""Output of an agent: proof that it started, even if its duration is unknown."""
MOST_NAMES = 8
"""Maximum tasks named in a note."""
Job = TypeVar("Job")


class OutcomeCounts(Struct, frozen=True):
    """Ends of the finished trials of a task, or of one of its cells."""

    task: str
    condition: str | None
    """None for all conditions together."""
    trials: int
    """Finished trials."""
    rewards: dict[str, int]
    """Reward -> trials; "none" for a missing reward."""
    exceptions: dict[str, int]
    """Exception -> trials."""


class RunSummary(Struct, frozen=True):
    """Result of a run."""

    folder: str
    """Folder of the study."""
    planned: int
    """Planned trials."""
    finished: int
    """Trials with a record, including earlier runs."""
    ran: int
    """Trials run by this call."""
    rerun: int
    """Of these, trials that had finished before."""
    statuses: dict[str, int]
    """Finished trials by status, with no_answer for those without a model answer."""
    outcomes: tuple[OutcomeCounts, ...]
    """Rewards and exceptions by task; by condition only on request."""
    warnings: tuple[str, ...]
    """Tasks and conditions whose trials all have the same reward."""
    isolation: str
    """Isolation of the trials from this machine."""
    stopped: str | None = None
    """The budget that stopped the run; raise it and rerun to resume."""
    interrupted: bool = False
    """True if interrupted; rerun to resume."""
    notes: tuple[str, ...] = ()
    """One line each."""


def run_study(
    study_file: Path,
    folder: Path,
    *,
    jobs: int = 1,
    rerun: Collection[str] = (),
    unblind: bool = False,
    progress: Listener | None = None,
) -> RunSummary:
    """Freeze the plan, build the variants, run the trials without a record, and rerun those that ended as in
    `rerun` (`trial.OUTCOMES`). With `unblind` the summary has rewards by condition, too.

    `jobs` trials run in parallel, in plan order. Raises StudyError if `folder` has another plan or an
    active run, GateError if a variant failed its gates, HarnessError if this machine cannot run
    trials. Finished trials are always saved.
    """
    require_posix("a run of trials")
    run = prepared(study_file, folder, progress or silent)
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"--out {str(folder)!r} is a file; name a folder", file=str(folder))
    with exclusive_run(run.folder) as scratch:
        run = without_ruled_out(run, study_file)
        plan, config = run.plan, run.plan.config
        notes = save_plan(run.folder, plan, study_file)
        if isinstance(run.harness, CheckedHarness):
            needs = run.harness.task_requirements([run.base / task.path for task in plan.tasks])
            notes += [need.detail for need in needs if need.detail.startswith("ignored")]
        if given := [arm.name for arm in config.conditions if arm.skill]:
            notes.append(
                f"{', '.join(given)}: the Skill's knowledge is not matched with other arms; after ingest,"
                " query given_skills for what they share"
            )
        before = finished_records(run.folder, plan)
        again, rerun_notes = to_run_again(run.folder, before, rerun)
        notes += rerun_notes
        setup = RunSetup(
            folder.resolve(), scratch, workers_lock(run.folder), config.harness, config.retries
        )
        trials = {trial.trial: trial for trial in plan.trials}
        pending = [trial for name, trial in trials.items() if name not in before or name in again]
        interrupted = False
        try:
            builds = _offered_skills(run, notes, jobs=max(jobs, 1))
            run_all(
                run,
                setup,
                [_job(run, builds, trial) for trial in pending],
                max(jobs, 1),
                len(trials),
            )
        except KeyboardInterrupt:
            interrupted = True
        finished = finished_records(run.folder, plan)
        spent = Spending(run.folder, config.budget, with_packaged(config.prices))
    if run.isolation == "none":
        why = (
            "as set in the study"
            if chose_isolation(config)
            else f"because no sandbox works: {bwrap_problem()}"
        )
        isolation_note = [
            f"isolation none: agents and verifiers ran as plain processes of this user, {why}; every trial"
            " is marked"
        ]
    else:
        isolation_note = []
    waiting = not trials.keys() <= finished.keys() or any(
        finished[name] == before[name] for name in again
    )
    changed = [name for name, record in finished.items() if before.get(name) != record]
    return RunSummary(
        folder=str(folder),
        planned=len(trials),
        finished=len(finished.keys() & trials.keys()),
        ran=len(changed),
        rerun=sum(name in before for name in changed),
        statuses=dict(sorted(Counter(record.end for record in finished.values()).items())),
        outcomes=count_outcomes(finished.values(), unblind=unblind),
        warnings=tuple(uniform_rewards(list(finished.values()), unblind=unblind)),
        isolation=run.isolation,
        stopped=spent.reached() if waiting else None,
        interrupted=interrupted,
        notes=(*notes, *spent.notes(), *isolation_note),
    )


def _offered_skills(
    run: StudyRun, notes: list[str], jobs: int
) -> dict[str, dict[str, VariantManifest]]:
    """Make missing builds; return task -> offered Skill -> manifest, and append to `notes`.

    Each task's protected texts are fingerprinted before its first trial, and a Skill with the answer is
    refused. Raises ModelError for a task of a started study that could not be built.
    """
    if failed := make_builds(run, run.plan.tasks):
        name, why = next(iter(failed.items()))
        raise ModelError(f"task {name!r} of a started study could not be built: {why}")
    builds = accepted_builds(run, notes)
    assay_builds(run, jobs)
    for task in run.plan.tasks:
        builds.setdefault(task.name, {}).update(run.given.save(run.folder, task))
    begun = bool(run.folder.finished_trials())
    for task in run.plan.tasks:
        if not (begun and fingerprints_of(run.folder.root, task.name).is_file()):
            skills = run.base / task.skills if task.skills else None
            save_fingerprints(run.folder, task.name, run.base / task.path, skills)
    if not begun:
        refuse_leaks(run.folder)
    return builds


def _job(
    run: StudyRun, builds: dict[str, dict[str, VariantManifest]], trial: PlannedTrial
) -> TrialJob:
    config = run.plan.config
    task = next(task for task in run.plan.tasks if task.name == trial.task)
    arm = next(arm for arm in config.conditions if arm.name == trial.condition)
    named = config.settings(arm)["disclosure"] == "named"
    offers = arm_at(arm, trial.number).offers
    manifest = builds[task.name][offers] if offers else None
    return TrialJob(
        trial=trial,
        task=task,
        task_dir=(run.base / task.path).resolve(),
        variant=offers,
        variant_dir=run.folder.offered(task.name, offers).resolve() if offers else None,
        agent=run.agents[arm.name],
        choice=config.harness,
        config_digest=run.plan.config_digest,
        variant_digest=manifest.tree_digest if manifest else None,
        announced=manifest.announced if manifest else (),
        disclosed=DISCLOSURE.format(", ".join(manifest.skills)) if named and manifest else None,
        keep=config.keep,
        hidden=(run.folder.root, *study_places(run.base, run.plan)),
    )


def study_places(base: Path, plan: StudyPlan) -> Iterator[Path]:
    """Yield the study file's folder, and those of its tasks and Skills."""
    yield base
    for task in plan.tasks:
        yield base / task.path
        if task.skills:
            yield base / task.skills
        for arm in trial_arms(plan.config):
            if arm.skill:
                yield base / arm.skill.at(task.name)


@contextmanager
def exclusive_run(folder: StudyFolder) -> Iterator[Path]:
    """Lock the study's folder, clean up after a killed run, and yield a scratch folder for sandboxes.

    Raises StudyError while another run, or a worker of a killed one, is active.
    """
    folder.trials.mkdir(parents=True, exist_ok=True)
    with (folder.root / ".run.lock").open("a+b") as held:
        if not lock(held, wait=False):
            owner = _owner(held).get("pid", "unknown")
            raise StudyError(
                f"another run of {str(folder.root)!r} is active (process {owner}); wait for it, or stop it"
                " and rerun",
                file=str(folder.root),
            )
        _await_workers(folder)
        for entry in folder.trials.iterdir():
            if entry.name.startswith(STAGING):
                remove_tree(entry)
        left = Path(str(_owner(held).get("scratch", "")))
        if left.name.startswith(SCRATCH) and left.is_dir() and not left.is_symlink():
            remove_tree(left)
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH)).resolve()
        _write_owner(held, {"pid": os.getpid(), "scratch": str(scratch)})
        try:
            yield scratch
        finally:
            remove_tree(scratch)
            _write_owner(held, {})


def _await_workers(folder: StudyFolder) -> None:
    """Wait for the workers of a killed run."""
    until = time.monotonic() + _WAIT_SECONDS
    with workers_lock(folder).open("ab") as held:
        while not lock(held, wait=False):
            if time.monotonic() > until:
                raise StudyError(
                    f"workers of an earlier run of {str(folder.root)!r} are still running; end them and"
                    " rerun",
                    file=str(folder.root),
                )
            time.sleep(0.02)


def workers_lock(folder: StudyFolder) -> Path:
    """Path of the file that every running worker locks."""
    return folder.root / ".workers.lock"


def _owner(held: IO[bytes]) -> dict[str, object]:
    """The process and the scratch folder of the run that holds, or held, the lock."""
    held.seek(0)
    try:
        value = json.loads(held.read() or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _write_owner(held: IO[bytes], value: dict[str, object]) -> None:
    held.seek(0)
    held.truncate()
    held.write(json.dumps(value).encode())
    held.flush()


def run_all(
    run: StudyRun, setup: RunSetup, pending: list[TrialJob], jobs: int, planned: int
) -> None:
    """Run those of `planned` trials that are pending, in order, `jobs` at a time, within the budget, in
    workers or in a harness's batches; report each. Raises HarnessError if a stop rule ends the run."""
    config, harness = run.plan.config, run.harness
    run.listener(Progress("run", planned - len(pending), planned))
    if isinstance(harness, BatchHarness):
        save_stopped(harness, setup, pending)
    spent = Spending(run.folder, config.budget, with_packaged(config.prices))
    rules = StopRules(run.folder, config.stop_after_unanswered)

    def trials_in_workers() -> Generator[TrialRecord, None, None]:
        with worker_pool(min(jobs, len(pending)) or 1, stop=stop_trial, in_process=False) as pool:
            work = partial(run_trial, setup)
            for _, record in pool.map_unordered(work, spent.affordable(pending), queued=1):
                yield record
                rules.check(record)

    def trials_in_batches(harness: BatchHarness) -> Generator[TrialRecord, None, None]:
        blocks = [pending]  # with a budget, one batch per block
        if config.budget != Budget():
            blocks = [list(block) for _, block in groupby(pending, lambda job: job.trial.block)]
        for batch in spent.affordable(blocks):
            yield from run_in_batch(harness, setup, batch, jobs=jobs, ended=rules.check)

    batched = trials_in_batches(harness) if isinstance(harness, BatchHarness) else None
    with closing(batched or trials_in_workers()) as records:
        for done, record in enumerate(records, planned - len(pending) + 1):
            spent.count(record.trial)
            run.listener(Progress("run", done, planned, f"{record.trial}: {record.status}"))


class StopRules:
    """What ends a run before the other trials are paid for: a server that does not answer, and an agent that
    lists other Skills than its conditions offer."""

    def __init__(self, folder: StudyFolder, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._unanswered: dict[str, TrialRecord] = {}
        """The last trials in a row without a model answer or a log."""
        self._listed: set[str] = set()
        """Conditions whose first log was compared."""

    def check(self, record: TrialRecord) -> None:
        """Check an attempt. Raises HarnessError to stop the run: at the limit of trials in a row without a model
        answer, and for a Skill too many or missing in the first log of a condition, if the study does not accept it."""
        self.check_answer(record)
        trial = record.trial
        if record.condition in self._listed or not self._folder.trial_record(trial).is_file():
            return
        run, _ = log_of(self._folder.trial_raw(trial), record)
        if run is None or run.offered is None:
            return
        self._listed.add(record.condition)
        flags = {"other_skill_offered", "skill_not_offered"}
        found = contaminations_of(self._folder.root, record)
        if said := "; ".join(detail for flag, detail in found if flag in flags):
            raise HarnessError(
                f"the run stopped: trial {trial!r}: {said}. Fix the agent and resume with --rerun contaminated"
                " after an ingest, or name the Skill in accept_skills of the study file and resume",
                field="accept_skills",
            )

    def check_answer(self, record: TrialRecord) -> None:
        """The first of these rules."""
        if record.reason in {None, NO_VERIFIER}:
            self._unanswered.clear()
            return
        self._unanswered[record.trial] = record
        if len(self._unanswered) >= self._limit:
            ends = ",".join(sorted({attempt.end for attempt in self._unanswered.values()}))
            raise HarnessError(
                f"the run stopped: {len(self._unanswered)} trials in a row (stop_after_unanswered) have no"
                f" model answer; the last one, {record.trial!r}: {record.message}. Check the model's server,"
                f" its key and the agent, then resume with --rerun {ends}",
                field="stop_after_unanswered",
            )


def run_in_batch(
    harness: BatchHarness,
    setup: RunSetup,
    pending: Sequence[TrialJob],
    *,
    jobs: int,
    ended: Callable[[TrialRecord], None] = lambda _: None,
) -> Iterator[TrialRecord]:
    """Run trials with a harness that schedules them, up to `jobs` at a time, save each, and yield its record.
    Trials broken by a fault of the machine are retried together.

    `ended` gets the record of every attempt. Raises StudyError for a changed task, HarnessError if the
    machine cannot run them.
    """
    for job in {job.task.name: job for job in pending}.values():
        refuse_changed_task(job)
    folder, left = StudyFolder(setup.study), setup.retries
    with setup.lock.open("ab") as held:
        lock(held, shared=True)
        while pending:
            kept = _saved_attempts(folder, pending)
            scratch = Path(tempfile.mkdtemp(dir=setup.scratch))
            batch = Batch(tuple(pending), folder.jobs, scratch, jobs, held.fileno(), kept)
            broken = is_machine_fault if left else lambda record: False
            pending = yield from _save_each(harness, setup, batch, broken, ended)
            if pending:
                time.sleep(retry_seconds(setup.retries - left))
            left -= 1


def _save_each(
    harness: BatchHarness,
    setup: RunSetup,
    batch: Batch,
    broken: Callable[[TrialRecord], bool],
    ended: Callable[[TrialRecord], None],
) -> Generator[TrialRecord, None, list[TrialJob]]:
    """Save and yield each trial of a batch; return the `broken` ones."""
    again = []
    with ExitStack() as ending:
        ending.callback(save_stopped, harness, setup, batch.jobs)
        results = harness.run_batch(batch)
        if isinstance(results, Generator):
            ending.callback(results.close)  # an error here ends active jobs at once
        for job, collect in results:
            record = save_trial(StudyFolder(setup.study), job, collect, broken)
            ended(record)
            if broken(record):
                again.append(job)
            else:
                yield record
    return again


def save_stopped(harness: BatchHarness, setup: RunSetup, pending: Sequence[TrialJob]) -> None:
    """Save stopped or killed attempts as earlier attempts, because they spent budget."""
    folder = StudyFolder(setup.study)
    kept = _saved_attempts(folder, pending)
    batch = Batch(tuple(pending), folder.jobs, setup.scratch, 1, -1, kept=kept)
    message = f"{RUN_STOPPED}: its run was stopped"
    update = {"status": "error", "reward": None, "exception": RUN_STOPPED, "message": message}

    def stopped(collect: Collected, raw: Path) -> TrialRecord:
        return collect(raw).model_copy(update=update)

    for job, collect in harness.stopped(batch):
        save_trial(folder, job, partial(stopped, collect), lambda record: True)


def _saved_attempts(folder: StudyFolder, pending: Sequence[TrialJob]) -> frozenset[tuple[str, str]]:
    """(trial, start) of every attempt with a record."""
    wanted = {job.trial.trial for job in pending}
    places = [folder.trial(name) for name in folder.finished_trials() if name in wanted]
    places += [folder.attempt(*one) for one in folder.earlier_attempts() if one[0] in wanted]
    records = [read_record(TrialRecord, place / "trial.json") for place in places]
    return frozenset((record.trial, record.started_at) for record in records)


class Spending:
    """What all attempts have used of the study's budget."""

    def __init__(
        self, folder: StudyFolder, budget: Budget, prices: tuple[Price, ...] = PRICES
    ) -> None:
        self._folder, self._budget, self._prices = folder, budget, prices
        self._attempts: dict[tuple[str, str], tuple[float | None, float | str]] = {}
        """(trial, start) -> seconds, None if unknown, and dollars, or why they are unknown."""
        if budget != Budget():
            for trial in folder.finished_trials():
                self.count(trial)
            for trial, number in folder.earlier_attempts():
                self._add(folder.attempt(trial, number))

    @property
    def minutes(self) -> float:
        """Agent minutes; an attempt of unknown duration counts as the longest known one."""
        seconds = [seconds for seconds, _ in self._attempts.values()]
        known = [number for number in seconds if number is not None]
        return (sum(known) + seconds.count(None) * max(known, default=0.0)) / 60

    @property
    def dollars(self) -> float:
        """Model costs in US dollars; an attempt of unknown cost counts as the most expensive known one."""
        costs = [cost for _, cost in self._attempts.values()]
        known = [cost for cost in costs if not isinstance(cost, str)]
        return sum(known) + (len(costs) - len(known)) * max(known, default=0.0)

    def count(self, trial: str) -> None:
        """Count a trial's current attempt and uncounted earlier ones."""
        if self._budget == Budget():
            return
        number = 1
        while (attempt := self._folder.attempt(trial, number)).is_dir():
            self._add(attempt)
            number += 1
        self._add(self._folder.trial(trial))

    def _add(self, attempt: Path) -> None:
        record = read_record(TrialRecord, attempt / "trial.json")
        key = record.trial, record.started_at  # a rerun changes an attempt's folder
        if key not in self._attempts:
            stopped = record.exception == RUN_STOPPED
            seconds = record.agent_seconds if stopped else record.agent_seconds or 0.0
            priced = self._budget.dollars is not None
            cost = _cost(attempt, record, self._prices) if priced else 0.0
            self._attempts[key] = seconds, cost

    def affordable(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield jobs until the budget is reached."""
        for job in jobs:
            if self.reached():
                return
            yield job

    def reached(self) -> str | None:
        """Describe the part of the budget that is used up, or None."""
        budget = self._budget
        if budget.minutes is not None and self.minutes >= budget.minutes:
            return f"budget.minutes: {self.minutes:.1f} of {budget.minutes:g} are used"
        if budget.dollars is not None and self.dollars >= budget.dollars:
            return f"budget.dollars: {self.dollars:.2f} of {budget.dollars:g} are used"
        return None

    def notes(self) -> list[str]:
        """Note unknown durations and costs."""
        notes, nothing = [], "as 0, because no other is known"
        untimed = [seconds for seconds, _ in self._attempts.values()].count(None)
        if untimed and self._budget.minutes is not None:
            each = "as the longest known one" if self.minutes else nothing
            notes.append(
                f"budget.minutes: the duration of {untimed} stopped attempts is unknown; each is counted {each}"
            )
        costs = [cost for _, cost in self._attempts.values()]
        if unpriced := Counter(cost for cost in costs if isinstance(cost, str)):
            reasons = ", ".join(f"{name} {count}" for name, count in sorted(unpriced.items()))
            known = unpriced.total() < len(costs)
            each = "as the most expensive known one" if known else nothing
            notes.append(
                f"budget.dollars: the cost of {unpriced.total()} attempts is unknown"
                f" ({reasons}); each is counted {each}"
            )
        return notes


def _cost(attempt: Path, record: TrialRecord, prices: tuple[Price, ...]) -> float | str:
    """Dollars of an attempt by list price, else by its log, or the reason why unknown."""
    raw = attempt / "raw"
    started = record.agent_seconds is not None or record.exception == RUN_STOPPED
    if record.scripted or not (started or (raw / PRINTED).exists()):
        return 0.0
    trajectory, _ = log_of(raw, record)
    context = TrialContext(trial=record.trial, record=record, trajectory=trajectory, prices=prices)
    measures = {row.metric: row for row in efficiency.measure(context)}
    for row in (measures["cost_usd"], measures["cost_usd_logged"]):
        if row.value is not None:
            return row.value
    return measures["cost_usd"].reason or "not_reported"


def count_outcomes(
    records: Iterable[TrialRecord], *, unblind: bool = False
) -> tuple[OutcomeCounts, ...]:
    """Count ends by task, and by condition as well with `unblind`."""
    groups: dict[tuple[str, str | None], list[TrialRecord]] = defaultdict(list)
    for record in records:
        groups[record.task, record.condition if unblind else None].append(record)
    return tuple(
        OutcomeCounts(
            task,
            condition,
            len(group),
            dict(sorted(Counter(map(_reward, group)).items())),
            dict(sorted(Counter(row.exception for row in group if row.exception).items())),
        )
        for (task, condition), group in sorted(groups.items(), key=lambda item: str(item[0]))
    )


def _reward(record: TrialRecord) -> str:
    return "none" if record.reward is None else f"{record.reward:g}"


def uniform_rewards(records: Sequence[TrialRecord], *, unblind: bool = False) -> list[str]:
    """Note tasks and conditions whose trials all have the same reward: often the verifier is wrong, and
    such a task does not distinguish conditions."""
    scored = [record for record in records if record.reward is not None]

    def uniform(field: str) -> dict[str, str]:
        """Name -> common reward, for names with two or more trials of one reward."""
        rewards = defaultdict[str, list[str]](list)
        for record in scored:
            rewards[getattr(record, field)].append(_reward(record))
        same = {name: both[0] for name, both in sorted(rewards.items()) if len({*both}) == 1}
        return {name: reward for name, reward in same.items() if len(rewards[name]) > 1}

    if len(scored) > 1 and len({*map(_reward, scored)}) == 1:
        return [f"all {len(scored)} trials with a reward have reward {_reward(scored[0])}"]
    notes = []
    if tasks := uniform("task"):
        shown = ", ".join(f"{name} ({reward})" for name, reward in list(tasks.items())[:MOST_NAMES])
        more = f" and {len(tasks) - MOST_NAMES} more" if len(tasks) > MOST_NAMES else ""
        whole = len({record.task for record in scored})
        notes.append(
            f"on {len(tasks)} of {whole} tasks all trials have the same reward, so they do not"
            f" distinguish conditions: {shown}{more}"
        )
    if arms := uniform("condition"):
        which = ", ".join(f"{name} ({reward})" for name, reward in arms.items())
        shown = which if unblind else "--unblind shows which"
        notes.append(f"in {len(arms)} conditions all trials have the same reward: {shown}")
    return notes

"""Label the resource events of a study, trajectory by trajectory."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from skilljuror.base.errors import SkilljurorError, TrajectoryError, resolve
from skilljuror.base.files import StudyFolder, data_dir, digest_json
from skilljuror.base.results import LocalEffect, UnitUse, Verdict
from skilljuror.base.skill import MappedUnit
from skilljuror.base.trajectory import SkillManifest, Trajectory
from skilljuror.base.workers import Listener, Progress, map_unordered, silent, workers_for
from skilljuror.events.attribute import attribute
from skilljuror.judge import JUDGES
from skilljuror.judge.base import Judge
from skilljuror.judge.effects import effects
from skilljuror.judge.judging.unit_uses import place_uses
from skilljuror.store import open_write
from skilljuror.store.ingest.logs import LoggedRun, logged_runs, read_logged
from skilljuror.store.ingest.quotes import keeps_quotes, unquoted_effect, unquoted_verdict
from skilljuror.store.ingest.reader import code_digest, file_digest
from skilljuror.store.ingest.trials import read_trial
from skilljuror.store.questions.run import run

BATCH_SECONDS = 2.0
"""Seconds of work whose verdicts are stored together: the maximum loss if killed."""
WAIT_SECONDS = 600.0
"""Seconds to wait until others close the database: longer than a query takes."""
_SUMMARY = """
SELECT
    count(*) AS events,
    count(*) FILTER (WHERE label = 'yes') AS yes,
    count(*) FILTER (WHERE label = 'no') AS no,
    count(*) FILTER (WHERE label = 'unknown') AS unknown,
    count(*) FILTER (WHERE open) AS open,
    avg(low) AS rate_low,
    avg(high) AS rate_high,
    avg(low) FILTER (WHERE category <> 'navigation') AS without_navigation_low,
    avg(high) FILTER (WHERE category <> 'navigation') AS without_navigation_high
FROM uptake_verdicts JOIN uses USING (event)
WHERE judge = $judge
"""
_TRUNCATED = "its files are shorter than when ingested; its stored verdicts remain"
Item = TypeVar("Item")


class JudgeSummary(Struct, frozen=True):
    """Total verdicts of a judge."""

    judge: str
    """Name and version of the judge."""
    trajectories: int
    """Trajectories judged."""
    events: int
    """Counted resource events."""
    yes: int
    """Taken up."""
    no: int
    """Seen and not taken up."""
    unknown: int
    """Undecided."""
    open: int
    """Unknown events with shown content: they make the rate an interval."""
    rate_low: float | None
    """yes / (yes + no + open); None if the divisor is 0 (measures §4)."""
    rate_high: float | None
    """(yes + open) / (yes + no + open)."""
    without_navigation_low: float | None
    """rate_low without uses that only led to another resource."""
    without_navigation_high: float | None
    """rate_high without these uses."""
    unread: tuple[tuple[str, str], ...] = ()
    """(trajectory, reason) of every unreadable log: without verdicts, not "no"."""


class JudgedTrajectory(Struct, frozen=True):
    """The verdicts on one trajectory."""

    verdicts: tuple[Verdict, ...] = ()
    """One per counted event."""
    uses: tuple[UnitUse, ...] = ()
    """Knowledge units whose lines prove uses; empty without a knowledge map."""
    effects: tuple[LocalEffect, ...] = ()
    """Local effects of its calls."""
    problem: str | None = None
    """Why its log is unreadable."""


class JudgeJob(Struct, frozen=True):
    """One trajectory to judge."""

    study: Path
    """Folder of the study."""
    name: str
    """Trial, or key of a foreign run."""
    judge: str
    """Name of the judge, or its module:attribute."""
    logged: LoggedRun | None = None
    """Place of its log; None for a trial of the study."""
    quotes: bool = True
    """Whether verdicts may quote the log."""


def judge_study(
    study: Path,
    judge: str = "tracing",
    *,
    again: bool = False,
    jobs: int = 1,
    progress: Listener = silent,
) -> JudgeSummary:
    """Judge every ingested trajectory; verdicts are stored as they arrive.

    Unchanged foreign runs that the same judge already judged are skipped, unless `again`.
    """
    kind = resolve(JUDGES, judge, "judge", Judge)
    database, label = StudyFolder.existing(study).existing_database, kind.name
    names = [str(row[0]) for row in run(database, "trajectory_names").rows]
    logged = {} if StudyFolder(study).planned else logged_runs(database, names)
    inputs = inputs_of(kind, judge, logged.values())
    quotes = keeps_quotes(study)
    unread = [(name, _TRUNCATED) for name, run in logged.items() if run.kept]
    # Fail before all the work if the database is not writable.
    with open_write(database) as store:
        before = {} if again else store.judged(label)
        held = {name for name, digest in before.items() if inputs.get(name) == digest}
        held.update(name for name, _ in unread)
    work = [
        JudgeJob(study, name, judge, logged.get(name), quotes) for name in names if name not in held
    ]
    done = 0
    for batch in batches(map_unordered(judge_one, work, workers_for(work, jobs))):
        read = [(job.name, found) for job, found in batch if found.problem is None]
        verdicts = [verdict for _, found in read for verdict in found.verdicts]
        uses = [use for _, found in read for use in found.uses]
        with open_write(database, wait=WAIT_SECONDS) as store:  # closed between batches for readers
            store.put_effects(
                [job.name for job, _ in batch], [one for _, found in batch for one in found.effects]
            )
            store.put_judged(label, {name: inputs.get(name) for name, _ in read}, verdicts, uses)
        unread += [(job.name, found.problem) for job, found in batch if found.problem]
        done += len(batch)
        progress(Progress("judge", done, len(work), batch[-1][0].name))
    return summary_of(database, label, len(names), sorted(unread))


def inputs_of(kind: Any, judge: str, logged: Iterable[LoggedRun]) -> dict[str, str]:
    """Return foreign run -> digest of its files and of the judge with its prompt and rubric."""
    rubrics = [path.read_bytes().hex() for path in sorted(data_dir("rubrics").glob("*.yaml"))]
    prompt = getattr(kind, "prompt_sha256", None)
    own = digest_json([code_digest("judge"), file_digest(judge), prompt, rubrics])
    return {run.trajectory: digest_json([own, run.group]) for run in logged if run.group}


def summary_of(
    database: Path, judge: str, names: int, unread: list[tuple[str, str]]
) -> JudgeSummary:
    """Return a judge's summary from its stored verdicts."""
    (row,) = run(database, _SUMMARY, judge=judge).records()
    return JudgeSummary(judge=judge, trajectories=names, unread=tuple(unread), **row)


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in batches of `BATCH_SECONDS`; after an error, the finished items first."""
    batch: list[Item] = []
    begun = time.monotonic()
    stopped: SkilljurorError | None = None
    try:
        for item in items:
            batch.append(item)
            if time.monotonic() - begun >= BATCH_SECONDS:
                yield batch
                batch, begun = [], time.monotonic()
    except SkilljurorError as error:
        stopped = error
    if batch:
        yield batch
    if stopped:
        raise stopped


def judge_one(job: JudgeJob) -> JudgedTrajectory:
    """Judge one trajectory, read from its raw log."""
    try:
        trajectory, manifest, units = load_run(job)
    except TrajectoryError as error:
        return JudgedTrajectory(problem=error.message)
    if trajectory is None:
        return JudgedTrajectory(problem="the trial has no readable log")
    attribution = attribute(trajectory, manifest)
    judge: Judge = resolve(JUDGES, job.judge, "judge", Judge)()
    said = judge.judge(job.name, trajectory, attribution.events, attribution.manifest)
    verdicts, uses = place_uses(said, attribution.events, attribution.manifest, units)
    found = effects(job.name, trajectory, attribution.events)
    if not job.quotes:
        verdicts, found = list(map(unquoted_verdict, verdicts)), list(map(unquoted_effect, found))
    return JudgedTrajectory(tuple(verdicts), tuple(uses), tuple(found))


def load_run(
    job: JudgeJob,
) -> tuple[Trajectory | None, SkillManifest | None, tuple[MappedUnit, ...]]:
    """Read a run, the manifest of its Skills and their knowledge map. Raises TrajectoryError."""
    if job.logged is not None:
        return read_logged(job.logged), None, ()
    trial = read_trial(job.study, job.name)
    return trial.trajectory, trial.manifest, trial.units

"""Labelling the resource events of a study, trajectory by trajectory."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from skilljuror.attribution.attribute import attribute
from skilljuror.errors import SkilljurorError, TrajectoryError
from skilljuror.files import StudyFolder, data_dir, digest_json
from skilljuror.judge import JUDGES
from skilljuror.judge.base import Judge
from skilljuror.judge.effects import effects
from skilljuror.models.events import SkillManifest
from skilljuror.models.measure import LocalEffect, Verdict
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.ingestion.logs import LoggedRun, logged_runs, read_logged
from skilljuror.pipeline.ingestion.quotes import keeps_quotes, unquoted_effect, unquoted_verdict
from skilljuror.pipeline.ingestion.reader import code_digest, file_digest
from skilljuror.pipeline.ingestion.trials import read_trial
from skilljuror.pipeline.lookup import database_of
from skilljuror.pipeline.workers import Listener, Progress, map_unordered, silent
from skilljuror.queries.run import run
from skilljuror.registry import resolve
from skilljuror.store import open_write

BATCH_SECONDS = 2.0
"""Seconds of work whose verdicts are stored together: what a kill can lose."""
WAIT_SECONDS = 600.0
"""Seconds that verdicts wait for others to close the database: more than a question takes."""
_KEPT = "its files became shorter than what is held; its verdicts stay as they are"
Item = TypeVar("Item")


class JudgeSummary(Struct, frozen=True):
    """What a judge said in all."""

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
    """Nothing to go by; outside the rate."""
    not_seen_again: int
    """Of the unknown, those shown and recognisable that nothing later repeats."""
    unparsed: int
    """Of the unknown, those on which a model gave no usable answer."""
    rate_low: float | None
    """yes / (yes + no + not_seen_again + unparsed); None when that is 0 (measures §4)."""
    rate_high: float | None
    """(yes + not_seen_again + unparsed) / the same."""
    unread: tuple[tuple[str, str], ...] = ()
    """(trajectory, reason) of every log that could not be read again: without verdicts, not "no"."""


class JudgedTrajectory(Struct, frozen=True):
    """What became of one trajectory."""

    verdicts: tuple[Verdict, ...] = ()
    """One per counted event."""
    effects: tuple[LocalEffect, ...] = ()
    """What came of its calls."""
    problem: str | None = None
    """Why its log could not be read again."""


class JudgeJob(Struct, frozen=True):
    """One trajectory to judge."""

    study: Path
    """Folder of the study."""
    name: str
    """Trial, or key of a foreign run."""
    judge: str
    """Name of the judge, or its module:attribute."""
    logged: LoggedRun | None = None
    """Where its log is; None for a trial of the study."""
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
    """Judge every ingested trajectory; verdicts are stored as they come.

    Foreign runs that the same judge judged as their files are now are left out, unless `again`.
    """
    kind = resolve(JUDGES, judge, "judge", Judge)
    database, label = database_of(study), kind.name
    names = [str(row[0]) for row in run(database, "trajectory_names").rows]
    logged = {} if StudyFolder(study).planned else logged_runs(database, names)
    inputs = inputs_of(kind, judge, logged.values())
    quotes = keeps_quotes(study)
    unread = [(name, _KEPT) for name, run in logged.items() if run.kept]
    # One that cannot be written is refused here, rather than after all the work.
    with open_write(database) as store:
        before = {} if again else store.judged(label)
        held = {name for name, digest in before.items() if inputs.get(name) == digest}
        held.update(name for name, _ in unread)
        said = Counter(store.verdict_counts(label, sorted(held)))
    work = [
        JudgeJob(study, name, judge, logged.get(name), quotes) for name in names if name not in held
    ]
    done = 0
    for batch in batches(map_unordered(judge_one, work, jobs)):
        read = [(job.name, found.verdicts) for job, found in batch if found.problem is None]
        verdicts = [verdict for _, found in read for verdict in found]
        with open_write(database, wait=WAIT_SECONDS) as store:  # others read it in between
            store.put_effects(
                [job.name for job, _ in batch], [one for _, found in batch for one in found.effects]
            )
            store.put_judged(label, {name: inputs.get(name) for name, _ in read}, verdicts)
        said.update((verdict.label, verdict.category) for verdict in verdicts)
        unread += [(job.name, found.problem) for job, found in batch if found.problem]
        done += len(batch)
        progress(Progress("judge", done, len(work), batch[-1][0].name))
    return summary_of(label, len(names), said, sorted(unread))


def inputs_of(kind: Any, judge: str, logged: Iterable[LoggedRun]) -> dict[str, str]:
    """Foreign run -> digest of its files, and of the judge with its prompt and its rubric."""
    rubrics = [path.read_bytes().hex() for path in sorted(data_dir("rubrics").glob("*.yaml"))]
    prompt = getattr(kind, "prompt_sha256", None)
    own = digest_json([code_digest("judge"), file_digest(judge), prompt, rubrics])
    return {run.trajectory: digest_json([own, run.group]) for run in logged if run.group}


def summary_of(
    judge: str, names: int, said: Counter[tuple[str, str]], unread: list[tuple[str, str]]
) -> JudgeSummary:
    """What a judge said of all runs, from the counts of (label, category)."""
    labels: Counter[str] = Counter()
    for (label, _), count in said.items():
        labels[label] += count
    yes, no, again = labels["yes"], labels["no"], said["unknown", "not_seen_again"]
    unparsed = said["unknown", "unparsed"]
    decidable = yes + no + again + unparsed
    return JudgeSummary(
        judge=judge,
        trajectories=names,
        events=labels.total(),
        yes=yes,
        no=no,
        unknown=labels["unknown"],
        not_seen_again=again,
        unparsed=unparsed,
        rate_low=yes / decidable if decidable else None,
        rate_high=(yes + again + unparsed) / decidable if decidable else None,
        unread=tuple(unread),
    )


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items as they come, gathered for `BATCH_SECONDS`; where work stops for an error, all until then."""
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
    """The verdicts on one trajectory, read again from its raw log."""
    try:
        trajectory, manifest = load_run(job)
    except TrajectoryError as error:
        return JudgedTrajectory(problem=error.message)
    if trajectory is None:
        return JudgedTrajectory(problem="the trial left no log that can be read")
    attribution = attribute(trajectory, manifest)
    judge: Judge = resolve(JUDGES, job.judge, "judge", Judge)()
    verdicts = judge.judge(job.name, trajectory, attribution.events, attribution.manifest)
    came = effects(job.name, trajectory, attribution.events)
    if not job.quotes:
        verdicts, came = map(unquoted_verdict, verdicts), list(map(unquoted_effect, came))
    return JudgedTrajectory(tuple(verdicts), tuple(came))


def load_run(job: JudgeJob) -> tuple[Trajectory | None, SkillManifest | None]:
    """The run and what it was offered, read again. Raises TrajectoryError."""
    if job.logged is not None:
        return read_logged(job.logged), None
    trial = read_trial(job.study, job.name)
    return trial.trajectory, trial.manifest

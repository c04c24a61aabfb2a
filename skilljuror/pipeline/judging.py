"""Labelling the resource events of a study, trajectory by trajectory."""

from pathlib import Path

from msgspec import Struct

from skilljuror.attribution.attribute import attribute
from skilljuror.errors import TrajectoryError
from skilljuror.files import StudyFolder
from skilljuror.judge import JUDGES
from skilljuror.judge.base import Judge
from skilljuror.models.events import SkillManifest
from skilljuror.models.measure import Verdict
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.ingestion.logs import read_logged
from skilljuror.pipeline.ingestion.trials import read_trial
from skilljuror.pipeline.lookup import database_of
from skilljuror.pipeline.workers import Listener, Progress, map_unordered, silent
from skilljuror.queries.run import run
from skilljuror.registry import resolve
from skilljuror.store import open_write


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
    rate: float | None
    """yes / (yes + no); None when nothing could be decided (measures §4)."""
    unread: tuple[tuple[str, str], ...] = ()
    """(trajectory, reason) of every log that could not be read again: without verdicts, not "no"."""


class JudgedTrajectory(Struct, frozen=True):
    """What became of one trajectory."""

    verdicts: tuple[Verdict, ...] = ()
    """One per counted event."""
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


def judge_study(
    study: Path, judge: str = "tracing", *, jobs: int = 1, progress: Listener = silent
) -> JudgeSummary:
    """Judge every ingested trajectory and put the verdicts into the database."""
    database, label = database_of(study), resolve(JUDGES, judge, "judge", Judge).name
    with open_write(database):
        pass  # one that cannot be written is refused here, rather than after all the work
    names = [str(row[0]) for row in run(database, "trajectory_names").rows]
    work = [JudgeJob(study, name, judge) for name in names]
    verdicts: list[Verdict] = []
    unread: list[tuple[str, str]] = []
    for done, (job, judged) in enumerate(map_unordered(judge_one, work, jobs), start=1):
        verdicts.extend(judged.verdicts)
        if judged.problem is not None:
            unread.append((job.name, judged.problem))
        progress(Progress("judge", done, len(work), job.name))
    with open_write(database) as store:
        store.put_verdicts(verdicts)
    labels = [verdict.label for verdict in verdicts]
    yes, no = labels.count("yes"), labels.count("no")
    return JudgeSummary(
        judge=label,
        trajectories=len(names),
        events=len(verdicts),
        yes=yes,
        no=no,
        unknown=labels.count("unknown"),
        rate=yes / (yes + no) if yes + no else None,
        unread=tuple(sorted(unread)),
    )


def judge_one(job: JudgeJob) -> JudgedTrajectory:
    """The verdicts on one trajectory, read again from its raw log."""
    try:
        trajectory, manifest = _load(job)
    except TrajectoryError as error:
        return JudgedTrajectory(problem=error.message)
    if trajectory is None:
        return JudgedTrajectory(problem="the trial left no log that can be read")
    attribution = attribute(trajectory, manifest)
    judge: Judge = resolve(JUDGES, job.judge, "judge", Judge)()
    verdicts = judge.judge(job.name, trajectory, attribution.events, attribution.manifest)
    return JudgedTrajectory(tuple(verdicts))


def _load(job: JudgeJob) -> tuple[Trajectory | None, SkillManifest | None]:
    if StudyFolder(job.study).planned:
        trial = read_trial(job.study, job.name)
        return trial.trajectory, trial.manifest
    return read_logged(StudyFolder(job.study).database, job.name), None

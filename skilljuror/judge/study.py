"""Label the resource events of a study, trajectory by trajectory, and draw the sample of uses that people label."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import InUseError, SkilljurorError, TrajectoryError, resolve
from skilljuror.base.files import (
    StudyFolder,
    data_dir,
    digest_json,
    path_of,
    read_record,
    write_record,
)
from skilljuror.base.results import UnitUse, Verdict
from skilljuror.base.review import LabelSample, SampledUse
from skilljuror.base.skill import CONTENT_KINDS, MappedUnit
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory
from skilljuror.base.workers import Listener, Progress, map_unordered, silent, workers_for
from skilljuror.events.attribute import attribute
from skilljuror.events.exposure import units_by_resource
from skilljuror.judge import JUDGES, Judge
from skilljuror.logs.discovery import facts_at
from skilljuror.measures.agreement import stratified_sample
from skilljuror.store import open_write
from skilljuror.store.logs import LoggedRun, logged_runs, read_logged
from skilljuror.store.questions import run
from skilljuror.store.records import keeps_quotes
from skilljuror.store.rows import code_digest, file_digest, unquoted_verdict
from skilljuror.store.trials import read_trial

LOG = logging.getLogger(__name__)
BATCH_SECONDS = 2.0
"""Seconds of work whose verdicts are stored together: the maximum loss if killed."""
WAIT_SECONDS = 600.0
"""Seconds to wait until others close the database: longer than a query takes."""
LABELS = 100
"""Default size of the sample: 100 uses estimate a share to 10 points."""
SAMPLE_WAIT_SECONDS = 5.0
"""The same for the sample, which the next use stores."""
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
_DECIDED_MOST = """
SELECT judge FROM verdicts JOIN uses USING (event)
GROUP BY judge ORDER BY count(*) FILTER (WHERE label <> 'unknown') DESC, judge LIMIT 1
"""
_USES = """
SELECT condition, answer, total, unnest(first, recursive := true)
FROM (
    SELECT
        r.condition, coalesce(if(v.category = 'not_seen_again', v.category, v.label), 'not_judged') AS answer,
        count(*) AS total,
        arg_min(
            {'event': u.event, 'run': u.run, 'task': coalesce(r.task, '')},
            sha256(concat(CAST($seed AS BIGINT), chr(10), u.event)), CAST($size AS BIGINT)
        ) AS first
    FROM uses AS u
    JOIN runs AS r ON r.run = u.run
    LEFT JOIN verdicts AS v ON v.event = u.event AND v.judge = CAST($judge AS VARCHAR)
    GROUP BY ALL
)
"""
"""The first uses of each stratum, in the order of `stratified_sample`, and its size."""
_UNJUDGED = """
SELECT t.trial, t.source
FROM trajectories AS t
WHERE t.trajectory IN (SELECT DISTINCT trajectory FROM uses)
    AND t.trajectory NOT IN (
        SELECT trajectory FROM verdict_counts WHERE judge = CAST($judge AS VARCHAR) AND NOT bundled
    )
"""
_KEPT = "SELECT event, condition, answer, probability FROM label_sample ORDER BY position"
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

    Unchanged runs that the same judge already judged are skipped, unless `again`.
    """
    kind = resolve(JUDGES, judge, "judge", Judge)
    folder, label = StudyFolder.existing(study), kind.name
    database = folder.existing_database
    names = [str(row[0]) for row in run(database, "trajectory_names").rows]
    logged = {} if folder.planned else logged_runs(database, names)
    inputs = inputs_of(kind, judge, groups_of(folder, names, logged))
    quotes = keeps_quotes(study)
    unread = [(name, _TRUNCATED) for name, run in logged.items() if run.kept]
    # Fail before all the work if the database is not writable.
    with open_write(database) as store:
        before = {} if again else store.judged(label)
        held = {name for name, digest in before.items() if inputs.get(name) == digest}
        held.update(name for name, _ in unread)
        used = {str(row[0]) for row in store.rows("SELECT DISTINCT run FROM uses")}
        unused = logged.keys() - held - used
        store.put_judged(label, {name: inputs.get(name) for name in unused}, ())
    held |= unused
    work = [
        JudgeJob(study, name, judge, logged.get(name), quotes) for name in names if name not in held
    ]
    done = 0
    for batch in batches(map_unordered(judge_one, work, workers_for(work, jobs))):
        read = [(job.name, judged) for job, judged in batch if judged.problem is None]
        verdicts = [verdict for _, judged in read for verdict in judged.verdicts]
        uses = [use for _, judged in read for use in judged.uses]
        with open_write(database, wait=WAIT_SECONDS) as store:  # closed between batches for readers
            store.put_judged(label, {name: inputs.get(name) for name, _ in read}, verdicts, uses)
        unread += [(job.name, judged.problem) for job, judged in batch if judged.problem]
        done += len(batch)
        progress(Progress("judge", done, len(work), batch[-1][0].name))
    return summary_of(database, label, len(names), sorted(unread))


def groups_of(
    folder: StudyFolder, names: Iterable[str], logged: Mapping[str, LoggedRun]
) -> dict[str, str | None]:
    """Return run -> digest of the files it is judged by, for a trial with the facts of all Skills of the study; None
    if they may have changed."""
    if not folder.planned:
        return {name: one.group for name, one in logged.items()}
    skills = [facts_at(folder.builds), facts_at(folder.given)]
    return {name: digest_json([skills, facts_at(folder.trial(name))]) for name in names}


def inputs_of(kind: Any, judge: str, groups: Mapping[str, str | None]) -> dict[str, str]:
    """Return run -> digest of its files and of the judge with its prompt and rubric."""
    rubrics = [path.read_bytes().hex() for path in sorted(data_dir("rubrics").glob("*.yaml"))]
    prompt = getattr(kind, "prompt_sha256", None)
    own = digest_json([code_digest("judge"), file_digest(judge), prompt, rubrics])
    return {name: digest_json([own, group]) for name, group in groups.items() if group}


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
    if not job.quotes:
        verdicts = list(map(unquoted_verdict, verdicts))
    return JudgedTrajectory(tuple(verdicts), tuple(uses))


def load_run(
    job: JudgeJob,
) -> tuple[Trajectory | None, SkillManifest | None, tuple[MappedUnit, ...]]:
    """Read a run, the manifest of its Skills and their knowledge map. Raises TrajectoryError."""
    if job.logged is not None:
        return read_logged(job.logged), None, ()
    trial = read_trial(job.study, job.name)
    return trial.trajectory, trial.manifest, trial.units


def place_uses(
    verdicts: Iterable[Verdict],
    events: Iterable[ResourceEvent],
    manifest: SkillManifest,
    units: Iterable[MappedUnit] = (),
) -> tuple[list[Verdict], list[UnitUse]]:
    """Return the verdicts with the line of the resource that each quotes, and the units of the lines that
    prove uses.

    A line that its event showed goes before an equal one elsewhere in the file. A line that the resource
    does not have proves the use of no unit.
    """
    by_id = {event.event: event for event in events}
    lines: dict[tuple[str, str], dict[str, list[int]]] = {}
    for resource in manifest.resources:
        of_text = lines.setdefault((resource.skill, resource.path), {})
        for number, line in enumerate((resource.text or "").splitlines(), 1):
            of_text.setdefault(line.strip(), []).append(number)
    places = units_by_resource(
        (mapped for mapped in units if mapped.unit.kind in CONTENT_KINDS),
        manifest.variant or "",
        manifest.skills,
    )
    placed: list[Verdict] = []
    uses: dict[UnitUse, None] = {}
    for verdict in verdicts:
        event = by_id[verdict.event]
        key = event.skill, event.resource
        numbers = [
            (_line_of(lines.get(key, {}).get(text.strip(), []), event), step)
            for text, step in verdict.used
        ]
        placed.append(replace(verdict, source_line=numbers[0][0]) if numbers else verdict)
        uses |= {
            UnitUse(verdict.trial, verdict.judge, event.event, unit, step): None
            for number, step in numbers
            for unit, place in places.get(key, ())
            if number is not None and place.start <= number <= place.end
        }
    return placed, list(uses)


def _line_of(numbers: list[int], event: ResourceEvent) -> int | None:
    """The first of some lines that an event showed, else the first."""
    shown = (n for n in numbers if any(first <= n <= last for first, last in event.lines or ()))
    return next(iter([*shown, *numbers]), None)


def label_sample(study: Path, size: int = LABELS, seed: int = 0) -> LabelSample:
    """Return the study's sample of uses for people to label, from all conditions and all answers of
    the judge that decided most.

    The first call draws it and stores it in `label-sample.json`, because labels need the probabilities
    of their sample; delete the file to draw another one. Raises StudyError.
    """
    folder = StudyFolder.existing(study)
    if folder.label_sample.is_file():
        sample = read_record(LabelSample, folder.label_sample)
    else:
        database = folder.existing_database
        judge = _decided_most(database)
        rows = run(database, _USES, judge=judge, seed=seed, size=size).records()
        totals = {(row["condition"], row["answer"]): row.pop("total") for row in rows}
        uses = {row["event"]: row for row in rows}
        strata = {event: (row["condition"], row["answer"]) for event, row in uses.items()}
        drawn = stratified_sample(strata, size, seed, totals)
        chosen = (SampledUse(**uses[use.item], probability=use.probability) for use in drawn)
        sample = LabelSample(
            seed=seed, judge=judge, uses=sum(totals.values()), sample=tuple(chosen)
        )
        write_record(folder.label_sample, sample)
    if folder.database.is_file():
        _store_sample(folder.database, sample.sample)
    return sample


def runs_to_judge(database: Path) -> int:
    """Return the number of runs with uses that the judge that decided most has not judged, without
    foreign runs whose log is missing."""
    rows = run(database, _UNJUDGED, judge=_decided_most(database)).rows
    return sum(trial is not None or path_of(source).exists() for trial, source in rows)


def _decided_most(database: Path) -> str | None:
    return next((str(row[0]) for row in run(database, _DECIDED_MOST).rows), None)


def _store_sample(database: Path, sample: Sequence[SampledUse]) -> None:
    """Store the sample in the database; if it stays in use, the next call does."""
    rows = [(use.event, use.condition, use.answer, use.probability) for use in sample]
    if [tuple(row) for row in run(database, _KEPT).rows] == rows:
        return
    try:
        with open_write(database, wait=SAMPLE_WAIT_SECONDS) as store:
            store.put("label_sample", sample)
    except InUseError as error:
        LOG.warning("%s; the sample is saved, and the next use or ingest stores it", error)

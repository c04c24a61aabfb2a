"""The sample of uses for people to label: drawn once, stored with its probabilities."""

import logging
from collections.abc import Sequence
from pathlib import Path

from skilljuror.base.errors import InUseError
from skilljuror.base.files import StudyFolder, path_of, read_record, write_record
from skilljuror.base.review import LabelSample, SampledUse
from skilljuror.measures.stats.sampling import stratified_sample
from skilljuror.store import open_write
from skilljuror.store.questions.run import run

LOG = logging.getLogger(__name__)
LABELS = 100
"""Default size of the sample: 100 uses estimate a share to 10 points."""
WAIT_SECONDS = 5.0
"""Seconds to wait until others close the database."""

_DECIDED_MOST = """
SELECT judge FROM verdicts JOIN uses USING (event)
GROUP BY judge ORDER BY count(*) FILTER (WHERE label <> 'unknown') DESC, judge LIMIT 1
"""
_USES = """
SELECT
    u.event, u.run, coalesce(r.task, '') AS task, r.condition,
    coalesce(if(v.category = 'not_seen_again', v.category, v.label), 'not_judged') AS answer
FROM uses AS u
JOIN runs AS r ON r.run = u.run
LEFT JOIN verdicts AS v ON v.event = u.event AND v.judge = CAST($judge AS VARCHAR)
ORDER BY u.event
"""
_UNJUDGED = """
SELECT t.trial, t.source
FROM uses AS u
JOIN trajectories AS t ON t.trajectory = u.trajectory
LEFT JOIN verdicts AS v ON v.event = u.event AND v.judge = CAST($judge AS VARCHAR)
GROUP BY t.trajectory, t.trial, t.source
HAVING count(v.event) = 0
"""
_KEPT = "SELECT event, condition, answer, probability FROM label_sample ORDER BY position"


def label_sample(study: Path, size: int = LABELS, seed: int = 0) -> LabelSample:
    """Return the study's sample of uses for people to label, from all conditions and all answers of
    the judge that decided most.

    The first call draws it and stores it in `label-sample.json`, because labels need the probabilities
    of their sample; delete the file to draw another one. Raises StudyError.
    """
    folder = StudyFolder.existing(study)
    if folder.label_sample.is_file():
        made = read_record(LabelSample, folder.label_sample)
    else:
        made = _drawn(StudyFolder.existing(study).existing_database, size, seed)
        write_record(folder.label_sample, made)
    if folder.database.is_file():
        _store(folder.database, made.sample)
    return made


def runs_to_judge(database: Path) -> int:
    """Return the number of runs with uses that the judge that decided most has not judged, without
    foreign runs whose log is missing."""
    rows = run(database, _UNJUDGED, judge=_decided_most(database)).rows
    return sum(trial is not None or path_of(source).exists() for trial, source in rows)


def _decided_most(database: Path) -> str | None:
    return next((str(row[0]) for row in run(database, _DECIDED_MOST).rows), None)


def _drawn(database: Path, size: int, seed: int) -> LabelSample:
    judge = _decided_most(database)
    uses = {row["event"]: row for row in run(database, _USES, judge=judge).records()}
    strata = {event: (row["condition"], row["answer"]) for event, row in uses.items()}
    drawn = stratified_sample(strata, size, seed)
    return LabelSample(
        seed=seed,
        judge=judge,
        uses=len(uses),
        sample=tuple(SampledUse(**uses[one.item], probability=one.probability) for one in drawn),
    )


def _store(database: Path, sample: Sequence[SampledUse]) -> None:
    """Store the sample in the database; if it stays in use, the next call does."""
    rows = [(one.event, one.condition, one.answer, one.probability) for one in sample]
    if [tuple(row) for row in run(database, _KEPT).rows] == rows:
        return
    try:
        with open_write(database, wait=WAIT_SECONDS) as store:
            store.put_label_sample(sample)
    except InUseError as error:
        LOG.warning("%s; the sample is saved, and the next use or ingest stores it", error)

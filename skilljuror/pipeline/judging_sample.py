"""The sample of uses that people label: drawn once, kept with its probabilities."""

from pathlib import Path

from skilljuror.files import StudyFolder, read_record, write_record
from skilljuror.models.label_sample import LabelSample, SampledUse
from skilljuror.pipeline.lookup import database_of
from skilljuror.queries.run import run
from skilljuror.stats.sampling import stratified_sample
from skilljuror.store import open_write

LABELS = 100
"""Uses that people are asked about, unless told otherwise: with 100 a share is known to 10 points."""

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


def label_sample(study: Path, size: int = LABELS, seed: int = 0) -> LabelSample:
    """The study's sample of uses for people to label, from all conditions and from all answers of the
    judge that decided most.

    It is drawn at the first call and kept in `label-sample.json`, for labels speak for all uses only
    with the probabilities that they were drawn with; delete the file to draw anew. Raises StudyError.
    """
    path = StudyFolder.existing(study).label_sample
    if path.is_file():
        return read_record(LabelSample, path)
    database = database_of(study)
    judge = next((str(row[0]) for row in run(database, _DECIDED_MOST).rows), None)
    uses = {row["event"]: row for row in run(database, _USES, judge=judge).records()}
    strata = {event: (row["condition"], row["answer"]) for event, row in uses.items()}
    drawn = stratified_sample(strata, size, seed)
    made = LabelSample(
        seed=seed,
        judge=judge,
        uses=len(uses),
        sample=tuple(SampledUse(**uses[one.item], probability=one.probability) for one in drawn),
    )
    write_record(path, made)
    with open_write(database) as store:
        store.put_label_sample(made.sample)
    return made

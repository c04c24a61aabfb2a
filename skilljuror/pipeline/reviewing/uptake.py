"""Sampled events as questions: what was shown, and what the agent then did."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skilljuror.errors import SkilljurorError
from skilljuror.files import StudyFolder
from skilljuror.judge.by_model.excerpts import RunStep, excerpt_of
from skilljuror.models.review_queue import ReviewItem, ReviewText
from skilljuror.pipeline.judging_sample import label_sample, runs_to_judge
from skilljuror.pipeline.lookup import look_up
from skilljuror.pipeline.reviewing.question import Question
from skilljuror.queries.run import run

LOG = logging.getLogger(__name__)
PREFIX = "uptake:"
ASKED = "Did what the agent was shown here become visible work later on?"
ANSWERS = ("yes", "no", "unknown")
SUSPICION = 0.3
"""The same for all: they are asked in the order in which they were drawn, so that whoever stops early
has a sample, and nothing of the judge shows in the order."""
SHOWN = 20_000
"""Characters of each text that are laid out."""

_ANY_VERDICT = "SELECT 1 FROM verdicts LIMIT 1"
_EVENTS = """
SELECT
    e.event, coalesce(t.trial, t.trajectory) AS run, e.skill, e.resource, e.kind, e.step, e.agent,
    event_digest(e.event, e.file, e.line, e.agent, e.step, e.skill, e.resource, e.kind) AS seen,
    (
        SELECT string_agg(v.judge || ': ' || v.label || ' (' || v.category || ')', '; ' ORDER BY v.judge)
        FROM verdicts AS v WHERE v.event = e.event
    ) AS machine
FROM events AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
WHERE e.counted AND list_contains(CAST($events AS VARCHAR[]), e.event)
"""


def sampled_events(place: Path) -> list[str]:
    """Ids of the events that people are asked about, in order; none before a judge has judged every run,
    for what is not judged when the sample is drawn is no answer of the judge."""
    study = StudyFolder(place)
    if not study.database.is_file() or not run(study.database, _ANY_VERDICT).rows:
        return []
    if not study.label_sample.is_file() and (waiting := runs_to_judge(study.database)):
        LOG.warning(
            "no events are drawn for people yet: %d runs are not judged; `skilljuror judge %s` first",
            waiting, place,
        )  # fmt: skip
        return []
    made = label_sample(place)
    ((uses,),) = run(study.database, "SELECT count(*) FROM uses").rows
    if uses != made.uses:
        LOG.warning(
            "%s was drawn from %d uses and there are %d today: labels speak for those alone; delete it"
            " to draw anew (labels stay, those outside the new sample weigh nothing)",
            study.label_sample, made.uses, uses,
        )  # fmt: skip
    return [one.event for one in made.sample]


def event_questions(place: Path, events: Iterable[str]) -> list[Question]:
    """The questions about some events, in their order; an event that there is not has none."""
    wanted, database = list(events), StudyFolder(place).database
    if not wanted or not database.is_file():
        return []
    rows = {row["event"]: row for row in run(database, _EVENTS, events=wanted).records()}
    return [_question(place, rows[event]) for event in wanted if event in rows]


def _question(place: Path, row: dict[str, Any]) -> Question:
    name = f"{PREFIX}{row['event']}"
    item = ReviewItem(
        id=name,
        kind="uptake",
        title=f"{row['run']} · step {row['step']} · {row['kind']} {row['skill']}/{row['resource']}",
        question=ASKED,
        answers=ANSWERS,
        suspicion=SUSPICION,
        machine=row["machine"],
    )
    return Question(item, row["seen"], {name: StudyFolder(place).reviews})


def event_texts(place: Path, run_name: str, event: str, blind: bool) -> tuple[ReviewText, ...]:
    """What an event showed, what its agent then did, and the task, as a model that judges is told it;
    where its log is gone, why, but to a blind reviewer, for that names the run."""
    try:
        details = look_up(place, run_name)
    except SkilljurorError as error:
        return (ReviewText("the log cannot be read", "" if blind else str(error)),)
    if details.trajectory is None or event not in {one.event for one in details.events}:
        return (ReviewText("the log cannot be read", "it does not hold this event any more"),)
    seen = excerpt_of(details.trajectory, details.events, details.manifest, {event})
    (asked,) = seen.events
    return (
        ReviewText("what was shown", _cut(asked.shown)),
        ReviewText("what the agent then did", _cut("\n\n".join(map(_told, seen.steps)))),
        ReviewText("the task", _cut(seen.task)),
    )


def _told(step: RunStep) -> str:
    """A step as its agent wrote it, and how its calls went."""
    lines = [f"step {step.index}", step.words]
    for call in step.calls:
        ended = {True: "", False: " (failed)", None: ""}[call.ok]
        lines += [
            f"{call.tool}{ended}: {call.text}",
            *(f"  {one}" for one in call.output.splitlines()),
        ]
    return "\n".join(filter(None, lines))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n… {len(text) - SHOWN} characters more"

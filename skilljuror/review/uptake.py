"""Ask reviewers about sampled events: what was shown, and what the agent then did."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skilljuror.base.errors import SkilljurorError
from skilljuror.base.files import StudyFolder
from skilljuror.base.review import ReviewItem, ReviewText
from skilljuror.judge.by_model.excerpts import RunStep, excerpt_of
from skilljuror.judge.definition import load_definition
from skilljuror.judge.judging.sample import label_sample, runs_to_judge
from skilljuror.report.lookup import look_up
from skilljuror.review.findings import Question
from skilljuror.store.questions.run import run

LOG = logging.getLogger(__name__)
PREFIX = "uptake:"
ANSWERS = ("yes", "no", "unknown")
SUSPICION = 0.3
"""Equal for all events: they are asked in drawing order, so a partial review is still a sample and the order
reveals nothing of the judge."""
SHOWN = 20_000
"""Maximum characters of each text."""

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
    """List the sampled events in order; empty until a judge has judged every run, because an unjudged
    event has no answer of the judge."""
    study = StudyFolder(place)
    if not study.database.is_file() or not run(study.database, _ANY_VERDICT).rows:
        return []
    if not study.label_sample.is_file() and (waiting := runs_to_judge(study.database)):
        LOG.warning(
            "no events are sampled for review yet: %d runs are not judged; run `skilljuror judge %s`",
            waiting, place,
        )  # fmt: skip
        return []
    drawn = label_sample(place)
    ((uses,),) = run(study.database, "SELECT count(*) FROM uses").rows
    if uses != drawn.uses:
        LOG.warning(
            "%s samples %d uses, but there are %d now, so labels do not represent the new ones; delete it to"
            " resample (existing labels are kept; only those in the new sample count)",
            study.label_sample, drawn.uses, uses,
        )  # fmt: skip
    return [one.event for one in drawn.sample]


def event_questions(place: Path, events: Iterable[str]) -> list[Question]:
    """Return the questions about events, in order; unknown events are skipped."""
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
        question=load_definition().question,
        answers=ANSWERS,
        suspicion=SUSPICION,
        machine=row["machine"],
    )
    return Question(item, row["seen"], {name: StudyFolder(place).reviews})


def event_texts(place: Path, run_name: str, event: str, blind: bool) -> tuple[ReviewText, ...]:
    """Return what an event showed, what its agent then did, and the task, as for a judging model; for a
    missing log the reason, unless the reviewer is blind, because it names the run."""
    try:
        details = look_up(place, run_name)
    except SkilljurorError as error:
        return (ReviewText("the log cannot be read", "" if blind else str(error)),)
    if details.trajectory is None or event not in {one.event for one in details.events}:
        return (ReviewText("the log cannot be read", "it no longer contains this event"),)
    seen = excerpt_of(details.trajectory, details.events, details.manifest, {event})
    (asked,) = seen.events
    return (
        ReviewText("what was shown", _cut(asked.shown)),
        ReviewText("what the agent then did", _cut("\n\n".join(map(step_text, seen.steps)))),
        ReviewText("the task", _cut(seen.task)),
        ReviewText("what counts", "\n".join(f"- {rule}" for rule in load_definition().rules)),
    )


def step_text(step: RunStep) -> str:
    """Return a step as lines: its text, its calls and the beginning of their results."""
    lines = [f"step {step.index}", step.words]
    for call in step.calls:
        ended = {True: "", False: " (failed)", None: ""}[call.ok]
        lines += [
            f"{call.tool}{ended}: {call.text}",
            *(f"  {one}" for one in call.output.splitlines()),
        ]
    return "\n".join(filter(None, lines))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n… {len(text) - SHOWN} more characters"

"""Ask reviewers what went wrong in the failed trials of the treatment (rubrics/harm.yaml)."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from skilljuror.base.errors import SkilljurorError
from skilljuror.base.files import StudyFolder, data_dir
from skilljuror.base.review import ReviewItem, ReviewText
from skilljuror.base.review_rows import CODED, record_digest
from skilljuror.judge.by_model.excerpts import run_step
from skilljuror.report.lookup import look_up
from skilljuror.review.findings import Question
from skilljuror.review.uptake import SHOWN, step_text
from skilljuror.store.questions.run import run

SUSPICION = 0.001
"""Review priority, after all other questions; up to twice as high where the control solves the task."""
_FAILED = """
SELECT
    r.run, r.status, r.reward, r.exception,
    coalesce(avg(if(c.reward = 1, 1, 0)) FILTER (c.run IS NOT NULL), 0) AS control_rate,
    (
        SELECT string_agg(k.outcome || ' ' || k.name || coalesce(': ' || k.said, ''), chr(10) ORDER BY k.source, k.name)
        FROM check_results AS k WHERE k.trial = r.run AND k.outcome IN ('failed', 'error')
    ) AS checks,
    (
        SELECT string_agg(DISTINCT k.label, ', ' ORDER BY k.label) FROM check_results AS k WHERE k.trial = r.run
    ) AS labels
FROM study AS s
JOIN arm_runs AS r ON r.condition = s.treatment AND r.usable AND r.verified AND r.reward IS DISTINCT FROM 1
JOIN conditions AS a ON a.condition = s.treatment AND a.variant IS NOT NULL
LEFT JOIN arm_runs AS c ON c.condition = s.control AND c.task = r.task AND c.usable
GROUP BY r.run, r.status, r.reward, r.exception
ORDER BY control_rate DESC, r.run
"""


@lru_cache(maxsize=1)
def harm_codes() -> dict[str, Any]:
    """Return the packaged lists: kind of question -> question and codes with their meaning."""
    lists: dict[str, Any] = yaml.safe_load((data_dir("rubrics") / "harm.yaml").read_bytes())[
        "lists"
    ]
    return lists


def harm_questions(place: Path) -> list[Question]:
    """Return the questions about each usable trial of the treatment that its verifier did not pass: how the
    Skill may have led it astray, and, if a verifier scored it, what it failed on; [] without a Skill."""
    folder = StudyFolder(place)
    if not folder.planned or not folder.database.is_file():
        return []
    rows = run(folder.database, _FAILED).records()
    return [
        _question(folder, kind, row)
        for row in rows
        for kind in CODED
        if kind == "pattern" or row["status"] == "scored"
    ]


def _question(folder: StudyFolder, kind: Any, row: dict[str, Any]) -> Question:
    trial, asked = row["run"], harm_codes()[kind]
    name = f"{kind}:{trial}"
    item = ReviewItem(
        id=name,
        kind=kind,
        title=f"{trial} · {row['exception'] or row['status']}, reward {row['reward']}",
        question=asked["question"],
        answers=tuple(asked["codes"]),
        suspicion=SUSPICION * (1 + row["control_rate"]),
        texts=(ReviewText("failed checks", row["checks"] or ""),),
        machine=f"checks: {row['labels']}" if row["labels"] and kind == "failure" else None,
    )
    return Question(item, record_digest(folder, trial), {name: folder.reviews})


def trial_texts(place: Path, item: ReviewItem, blind: bool) -> tuple[ReviewText, ...]:
    """Return what a trial's verifier and agent said, its task, and the codes; for a missing log the reason,
    unless the reviewer is blind, because it names the trial."""
    codes = "\n".join(
        f"- {code}: {text}" for code, text in harm_codes()[item.kind]["codes"].items()
    )
    try:
        details = look_up(place, item.id.partition(":")[2])
    except SkilljurorError as error:
        return (ReviewText("the log cannot be read", "" if blind else str(error)),)
    steps = details.trajectory.steps if details.trajectory else ()
    prompts = details.trajectory.messages if details.trajectory else ()
    texts = {
        "failed checks": item.texts[0].text or details.verifier or "",
        "what the agent did": "\n\n".join(step_text(run_step(step)) for step in steps),
        "the task": "\n\n".join(one.text for one in prompts if one.kind == "prompt"),
        "the codes": codes,
    }
    return tuple(ReviewText(heading, _middle_cut(text)) for heading, text in texts.items() if text)


def _middle_cut(text: str) -> str:
    if len(text) <= SHOWN:
        return text
    half = SHOWN // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} more characters …\n{text[-half:]}"

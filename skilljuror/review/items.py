"""Ask reviewers about items of a rubric that neither code nor a model decided, or two models answer differently."""

from pathlib import Path

from skilljuror.base.files import StudyFolder
from skilljuror.base.item_rows import ItemState, item_states
from skilljuror.base.review import ReviewItem, ReviewText
from skilljuror.harness.artifacts import WORK
from skilljuror.review.findings import Question, excerpt
from skilljuror.study.rubric_work import texts_in

ANSWERS = ("yes", "no", "unknown")
DISPUTED, UNJUDGED = 0.8, 0.5
"""Review priority."""
MAX_FILES = 8
"""Files of the work that are shown."""


def item_questions(place: Path) -> list[Question]:
    """Return one question per open item of a study's trials."""
    folder = StudyFolder(place)
    return [_question(folder, state) for state in item_states(folder) if state.open]


def _question(folder: StudyFolder, state: ItemState) -> Question:
    row = state.first
    item = ReviewItem(
        id=state.id,
        kind="item",
        title=f"{row.trial} · {row.rubric} · {row.item}",
        question=f"Does the work show this? {row.text}",
        answers=ANSWERS,
        suspicion=DISPUTED if state.disputed else UNJUDGED,
        texts=tuple(_texts(folder, state)),
        machine=state.reason,
    )
    return Question(item, row.seen, {state.id: folder.reviews})


def _texts(folder: StudyFolder, state: ItemState) -> list[ReviewText]:
    """The quoted files first, around their quotes."""
    files = texts_in(folder.trial_raw(state.first.trial) / WORK)
    places = {row.file: [(row.line, row.line)] for row in state.rows if row.line}
    order = sorted(files, key=lambda path: (path not in places, path.count("/"), path))
    return [
        excerpt(f"work · {path}", files[path], places.get(path, ())) for path in order[:MAX_FILES]
    ]

"""Ask reviewers whether a section belongs to the main path, where no rule of the plan engine can tell."""

from pathlib import Path

from skilljuror.base.errors import BundleError, TransformError
from skilljuror.base.review import Decision, ReviewItem, ReviewText
from skilljuror.base.review_rows import current_decisions, rows_of
from skilljuror.layouts.build.folder import RECORD
from skilljuror.layouts.build.scopes import ITEM, flat_page, is_model, scope_file
from skilljuror.layouts.disclosure.scope import open_sections
from skilljuror.review.findings import Question
from skilljuror.skill.bundles import load_bundle

ASKED = (
    "Does every task need this section (main), or only some tasks (branch)? In the layout pd the main path"
    " stays in the root, and a branch becomes a file that is opened on demand."
)
JUDGED, OPEN = 0.6, 0.4
"""Review priority of a section that a model judged, and of one that nobody judged."""


def scope_questions(place: Path) -> list[Question]:
    """Return one question per open section of the Skill or folder of Skills at `place`; [] for a study, a build
    and a source that `pd` cannot be made from. Answers are stored beside the source."""
    roots = [*place.glob("SKILL.md"), *place.glob("*/SKILL.md")]
    if not roots or (place / RECORD).is_file():
        return []
    try:
        sections = open_sections(flat_page(load_bundle(place, inspect=False)))
    except (BundleError, TransformError):
        return []
    store = scope_file(place)
    models = {
        row.seen: row for row in current_decisions(rows_of(Decision, store)) if is_model(row.by)
    }
    questions = {}
    for section in sections:
        item, judged = f"{ITEM}{section.key}", models.get(section.key)
        questions[item] = Question(
            ReviewItem(
                id=item,
                kind="scope",
                title=" · ".join([place.resolve().name, *section.above, section.title]),
                question=ASKED,
                answers=("main", "branch"),
                suspicion=JUDGED if judged else OPEN,
                texts=(ReviewText(f"source · {section.title}", section.text),),
                machine=f"{judged.answer} ({judged.by}): {judged.reason}" if judged else None,
            ),
            section.key,
            {item: store},
        )
    return list(questions.values())

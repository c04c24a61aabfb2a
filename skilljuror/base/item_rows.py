"""The verdicts on rubrics' items: from judged-items.jsonl and people's answers to rows of the database."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import NamedTuple, TypeVar

from skilljuror.base.files import StudyFolder, read_rows
from skilljuror.base.results import CheckOutcome, CheckResult
from skilljuror.base.review import Decision, JudgedItem
from skilljuror.base.review_rows import current_decisions, record_digest, rows_of

ITEM = "item:"
"""Prefix of a question about an item."""
CODE = "code"
_OUTCOMES: dict[str | None, CheckOutcome] = {"yes": "passed", "no": "failed", None: "unjudged"}
Row = TypeVar("Row")
Key = TypeVar("Key")
Value = TypeVar("Value")


class ItemState(NamedTuple):
    """An item of a trial with what all judges say of it."""

    rows: tuple[JudgedItem, ...]
    """Code's alone, or one per model; one without a judge if nobody was asked."""

    @property
    def first(self) -> JudgedItem:
        """The row that decides, or the first."""
        decided = [row for row in self.rows if row.answer]
        return (decided or list(self.rows))[0]

    @property
    def id(self) -> str:
        """Id of its question."""
        return f"{ITEM}{self.first.trial}/{self.first.rubric}/{self.first.item}"

    @property
    def disputed(self) -> bool:
        """Whether two models answer differently."""
        return len({row.answer for row in self.rows if row.answer}) > 1

    @property
    def open(self) -> bool:
        """Whether a person must decide."""
        return self.disputed or not self.first.answer

    @property
    def reason(self) -> str:
        """Why it is open."""
        if self.disputed:
            return "; ".join(f"{row.judge}: {row.answer}" for row in self.rows if row.answer)
        return "; ".join(filter(None, (row.reason for row in self.rows)))


def item_states(folder: StudyFolder) -> list[ItemState]:
    """Return the judged items of trials that were not rerun since, in order."""
    digest = cache(partial(record_digest, folder))
    judged = [*read_rows(JudgedItem, folder.judged_items)]
    finished = {*folder.finished_trials()} if judged else set()
    rows = (row for row in judged if row.trial in finished and row.record == digest(row.trial))
    return [ItemState(tuple(some)) for some in grouped(rows, item_key, lambda row: row).values()]


def item_key(row: JudgedItem) -> tuple[str, str, str]:
    """Return trial, rubric and item of a row."""
    return row.trial, row.rubric, row.item


def judged_states(folder: StudyFolder) -> list[tuple[ItemState, CheckResult]]:
    """Return the items with their rows of the database: the first of code, model and people that decides
    counts; people decide what is open, if they agree."""
    people: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in current_decisions(rows_of(Decision, folder.reviews)):
        people[row.item, row.seen][row.by] = row.answer
    return [
        (state, _result(state, people[state.id, state.first.seen])) for state in item_states(folder)
    ]


def item_results(folder: StudyFolder) -> list[CheckResult]:
    """Return the items' rows of the database."""
    return [result for _, result in judged_states(folder)]


def _result(state: ItemState, people: Mapping[str, str]) -> CheckResult:
    row, answer, judge = state.first, state.first.answer, state.first.judge
    said = row.quote if answer else row.reason
    if state.open:
        given = {*people.values()} - {"unknown"}
        answer = "yes" if given == {"yes"} else "no" if given == {"no"} else None
        judge = ", ".join(sorted(people)) if answer else None
        said = "" if answer else "people differ" if given else state.reason
    return CheckResult(
        trial=row.trial,
        source=row.rubric,
        name=row.item,
        outcome=_OUTCOMES[answer],
        points=row.points,
        award={"yes": row.points, "no": 0.0, None: None}[answer],
        said=said[:300] or None,
        judge=judge,
        item_group=row.group,
        criterion=row.criterion,
        unit=row.unit,
    )


def grouped(
    rows: Iterable[Row], key: Callable[[Row], Key], value: Callable[[Row], Value]
) -> dict[Key, list[Value]]:
    """Return the values of rows by their key, in order."""
    found: dict[Key, list[Value]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(value(row))
    return dict(found)

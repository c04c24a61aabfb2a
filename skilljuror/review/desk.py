"""The review desk: the questions of a study or a build, and the files for their answers."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, overload

from msgspec.structs import replace

from skilljuror.base.errors import InUseError, StudyError, UsageError, did_you_mean
from skilljuror.base.files import StudyFolder, append_jsonl
from skilljuror.base.review import ADJUDICATIONS, Decision, ReviewItem, ReviewText, blind_id
from skilljuror.base.review_rows import (
    CODED,
    current_decisions,
    decided_at,
    now,
    reviewer_name,
    rows_of,
)
from skilljuror.layouts.build.folder import REVIEWS, builds_at
from skilljuror.review.questions import (
    PREFIX,
    Question,
    event_questions,
    finding_questions,
    harm_questions,
    item_questions,
    rubric_questions,
    sampled_events,
    scope_questions,
)
from skilljuror.store.study_files import refresh

LOG = logging.getLogger(__name__)
WAIT_SECONDS = 5.0
"""Seconds to wait for a database in use."""
NOUNS = {
    "finding": "finding",
    "rubric": "rubric item",
    "uptake": "event",
    "scope": "section",
    "item": "item",
    **dict.fromkeys(CODED, "trial"),
}
Answers = dict[tuple[str, str], Decision]
"""(reviewer, id of an item) -> current answer to the current question."""


class StudyDesk:
    """The questions of a study, a build, a folder of builds or a Skill, cached on first use.

    Several desks may write at the same time, also from other processes.
    """

    def __init__(self, place: Path) -> None:
        """`place` must exist. Raises StudyError."""
        if StudyFolder.existing(place).shards:
            _ = StudyFolder(place).existing_database  # the error names a shard to review
        self._place = place
        self._unsaved: list[str] = []
        """Items with answers that are not in the databases yet."""

    @cached_property
    def _builds(self) -> list[Path]:
        try:
            return builds_at(self._place)
        except StudyError:
            return []

    @cached_property
    def _stores(self) -> list[Path]:
        """All files that may have answers, including those of a study's builds."""
        stores = [build / REVIEWS for build in self._builds]
        stores += [store for each in self._questions.values() for store in each.stores.values()]
        return list(dict.fromkeys([*stores, StudyFolder(self._place).reviews]))

    @cached_property
    def _questions(self) -> dict[str, Question]:
        """Id -> question by suspicion; sampled events in drawing order."""
        questions = [
            *finding_questions(self._place, self._builds),
            *rubric_questions(self._place, self._builds),
            *event_questions(self._place, sampled_events(self._place)),
            *scope_questions(self._place),
            *item_questions(self._place),
            *harm_questions(self._place),
        ]
        questions.sort(key=lambda question: -question.item.suspicion)
        return {question.item.id: question for question in questions}

    @cached_property
    def _index(self) -> dict[str, Question]:
        """Questions by all ids: of items, repeats, blind reviewers, and events outside the sample."""
        return _by_every_id(self._questions.values())

    def queue(self, reviewer: str, blind: bool) -> Sequence[ReviewItem]:
        """List all items by suspicion, or by digest for a blind reviewer, then this reviewer's labels
        outside the sample. An event's log is read when its texts are accessed.

        Raises StudyError for a damaged file.
        """
        answers = self.answers()
        asked = list(self._questions.values())
        if blind:
            asked.sort(key=lambda question: (question.item.kind, blind_id(question.item.id)))
        sampled = {name for question in asked for name in question.stores}
        asked += [
            self._index[name] for by, name in answers if by == reviewer and name not in sampled
        ]
        return [self._as_asked(question, reviewer, blind, answers) for question in asked]

    def look_up(self, items: Iterable[str]) -> None:
        """Load questions about events outside the sample."""
        events = [
            item.removeprefix(PREFIX)
            for item in dict.fromkeys(items)
            if item.startswith(PREFIX) and item not in self._index
        ]
        self._index.update(_by_every_id(event_questions(self._place, events)))

    def question(self, item: str) -> Question:
        """Return a question by its id, a repeat's id, or any event. Raises UsageError with suggestions."""
        self.look_up([item])
        if item not in self._index:
            self.answers()  # loads labels outside the sample, which have blind ids
        if found := self._index.get(item):
            return found
        guess = did_you_mean(item, self._index)
        raise UsageError(
            f"unknown question {item!r} in {str(self._place)!r}; {guess}`skilljuror review {self._place}"
            " --list` lists all",
            field="item",
        )

    def asked(self, item: str, reviewer: str, blind: bool) -> ReviewItem:
        """Return one item as in `queue`. Raises UsageError."""
        return self._as_asked(self.question(item), reviewer, blind, self.answers())

    def decide(self, reviewer: str, item: str, answer: str, reason: str, blind: bool) -> None:
        """Record an answer to a question and its repeats; it is on disk when this returns. Raises UsageError for
        an unknown item, an invalid answer or an invalid name."""
        question = self.question(item)
        self.write([self.decision(question, reviewer, answer, reason.strip(), blind=blind, at=now())])  # fmt: skip

    def decision(
        self, question: Question, reviewer: str, answer: str, reason: str, *, blind: bool, at: str
    ) -> Decision:
        """Create the row of an answer. Raises UsageError for an invalid answer or name and for an
        adjudication without a reason."""
        item = question.item
        if answer not in item.answers:
            raise UsageError(
                f"invalid answer {answer!r} to a {NOUNS[item.kind]} question (choose"
                f" {', '.join(item.answers)})",
                field="answer",
            )
        if answer in ADJUDICATIONS and not reason.strip():
            raise UsageError(f"{answer!r} requires a reason (--why '…')", field="reason")
        return Decision(
            item=item.id, repeats=item.repeats, answer=answer, reason=reason, by=reviewer_name(reviewer),
            at=at, blind=blind, seen=question.seen,
        )  # fmt: skip

    def write(self, decisions: Iterable[Decision]) -> None:
        """Append decisions to their stores and update the databases; a decision about several builds is
        a row in each build's store."""
        rows: dict[Path, list[Decision]] = defaultdict(list)
        for decision in decisions:
            stores = self.question(decision.item).stores
            names: dict[Path, list[str]] = defaultdict(list)
            for name in (decision.item, *decision.repeats):
                names[stores[name]].append(name)
            for store, (item, *others) in names.items():
                update = {"item": item, "repeats": tuple(others)}
                rows[store].append(decision.model_copy(update=update))
        for store, some in rows.items():
            append_jsonl(store, *some)
        self._refresh([row for some in rows.values() for row in some])

    def undo(self, reviewer: str) -> str | None:
        """Undo this reviewer's latest decision; return the id of its item, or None."""
        last = {store: row for row, store in self._current() if row.by == reviewer}
        if not last:
            return None
        latest = max(map(decided_at, last.values()))
        taken = [(row, store) for store, row in last.items() if decided_at(row) == latest]
        for row, store in taken:
            undone = {"undone": True, "at": now(), "takes_back": row.at}
            append_jsonl(store, row.model_copy(update=undone))
        self._refresh([row for row, _ in taken])
        return taken[0][0].item

    def _current(self) -> list[tuple[Decision, Path]]:
        """Decisions that were not undone with their stores, latest last."""
        rows = [
            (row, store)
            for store in self._stores
            for row in current_decisions(rows_of(Decision, store))
        ]
        return sorted(rows, key=lambda pair: decided_at(pair[0]))

    def keeps(self, path: Path) -> bool:
        """Whether a file is a store of answers."""
        return path.resolve() in {store.resolve() for store in self._stores}

    def last_times(self) -> dict[tuple[str, str], datetime]:
        """(reviewer, id of an item) -> time of the last answer or undo."""
        rows = [row for store in self._stores for row in rows_of(Decision, store)]
        return {
            (row.by, item): decided_at(row)
            for row in sorted(rows, key=decided_at)
            for item in (row.item, *row.repeats)
        }

    def answers(self) -> Answers:
        """Return everybody's current answers to current questions."""
        rows = [row for row, _ in self._current()]
        self.look_up(row.item for row in rows)
        seen = {name: question.seen for name, question in self._index.items()}
        return {
            (row.by, item): row
            for row in rows
            for item in (row.item, *row.repeats)
            if seen.get(item) == row.seen
        }

    def _as_asked(
        self, question: Question, reviewer: str, blind: bool, answers: Answers
    ) -> ReviewItem:
        item = blinded(question.item) if blind else question.item
        rows = [answers.get((reviewer, name)) for name in question.stores]
        given = {row.answer if row else None for row in rows}
        texts: Any = _LogTexts(question.evidence, blind) if question.evidence else item.texts
        return replace(item, texts=texts, decided=given.pop() if len(given) == 1 else None)

    def _refresh(self, decisions: Sequence[Decision]) -> None:
        """Update the databases; one in use is updated with the next answer or by `ingest`. Raises
        StoreError for one that cannot be written; the decision is saved nevertheless."""
        self._unsaved += [name for row in decisions for name in (row.item, *row.repeats)]
        names = {name.partition(":")[2].partition("/")[0] for name in self._unsaved}
        builds = [build for build in self._builds if build.resolve().name in names]
        try:
            refresh(self._place, builds, wait=WAIT_SECONDS)
        except InUseError as error:
            LOG.warning(
                "%s; the answer is saved, the database is updated with the next one or by ingest",
                error,
            )
        else:
            self._unsaved = []


def blinded(item: ReviewItem) -> ReviewItem:
    """Hide the machine's verdict, the suspicion, and the names of build, variant and trial."""
    name = blind_id(item.id)
    texts = []
    for text in item.texts:
        side, _, file = text.heading.partition(" · ")
        side = side if side in {"source", "work"} else "variant"
        texts.append(replace(text, heading=f"{side} · {file}"))
    return replace(
        item, id=name, title=f"{NOUNS[item.kind]} {name}", suspicion=0.0, texts=tuple(texts), machine=None,
        repeats=tuple(map(blind_id, item.repeats)),
    )  # fmt: skip


def _by_every_id(questions: Iterable[Question]) -> dict[str, Question]:
    return {
        name: question
        for question in questions
        for each in question.stores
        for name in (each, blind_id(each))
    }


class _LogTexts(Sequence[ReviewText]):
    """The texts of one event or trial, read from its log on first access."""

    def __init__(self, read: Callable[[bool], tuple[ReviewText, ...]], blind: bool) -> None:
        self._read = partial(read, blind)

    @overload
    def __getitem__(self, index: int) -> ReviewText: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ReviewText, ...]: ...
    def __getitem__(self, index: int | slice) -> ReviewText | tuple[ReviewText, ...]:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

"""The desk: what waits for a person in a study or a build, and where the answers go."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import cast, overload

from msgspec.structs import replace

from skilljuror.errors import InUseError, StudyError, UsageError
from skilljuror.files import StudyFolder, append_jsonl
from skilljuror.models.review import ADJUDICATIONS, Decision
from skilljuror.models.review_queue import ReviewItem, ReviewText, blind_id
from skilljuror.pipeline.construction.build_folder import REVIEWS
from skilljuror.pipeline.construction.stored_builds import builds_at, refresh_builds
from skilljuror.pipeline.review_rows import (
    decided_at,
    label_rows,
    now,
    reviewer_name,
    rows_of,
    standing,
)
from skilljuror.pipeline.reviewing.findings import finding_questions
from skilljuror.pipeline.reviewing.question import Question, blinded
from skilljuror.pipeline.reviewing.rubric import rubric_questions
from skilljuror.pipeline.reviewing.uptake import (
    PREFIX,
    event_questions,
    event_texts,
    sampled_events,
)
from skilljuror.store import open_write

LOG = logging.getLogger(__name__)
WAIT_SECONDS = 5.0
"""Seconds that an answer waits for others to close the database."""
Answers = dict[tuple[str, str], Decision]
"""(reviewer, id of an item) -> the answer that stands and is about what is asked today."""


class StudyDesk:
    """The questions of a study, a build or a folder of builds, as they were when first asked for.

    Any number of desks may write at the same time, also in other processes.
    """

    def __init__(self, place: Path) -> None:
        """`place` must exist. Raises StudyError."""
        StudyFolder.existing(place)
        self._place = place
        self._texts: dict[tuple[str, bool], tuple[ReviewText, ...]] = {}
        self._untold: list[str] = []
        """Items with answers that no database has been told of."""

    @cached_property
    def _builds(self) -> list[Path]:
        try:
            return builds_at(self._place)
        except StudyError:
            return []

    @cached_property
    def _stores(self) -> list[Path]:
        """Every file that may hold answers, those of the builds of a study included."""
        of_builds = [build / REVIEWS for build in self._builds]
        return list(dict.fromkeys([*of_builds, StudyFolder(self._place).reviews]))

    @cached_property
    def _questions(self) -> dict[str, Question]:
        """Id -> question, suspicious first; sampled events in the order in which they were drawn."""
        found = [
            *finding_questions(self._place, self._builds),
            *rubric_questions(self._place, self._builds),
            *event_questions(self._place, sampled_events(self._place)),
        ]
        return {one.item.id: one for one in sorted(found, key=lambda one: -one.item.suspicion)}

    @cached_property
    def _index(self) -> dict[str, Question]:
        """The same by the ids of repeats, too, by those that blind reviewers are told, and other events that
        somebody asked for."""
        return _by_every_name(self._questions.values())

    def queue(self, reviewer: str, blind: bool) -> Sequence[ReviewItem]:
        """All items, suspicious first, by digest for a blind reviewer, decided ones included, at the end what
        this reviewer labelled beside the sample; the log around an event is read when its texts are looked at.

        Raises StudyError for a damaged file.
        """
        answers = self.answers()
        asked = list(self._questions.values())
        if blind:
            asked.sort(key=lambda one: (one.item.kind, blind_id(one.item.id)))
        sampled = {name for one in asked for name in one.stores}
        asked += [self._index[one] for by, one in answers if by == reviewer and one not in sampled]
        return [self._as_asked(one, reviewer, blind, answers) for one in asked]

    def look_up(self, items: Iterable[str]) -> None:
        """Find questions about events beside the sample, all at once."""
        events = [
            item.removeprefix(PREFIX)
            for item in dict.fromkeys(items)
            if item.startswith(PREFIX) and item not in self._index
        ]
        self._index.update(_by_every_name(event_questions(self._place, events)))

    def question(self, item: str) -> Question:
        """One question by its id, or by that of a repeat, or about any event of the study. Raises
        UsageError that guesses at what was meant."""
        self.look_up([item])
        if item not in self._index:
            self.answers()  # looks up what was labelled beside the sample, for its other name
        if found := self._index.get(item):
            return found
        near = " or ".join(map(repr, get_close_matches(item, self._index, n=2)))
        guess = f"did you mean {near}? " if near else ""
        raise UsageError(
            f"no question {item!r} in {str(self._place)!r}; {guess}`skilljuror review {self._place}"
            " --list` has them all",
            field="item",
        )

    def asked(self, item: str, reviewer: str, blind: bool) -> ReviewItem:
        """One question as `queue` has it. Raises UsageError."""
        return self._as_asked(self.question(item), reviewer, blind, self.answers())

    def decide(self, reviewer: str, item: str, answer: str, reason: str, blind: bool) -> None:
        """Record an answer, of all that say the same at once. Raises UsageError for an item, an answer
        or a name that is none."""
        question = self.question(item)
        self.write([
            self.decision(question, reviewer, answer, reason.strip(), blind=blind, at=now())
        ])

    def decision(
        self, question: Question, reviewer: str, answer: str, reason: str, *, blind: bool, at: str
    ) -> Decision:
        """An answer to a question as a row. Raises UsageError for an answer or a name that is none, and for a
        class of adjudication without a reason."""
        item = question.item
        if answer not in item.answers:
            raise UsageError(
                f"{answer!r} is no answer to a question of kind {item.kind!r}; choose of {', '.join(item.answers)}",
                field="answer",
            )
        if answer in ADJUDICATIONS and not reason.strip():
            raise UsageError(f"{answer!r} needs a reason: write why (--why '…')", field="reason")
        return Decision(
            item=item.id, repeats=item.repeats, answer=answer, reason=reason, by=reviewer_name(reviewer),
            at=at, blind=blind, seen=question.seen,
        )  # fmt: skip

    def write(self, decisions: Iterable[Decision]) -> None:
        """Put decisions into their stores, then into the databases; an answer about builds that have
        stores of their own is a row in each."""
        rows: dict[Path, list[Decision]] = {}
        for decision in decisions:
            for store, row in self._by_store(decision):
                rows.setdefault(store, []).append(row)
        for store, some in rows.items():
            append_jsonl(store, *some)
        self._refresh([row for some in rows.values() for row in some])

    def _by_store(self, decision: Decision) -> Iterator[tuple[Path, Decision]]:
        stores = self.question(decision.item).stores
        places = {one: stores[one] for one in (decision.item, *decision.repeats)}
        for store in dict.fromkeys(places.values()):
            item, *others = [one for one, where in places.items() if where == store]
            yield store, decision.model_copy(update={"item": item, "repeats": tuple(others)})

    def undo(self, reviewer: str) -> str | None:
        """Take this reviewer's last standing decision back; the id of its item, None without one."""
        last = {store: row for row, store in self._standing() if row.by == reviewer}
        if not last:
            return None
        latest = max(map(decided_at, last.values()))
        taken = [(row, store) for store, row in last.items() if decided_at(row) == latest]
        for row, store in taken:
            undone = {"undone": True, "at": now(), "takes_back": row.at}
            append_jsonl(store, row.model_copy(update=undone))
        self._refresh([row for row, _ in taken])
        return taken[0][0].item

    def _standing(self) -> list[tuple[Decision, Path]]:
        """What was not taken back and in which store it lies, the latest last."""
        rows = [
            (row, store) for store in self._stores for row in standing(rows_of(Decision, store))
        ]
        return sorted(rows, key=lambda one: decided_at(one[0]))

    def keeps(self, path: Path) -> bool:
        """Whether answers are kept in this file, or will be."""
        return path.resolve() in {store.resolve() for store in self._stores}

    def last_said(self) -> dict[tuple[str, str], datetime]:
        """(reviewer, id of an item) -> when that person last answered it, or took an answer back."""
        rows = [row for store in self._stores for row in rows_of(Decision, store)]
        return {
            (row.by, item): decided_at(row)
            for row in sorted(rows, key=decided_at)
            for item in (row.item, *row.repeats)
        }

    def answers(self) -> Answers:
        """The answers of everybody that stand and are about what is asked today."""
        rows = [row for row, _ in self._standing()]
        self.look_up(row.item for row in rows)
        seen = {name: one.seen for name, one in self._index.items()}
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
        given = {
            found.answer if (found := answers.get((reviewer, name))) else None
            for name in question.stores
        }
        return replace(
            item,
            texts=item.texts
            if item.kind != "uptake"
            else cast("tuple[ReviewText, ...]", _EventTexts(self, question.item, blind)),
            decided=given.pop() if len(given) == 1 else None,
        )

    def event_texts(self, item: ReviewItem, blind: bool) -> tuple[ReviewText, ...]:
        """The texts of a question about an event, read once."""
        key = (item.id, blind)
        if key not in self._texts:
            event = item.id.removeprefix(PREFIX)
            run = event.rpartition("#")[0]
            self._texts[key] = event_texts(self._place, run, event, blind)
        return self._texts[key]

    def _refresh(self, decisions: Sequence[Decision]) -> None:
        """Bring the databases up to date; one that is in use for long gets it with the next answer, or by
        `ingest`. Raises StoreError for one that cannot be written: what was decided is on disk all the same.
        """
        self._untold = [
            *self._untold,
            *(name for row in decisions for name in (row.item, *row.repeats)),
        ]
        names = {name.partition(":")[2].partition("/")[0] for name in self._untold}
        study = StudyFolder(self._place)
        try:
            refresh_builds(
                [build for build in self._builds if build.resolve().name in names],
                wait=WAIT_SECONDS,
            )
            if study.database.is_file() and any(one.startswith(PREFIX) for one in self._untold):
                with open_write(study.database, wait=WAIT_SECONDS) as store:
                    store.put_labels(label_rows(study))
        except InUseError as error:
            LOG.warning("%s; the answer is kept and comes with the next one, or by ingest", error)
        else:
            self._untold = []


def _by_every_name(questions: Iterable[Question]) -> dict[str, Question]:
    return {
        name: one for one in questions for each in one.stores for name in (each, blind_id(each))
    }


class _EventTexts(Sequence[ReviewText]):
    """The texts of one event, which cost the reading of a log: read when somebody looks at them."""

    def __init__(self, desk: StudyDesk, item: ReviewItem, blind: bool) -> None:
        self._read = partial(desk.event_texts, item, blind)

    @overload
    def __getitem__(self, index: int) -> ReviewText: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ReviewText, ...]: ...
    def __getitem__(self, index: int | slice) -> ReviewText | tuple[ReviewText, ...]:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

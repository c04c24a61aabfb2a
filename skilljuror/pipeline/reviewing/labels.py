"""Labels of people in and out, and how far two of them agree."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from skilljuror.errors import StudyError, UsageError
from skilljuror.files import write_jsonl
from skilljuror.models.record import Record
from skilljuror.models.review import Answer, Decision
from skilljuror.models.review_queue import ReviewKind
from skilljuror.pipeline.review_rows import decided_at, moment, now
from skilljuror.pipeline.reviewing.desk import StudyDesk
from skilljuror.pipeline.reviewing.uptake import PREFIX
from skilljuror.stats.agreement import Agreement, agreement

MOST_TOLD = 5
"""Lines of a file that a refusal names."""


Lines = dict[str, Decision]
"""Id of a question or a repeat -> what one person's line on it says."""


class Label(Record):
    """One line of a file of labels: one answer of one person to one question."""

    item: str
    """Id of the question."""
    answer: Answer
    """The answer."""
    by: str
    """Who gave it; may be a pseudonym."""
    reason: str = ""
    """Why; "" where nobody said."""
    at: str | None = None
    """When: UTC, ISO 8601; None is the time of the import."""
    blind: bool = False
    """Whether what gate or judge said was withheld."""
    seen: str | None = None
    """Digest of what it is about, which must be what is asked today; None takes that on trust."""


class PairAgreement(NamedTuple):
    """How far two reviewers agree on what both answered."""

    kind: ReviewKind
    """Kind of question."""
    first: str
    """One reviewer."""
    second: str
    """The other one."""
    agreement: Agreement
    """Shares, kappa and AC1."""


def export_labels(desk: StudyDesk, path: Path) -> int:
    """Write every standing answer to a question of today, one a line; their number. Repeats are lines
    of their own. Raises UsageError for a store of answers and for a file that is no export."""
    if desk.keeps(path) or not _is_export(path):
        raise UsageError(
            f"{str(path)!r} is for something else: name a new file, or an earlier export",
            file=str(path),
            field="export",
        )
    labels = [
        Label(
            item=item, answer=row.answer, by=by, reason=row.reason, at=row.at, blind=row.blind,
            seen=row.seen,
        )
        for (by, item), row in sorted(desk.answers().items())
    ]  # fmt: skip
    write_jsonl(path, labels)
    return len(labels)


def _is_export(path: Path) -> bool:
    """Whether a file, if there is one, holds labels alone."""
    try:
        lines = _lines(path) if path.is_file() else ()
        return all(Label.model_validate_json(line) for _, line in lines)
    except ValidationError:
        return False


def import_labels(desk: StudyDesk, path: Path) -> int:
    """Take in answers that are not there yet, and that are later than all that the person said of the
    question here, what was taken back included; their number, where lines on repeats of a question that
    say the same are one answer, and of several by one person the latest. Nothing is written unless all fit.

    Raises UsageError that names the lines about questions that there are not, that changed since, or
    with an answer or a time that is none; StudyError for a file that cannot be read.
    """
    labels: list[tuple[int, Label]] = []
    problems = []
    for number, line in _lines(path):
        try:
            labels.append((number, Label.model_validate_json(line)))
        except ValidationError as error:
            problems.append((number, _told(error)))
    desk.look_up(label.item for _, label in labels)
    given: dict[tuple[str, str], Lines] = defaultdict(dict)
    imported_at = now()
    for number, label in labels:
        try:
            decision = _decision(desk, label, imported_at)
        except UsageError as error:
            problems.append((number, error.message))
            continue
        lines = given[decision.by, decision.item]
        held = lines.get(label.item)
        if held is None or decided_at(held) <= decided_at(decision):
            lines[label.item] = decision
    if problems:
        told = [f"line {number}: {problem}" for number, problem in sorted(problems)]
        more = f"; and {len(told) - MOST_TOLD} more" * (len(told) > MOST_TOLD)
        raise UsageError(
            f"{str(path)!r}: nothing was imported: {'; '.join(told[:MOST_TOLD])}{more}",
            file=str(path),
            field="import",
        )
    there, said = desk.answers(), desk.last_said()

    def is_new(item: str, one: Decision) -> bool:
        held, last = there.get((one.by, item)), said.get((one.by, item))
        same = held is not None and (held.answer, held.reason) == (one.answer, one.reason)
        return not same and (last is None or last < decided_at(one))

    decisions = [one for lines in given.values() for one in _settled(desk, lines, is_new)]
    desk.write(decisions)
    return len(decisions)


def _settled(
    desk: StudyDesk, lines: Lines, is_new: Callable[[str, Decision], bool]
) -> list[Decision]:
    """What one person's lines on a question add. A repeat without a line follows the others, unless they
    differ."""
    new = [one for item, one in lines.items() if is_new(item, one)]
    agree = len({one.answer for one in lines.values()}) == 1
    rest = max(new, key=decided_at) if new and agree else None
    settles: dict[Decision, list[str]] = defaultdict(list)
    for item in desk.question(next(iter(lines))).stores:
        one = lines.get(item, rest)
        if one is not None and is_new(item, one):
            settles[one].append(item)
    return [
        one.model_copy(update={"item": item, "repeats": tuple(others)})
        for one, (item, *others) in settles.items()
    ]


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StudyError(
            f"{str(path)!r} cannot be read: {error.strerror}", file=str(path)
        ) from error
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield number, line


def _decision(desk: StudyDesk, label: Label, imported_at: str) -> Decision:
    question = desk.question(label.item)
    if label.seen not in {None, question.seen}:
        raise UsageError(f"what {label.item!r} is about has changed since", field="seen")
    at = imported_at if label.at is None else _time(label.at)
    return desk.decision(question, label.by, label.answer, label.reason, blind=label.blind, at=at)


def _time(text: str) -> str:
    """A time as rows have it."""
    try:
        at = moment(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no time in ISO 8601", field="at") from error
    if at > datetime.now(UTC):
        raise UsageError(f"{text!r} is still to come by the clock here", field="at")
    return at.isoformat(timespec="microseconds")


def _told(error: ValidationError) -> str:
    problem = error.errors()[0]
    field = ".".join(map(str, problem["loc"]))
    return f"field {field!r}: {problem['msg']}" if field else problem["msg"]


def agreements(desk: StudyDesk) -> list[PairAgreement]:
    """The agreement of every two reviewers on each kind of question that both answered, with intervals over
    builds and runs, whose questions are alike; questions that say the same count once."""
    given: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for (by, item), row in desk.answers().items():
        if desk.question(item).item.id == item:
            given[by, item.partition(":")[0]][item] = row.answer
    return [
        PairAgreement(kind, one, other, _agreement(given[one, kind], given[other, kind]))
        for kind in ("finding", "rubric", "uptake")
        for one, other in combinations(sorted(by for by, about in given if about == kind), 2)
        if given[one, kind].keys() & given[other, kind].keys()
    ]


def _agreement(one: dict[str, str], other: dict[str, str]) -> Agreement:
    both = sorted(one.keys() & other.keys())
    return agreement(
        [one[item] for item in both], [other[item] for item in both], list(map(_whole, both))
    )


def _whole(item: str) -> str:
    """The run or the build that a question is about; a build's name may hold any sign but a slash."""
    return item.rpartition("#")[0] if item.startswith(PREFIX) else item.partition("/")[0]

"""Import and export people's labels, and measure their agreement."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import ValidationError

from skilljuror.base.build import Record
from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import write_jsonl
from skilljuror.base.review import Answer, Decision, ReviewKind
from skilljuror.base.review_rows import decided_at, now, parse_time
from skilljuror.measures.stats.agreement import Agreement, agreement
from skilljuror.review.desk import StudyDesk
from skilljuror.review.uptake import PREFIX

MOST_PROBLEMS = 5
"""Invalid lines named in an error."""


Lines = dict[str, Decision]
"""Id of a question or a repeat -> one person's line."""


class Label(Record):
    """A line of a label file: one person's answer to one question."""

    item: str
    """Id of the question."""
    answer: Answer
    by: str
    """Name or pseudonym of the reviewer."""
    reason: str = ""
    at: str | None = None
    """UTC, ISO 8601; default: time of the import."""
    blind: bool = False
    """The verdict of gate or judge was hidden."""
    seen: str | None = None
    """Digest of the question's subject, which must be current; None is not checked."""


class PairAgreement(NamedTuple):
    """Agreement of two reviewers on questions that both answered."""

    kind: ReviewKind
    first: str
    second: str
    agreement: Agreement


def export_labels(desk: StudyDesk, path: Path) -> int:
    """Write the current answers, one per line, with repeats as separate lines; return their number.
    Raises UsageError for a store of answers and for a file that is not an export."""
    if desk.keeps(path) or not _is_export(path):
        raise UsageError(
            f"{str(path)!r} is not a label export; name a new file or an earlier export",
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
    """Whether a file is missing or holds only labels."""
    try:
        lines = _lines(path) if path.is_file() else ()
        return all(Label.model_validate_json(line) for _, line in lines)
    except ValidationError:
        return False


def import_labels(desk: StudyDesk, path: Path) -> int:
    """Import new answers that are later than anything the person answered or undid here; return their
    number. Equal lines on repeats of a question count once; of several lines by one person the latest
    counts. Nothing is written if any line is invalid.

    Raises UsageError that names lines with an unknown or changed question, an invalid answer or an
    invalid time; StudyError for an unreadable file.
    """
    labels: list[tuple[int, Label]] = []
    problems = []
    for number, line in _lines(path):
        try:
            labels.append((number, Label.model_validate_json(line)))
        except ValidationError as error:
            problems.append((number, _problem_of(error)))
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
        lines_of = [f"line {number}: {problem}" for number, problem in sorted(problems)]
        more = f"; and {len(problems) - MOST_PROBLEMS} more" * (len(problems) > MOST_PROBLEMS)
        raise UsageError(
            f"{str(path)!r}: nothing was imported: {'; '.join(lines_of[:MOST_PROBLEMS])}{more}",
            file=str(path),
            field="import",
        )
    current, times = desk.answers(), desk.last_times()

    def is_new(item: str, one: Decision) -> bool:
        held, last = current.get((one.by, item)), times.get((one.by, item))
        same = held is not None and (held.answer, held.reason) == (one.answer, one.reason)
        return not same and (last is None or last < decided_at(one))

    decisions = [one for lines in given.values() for one in _new_decisions(desk, lines, is_new)]
    desk.write(decisions)
    return len(decisions)


def _new_decisions(
    desk: StudyDesk, lines: Lines, is_new: Callable[[str, Decision], bool]
) -> list[Decision]:
    """New decisions from one person's lines on a question. A repeat without a line gets the others'
    answer if they agree."""
    new = [one for item, one in lines.items() if is_new(item, one)]
    agree = len({one.answer for one in lines.values()}) == 1
    rest = max(new, key=decided_at) if new and agree else None
    items: dict[Decision, list[str]] = defaultdict(list)
    for item in desk.question(next(iter(lines))).stores:
        one = lines.get(item, rest)
        if one is not None and is_new(item, one):
            items[one].append(item)
    return [
        one.model_copy(update={"item": item, "repeats": tuple(others)})
        for one, (item, *others) in items.items()
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
        raise UsageError(f"the subject of {label.item!r} has changed", field="seen")
    at = imported_at if label.at is None else _time(label.at)
    return desk.decision(question, label.by, label.answer, label.reason, blind=label.blind, at=at)


def _time(text: str) -> str:
    """Normalize a time to UTC. Raises UsageError."""
    try:
        at = parse_time(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not an ISO 8601 time", field="at") from error
    if at > datetime.now(UTC):
        raise UsageError(f"{text!r} is in the future", field="at")
    return at.isoformat(timespec="microseconds")


def _problem_of(error: ValidationError) -> str:
    problem = error.errors()[0]
    field = ".".join(map(str, problem["loc"]))
    return f"field {field!r}: {problem['msg']}" if field else problem["msg"]


def agreements(desk: StudyDesk) -> list[PairAgreement]:
    """Measure the agreement of every two reviewers by kind of question, with intervals resampled over
    builds and runs; repeats count once."""
    given: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for (by, item), row in desk.answers().items():
        if desk.question(item).item.id == item:
            given[by, item.partition(":")[0]][item] = row.answer
    return [
        PairAgreement(kind, one, other, _agreement(given[one, kind], given[other, kind]))
        for kind in get_args(ReviewKind)
        for one, other in combinations(sorted(by for by, about in given if about == kind), 2)
        if given[one, kind].keys() & given[other, kind].keys()
    ]


def _agreement(one: dict[str, str], other: dict[str, str]) -> Agreement:
    both = sorted(one.keys() & other.keys())
    return agreement(
        [one[item] for item in both], [other[item] for item in both], list(map(_whole, both))
    )


def _whole(item: str) -> str:
    """The run or build of a question."""
    return item.rpartition("#")[0] if item.startswith(PREFIX) else item.partition("/")[0]

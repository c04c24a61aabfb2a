"""Import and export people's labels, and measure their agreement."""

from collections import defaultdict
from collections.abc import Iterator
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
from skilljuror.measures.agreement import Agreement, agreement
from skilljuror.review.desk import StudyDesk

MOST_PROBLEMS = 5
"""Invalid lines named in an error."""


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
    number. Equal lines on repeats of a question count once, and a repeat without a line gets the others'
    answer if they agree; of several lines by one person the latest counts. Nothing is written if any line
    is invalid.

    Raises UsageError that names lines with an unknown or changed question, an invalid answer or an
    invalid time; StudyError for an unreadable file.
    """
    latest = _latest_lines(desk, path)
    current, times = desk.answers(), desk.last_times()

    def is_new(item: str, decision: Decision) -> bool:
        known, last = current.get((decision.by, item)), times.get((decision.by, item))
        same = known and (known.answer, known.reason) == (decision.answer, decision.reason)
        return not same and (last is None or last < decided_at(decision))

    new: dict[Decision, list[str]] = defaultdict(list)
    for (_, question), lines in latest.items():
        fresh = {item: decision for item, decision in lines.items() if is_new(item, decision)}
        if fresh and len({decision.answer for decision in lines.values()}) == 1:
            rest = max(fresh.values(), key=decided_at)
            others = (item for item in desk.question(question).stores if item not in lines)
            fresh |= {item: rest for item in others if is_new(item, rest)}
        for item, decision in fresh.items():
            new[decision].append(item)
    desk.write(
        decision.model_copy(update={"item": item, "repeats": tuple(others)})
        for decision, (item, *others) in new.items()
    )
    return len(new)


def _latest_lines(desk: StudyDesk, path: Path) -> dict[tuple[str, str], dict[str, Decision]]:
    """(person, question) -> question or repeat -> the latest line about it. Raises as `import_labels`."""
    labels: list[tuple[int, Label]] = []
    problems = []
    for number, line in _lines(path):
        try:
            labels.append((number, Label.model_validate_json(line)))
        except ValidationError as error:
            problem = error.errors()[0]
            field = ".".join(map(str, problem["loc"]))
            problems.append((number, f"field {field!r}: {problem['msg']}" if field else problem["msg"]))  # fmt: skip
    desk.look_up(label.item for _, label in labels)
    imported_at = now()
    latest: dict[tuple[str, str], dict[str, Decision]] = defaultdict(dict)
    for number, label in labels:
        try:
            question = desk.question(label.item)
            if label.seen not in {None, question.seen}:
                raise UsageError(f"the subject of {label.item!r} has changed", field="seen")
            at = imported_at if label.at is None else _time(label.at)
            decision = desk.decision(
                question, label.by, label.answer, label.reason, blind=label.blind, at=at
            )
        except UsageError as error:
            problems.append((number, error.message))
            continue
        lines = latest[decision.by, decision.item]
        before = lines.get(label.item)
        if before is None or decided_at(before) <= decided_at(decision):
            lines[label.item] = decision
    if problems:
        lines_of = [f"line {number}: {problem}" for number, problem in sorted(problems)]
        more = f"; and {len(problems) - MOST_PROBLEMS} more" * (len(problems) > MOST_PROBLEMS)
        raise UsageError(
            f"{str(path)!r}: nothing was imported: {'; '.join(lines_of[:MOST_PROBLEMS])}{more}",
            file=str(path),
            field="import",
        )
    return latest


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


def _time(text: str) -> str:
    """Normalize a time to UTC. Raises UsageError."""
    try:
        at = parse_time(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not an ISO 8601 time", field="at") from error
    if at > datetime.now(UTC):
        raise UsageError(f"{text!r} is in the future", field="at")
    return at.isoformat(timespec="microseconds")


def agreements(desk: StudyDesk) -> list[PairAgreement]:
    """Measure the agreement of every two reviewers by kind of question, with intervals resampled over
    builds and runs; repeats count once."""
    given: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for (by, item), row in desk.answers().items():
        if desk.question(item).item.id == item:
            given[by, item.partition(":")[0]][item] = row.answer
    pairs = []
    for kind in get_args(ReviewKind):
        for first, second in combinations(sorted(by for by, about in given if about == kind), 2):
            one, other = given[first, kind], given[second, kind]
            if both := sorted(one.keys() & other.keys()):
                wholes = [
                    item.rpartition("#")[0] if kind == "uptake" else item.partition("/")[0]
                    for item in both
                ]  # the run or build of each question
                found = agreement(
                    [one[item] for item in both], [other[item] for item in both], wholes
                )
                pairs.append(PairAgreement(kind, first, second, found))
    return pairs

"""Read people's decisions: the rows of `reviews.jsonl`, of a study or of a build."""

import getpass
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, RootModel

from skilljuror.base.errors import UsageError
from skilljuror.base.files import StudyFolder, read_record, read_rows, sha256
from skilljuror.base.review import Acceptance, Decision, LabelSample, SampledUse, Waiver

Kind = TypeVar("Kind", Waiver, Acceptance, Decision)


class _Row(RootModel[Annotated[Waiver | Acceptance | Decision, Field(discriminator="kind")]]):
    """A row of any kind."""


def rows_of(kind: type[Kind], path: Path) -> list[Kind]:
    """Read the rows of one kind, in order. Raises StudyError with file and row for an invalid row."""
    rows = (row.root for row in read_rows(_Row, path))
    return [row for row in rows if isinstance(row, kind)]


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 time; the default zone is UTC. Raises ValueError."""
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def decided_at(row: Waiver | Decision) -> datetime:
    """Return the time of a row; one without a valid time sorts first."""
    try:
        return parse_time(row.at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def current_decisions(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions of one store that were not undone, latest last. An undone row removes the
    same person's decision on the same question with the time that it names."""
    rows = list(decisions)
    undone = {(row.by, row.item, row.takes_back) for row in rows if row.undone}
    return sorted(
        (row for row in rows if not row.undone and (row.by, row.item, row.at) not in undone),
        key=decided_at,
    )


CODED = ("pattern", "failure")
"""Kinds of questions about a failed trial, answered by a code of rubrics/harm.yaml."""


def code_rows(folder: StudyFolder) -> list[Decision]:
    """Return each person's latest code per list and trial that was not rerun since."""
    rows = current_decisions(rows_of(Decision, folder.reviews))
    latest = {(row.by, row.item): row for row in rows if row.item.partition(":")[0] in CODED}
    finished = set(folder.finished_trials()) if latest else set()
    return [
        row for row in latest.values()
        if (trial := row.item.partition(":")[2]) in finished and row.seen == record_digest(folder, trial)
    ]  # fmt: skip


def label_rows(folder: StudyFolder) -> list[Decision]:
    """Return each person's latest label per event of a study."""
    rows = current_decisions(rows_of(Decision, folder.reviews))
    latest = {(row.by, row.item): row for row in rows if row.item.startswith("uptake:")}
    return list(latest.values())


def sampled_uses(folder: StudyFolder) -> tuple[SampledUse, ...]:
    """Return the sampled uses in order; () before a sample is drawn."""
    path = folder.label_sample
    return read_record(LabelSample, path).sample if path.is_file() else ()


class AcceptedTrials:
    """The trials of a study whose result a person accepted."""

    def __init__(self, folder: StudyFolder) -> None:
        """Read `reviews.jsonl`. Raises StudyError for an invalid row."""
        self._folder = folder
        self._rows = {row.trial: row for row in rows_of(Acceptance, folder.reviews)}

    def of(self, trial: str) -> Acceptance | None:
        """Return the acceptance of a finished trial; None if missing or if the trial was rerun.

        Raises StudyError for a damaged accepted.json of an earlier version.
        """
        row, beside = self._rows.get(trial), self._folder.acceptance(trial)
        if row and row.seen == record_digest(self._folder, trial):
            return row
        return read_record(Acceptance, beside) if beside.is_file() else None


def record_digest(folder: StudyFolder, trial: str) -> str:
    """sha256 of the record of a finished trial."""
    return sha256(folder.trial_record(trial).read_bytes())


def login_name(option: str = "by") -> str:
    """Return the login name as the default reviewer. Raises UsageError if it is unknown."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:  # Windows has no pwd
        raise UsageError(
            f"unknown login name; name a person with --{option} NAME", field=option
        ) from error


def reviewer_name(text: str) -> str:
    """Strip and check a reviewer's name. Raises UsageError."""
    if not text.strip() or not text.isprintable():
        raise UsageError(f"invalid reviewer name {text!r}", field="reviewer")
    return text.strip()


def now() -> str:
    """Return the current time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")

"""The store of what people decided: rows of `reviews.jsonl`, of a study or of a build alone."""

import getpass
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, RootModel

from skilljuror.errors import UsageError
from skilljuror.files import StudyFolder, read_record, read_rows, sha256
from skilljuror.models.label_sample import LabelSample, SampledUse
from skilljuror.models.review import Acceptance, Decision, Waiver

Kind = TypeVar("Kind", Waiver, Acceptance, Decision)


class _Row(RootModel[Annotated[Waiver | Acceptance | Decision, Field(discriminator="kind")]]):
    """A row of any kind."""


def rows_of(kind: type[Kind], path: Path) -> list[Kind]:
    """The rows of one kind, in order. Raises StudyError that names file and row for one of no kind."""
    rows = (row.root for row in read_rows(_Row, path))
    return [row for row in rows if isinstance(row, kind)]


def moment(text: str) -> datetime:
    """A time in ISO 8601, with its zone; without one it is UTC. Raises ValueError."""
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def decided_at(row: Waiver | Decision) -> datetime:
    """When a row was decided; a time that is none, as earlier versions imported it, is before all others."""
    try:
        return moment(row.at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions of one store that were not taken back, the latest last: each undone row takes back
    the one of that person on that question that it names by its time, however often it is named."""
    stack: list[Decision] = []
    for row in decisions:
        if not row.undone:
            stack.append(row)
            continue
        of_it = (n for n in reversed(range(len(stack))) if _takes_back(row, stack[n]))
        if (last := next(of_it, None)) is not None:
            del stack[last]
    return sorted(stack, key=decided_at)


def _takes_back(undone: Decision, row: Decision) -> bool:
    same = (undone.by, undone.item) == (row.by, row.item)
    return same and undone.takes_back in {None, row.at}


def label_rows(folder: StudyFolder) -> list[Decision]:
    """The labels of events that stand in a study: of each person and event the last."""
    rows = standing(rows_of(Decision, folder.reviews))
    return list(
        {(row.by, row.item): row for row in rows if row.item.startswith("uptake:")}.values()
    )


def sampled_uses(folder: StudyFolder) -> tuple[SampledUse, ...]:
    """The uses that people are asked about, in order; () before a sample was drawn."""
    path = folder.label_sample
    return read_record(LabelSample, path).sample if path.is_file() else ()


class AcceptedTrials:
    """The trials of a study whose end a person took as final."""

    def __init__(self, folder: StudyFolder) -> None:
        """Reads the rows of `reviews.jsonl`. Raises StudyError for one of no kind."""
        self._folder = folder
        self._rows = {row.trial: row for row in rows_of(Acceptance, folder.reviews)}

    def of(self, trial: str) -> Acceptance | None:
        """The acceptance of a finished trial; None without one, and where the trial ended again since.

        Raises StudyError for an accepted.json of an earlier version that is damaged.
        """
        row, beside = self._rows.get(trial), self._folder.acceptance(trial)
        if row and row.seen == record_digest(self._folder, trial):
            return row
        return read_record(Acceptance, beside) if beside.is_file() else None


def record_digest(folder: StudyFolder, trial: str) -> str:
    """sha256 of the record of a finished trial."""
    return sha256(folder.trial_record(trial).read_bytes())


def login_name(option: str = "by") -> str:
    """Who decides where nobody is named. Raises UsageError where this user has no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise UsageError(
            f"who decides this? name a person: --{option} NAME", field=option
        ) from error


def reviewer_name(text: str) -> str:
    """The name of a reviewer, without what surrounds it. Raises UsageError for one that is none."""
    if not text.strip() or not text.isprintable():
        raise UsageError(f"{text!r} is no name of a reviewer", field="reviewer")
    return text.strip()


def now() -> str:
    """The time of a decision: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")

"""What both ways of ingest share: counting what goes by, and transactions worth their while."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from msgspec import Struct

from skilljuror.models.ingest import SourceRow
from skilljuror.store.runs import RunColumns

BATCH_ROWS = 40_000
"""Rows per transaction: enough to make the cost of one small, few enough to stay in memory."""


class IngestSummary(Struct, frozen=True):
    """What ingest found."""

    trials: int
    """Trials of the study; 0 in observed mode."""
    parsed: int
    """Files read."""
    duplicates: int
    """Files that hold a run counted elsewhere."""
    skipped: int
    """Files that no format claims."""
    errors: int
    """Files that a format claims, or the user named, and that cannot be read."""
    trajectories: int
    """Runs counted."""
    unlogged: int
    """Foreign trials kept without a run: their result stands alone."""
    steps: int
    """Agent steps, sub-agents included."""
    skills: int
    """Distinct skills with a resource event."""
    events: int
    """Resource events."""
    unread: tuple[tuple[str, int], ...]
    """(reason, files) of everything that was not read, most frequent first."""
    failures: tuple[tuple[str, str], ...]
    """(file, reason) of every error."""


class Tally:
    """Counts what goes by, holding no rows."""

    def __init__(self) -> None:
        self.trials = self.trajectories = self.unlogged = self.steps = self.events = 0
        self.skills: set[str] = set()
        self.status: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.failures: list[tuple[str, str]] = []

    def runs(self, found: RunColumns) -> None:
        """Count runs."""
        logged, events = found["trajectories"], found["events"]
        self.trajectories += len(logged["trajectory"])
        self.steps += sum(logged["steps"]) + sum(logged["sub_steps"])
        self.events += len(events["event"])
        self.skills.update(events["skill"])

    def sources(self, rows: Iterable[SourceRow]) -> None:
        """Count files."""
        for row in rows:
            self.status[row.status] += 1
            if row.status == "error":
                self.failures.append((row.path, row.reason or "unknown"))
            elif row.reason is not None:
                self.reasons[row.reason] += 1

    def summary(self) -> IngestSummary:
        """The result."""
        return IngestSummary(
            trials=self.trials,
            parsed=self.status["parsed"],
            duplicates=self.status["duplicate"],
            skipped=self.status["skipped"],
            errors=self.status["error"],
            trajectories=self.trajectories,
            unlogged=self.unlogged,
            steps=self.steps,
            skills=len(self.skills),
            events=self.events,
            unread=tuple(self.reasons.most_common()),
            failures=tuple(sorted(self.failures)),
        )


class Read(Protocol):
    """What a worker hands over."""

    @property
    def runs(self) -> RunColumns:
        """Its runs."""
        ...


Item = TypeVar("Item")
Answer = TypeVar("Answer", bound=Read)


def batches(
    pairs: Iterable[tuple[Item, Answer]],
) -> Iterator[list[tuple[Item, Answer]]]:
    """Answers gathered until they make enough rows for a transaction to be worth its while."""
    batch: list[tuple[Item, Answer]] = []
    held = 0
    for pair in pairs:
        batch.append(pair)
        held += _rows(pair[1].runs)
        if held >= BATCH_ROWS:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _rows(runs: RunColumns) -> int:
    counted = ("steps", "trajectory"), ("events", "trajectory"), ("measures", "trial")
    return sum(len(runs[table][column]) for table, column in counted)

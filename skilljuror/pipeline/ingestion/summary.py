"""What both ways of ingest share: the summary of what was read, and batches of it for transactions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from skilljuror.models.ingest import SourceRow
from skilljuror.pipeline.ingestion.changes import FileChanges
from skilljuror.store.runs import RunColumns

if TYPE_CHECKING:
    from skilljuror.store.seen import Totals

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
    remade: bool
    """Whether a database of another version was made again from all its sources, without the
    verdicts of judges."""
    new: int = 0
    """Files that were never seen before."""
    changed: int = 0
    """Files that are not as they were."""
    unchanged: int = 0
    """Files that are as they were, and were not read again."""
    gone: int = 0
    """Files that are gone; their runs are held."""
    kept: int = 0
    """Runs that are held although their files became shorter or are gone in part."""


class IngestCounter:
    """Counts runs and files as they are stored, holding no rows."""

    def __init__(self) -> None:
        self.trials = self.trajectories = self.unlogged = self.steps = self.events = 0
        self.skills: set[str] = set()
        self.statuses: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.failures: list[tuple[str, str]] = []

    def add_runs(self, runs: RunColumns) -> None:
        """Count runs."""
        logged, events = runs["trajectories"], runs["events"]
        self.trajectories += len(logged["trajectory"])
        self.steps += sum(logged["steps"]) + sum(logged["sub_steps"])
        self.events += len(events["event"])
        self.skills.update(events["skill"])

    def add_sources(self, rows: Iterable[SourceRow]) -> None:
        """Count files."""
        for row in rows:
            self.statuses[row.status] += 1
            if row.status == "error":
                self.failures.append((row.path, row.reason or "unknown"))
            elif row.reason is not None:
                self.reasons[row.reason] += 1

    def summary(self, *, remade: bool) -> IngestSummary:
        """All that was counted, of an ingest that made a database again or not."""
        return IngestSummary(
            trials=self.trials,
            parsed=self.statuses["parsed"],
            duplicates=self.statuses["duplicate"],
            skipped=self.statuses["skipped"],
            errors=self.statuses["error"],
            trajectories=self.trajectories,
            unlogged=self.unlogged,
            steps=self.steps,
            skills=len(self.skills),
            events=self.events,
            unread=tuple(self.reasons.most_common()),
            failures=tuple(sorted(self.failures)),
            remade=remade,
        )


def summary_of(held: "Totals", counts: FileChanges) -> IngestSummary:
    """What the database holds of the files of an ingest of logs."""
    files: Counter[str] = Counter()
    for status, _, _, count in held.statuses:
        files[status] += count
    told = [row for row in held.statuses if row[2] is not None and row[0] != "error"]
    return IngestSummary(
        trials=0,
        parsed=files["parsed"],
        duplicates=files["duplicate"],
        skipped=files["skipped"],
        errors=files["error"],
        trajectories=held.runs,
        unlogged=held.unlogged,
        steps=held.steps,
        skills=held.skills,
        events=held.events,
        unread=tuple((reason or "", count) for _, _, reason, count in told),
        failures=tuple(
            sorted((path, reason or "unknown") for _, path, reason, _ in held.statuses if path)
        ),
        remade=False,
        kept=held.kept,
        **counts._asdict(),
    )


class HasRuns(Protocol):
    """What a worker hands over."""

    @property
    def runs(self) -> RunColumns:
        """Its runs."""
        ...


Item = TypeVar("Item")
Result = TypeVar("Result", bound=HasRuns)


def batches(
    results: Iterable[tuple[Item, Result]],
) -> Iterator[list[tuple[Item, Result]]]:
    """(item, result) pairs gathered until they make enough rows for a transaction."""
    batch: list[tuple[Item, Result]] = []
    rows = 0
    for item, result in results:
        batch.append((item, result))
        rows += _count_rows(result.runs)
        if rows >= BATCH_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _count_rows(runs: RunColumns) -> int:
    columns = ("steps", "trajectory"), ("events", "trajectory"), ("measures", "trial")
    return sum(len(runs[table][column]) for table, column in columns)

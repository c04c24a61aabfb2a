"""Summary and transaction batches, shared by both kinds of ingest."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from skilljuror.base.results import SourceRow
from skilljuror.store.ingest.changes import FileChanges
from skilljuror.store.runs import RunColumns

if TYPE_CHECKING:
    from skilljuror.store.seen import Totals

BATCH_ROWS = 40_000
"""Rows per transaction: many enough to be fast, few enough for memory."""


class IngestSummary(Struct, frozen=True):
    """Counts of an ingest."""

    trials: int
    """Trials of the study; 0 in observed mode."""
    parsed: int
    duplicates: int
    """Files whose run another file provides."""
    skipped: int
    """Unsupported files."""
    errors: int
    """Files with a format, or named by the user, that cannot be read."""
    trajectories: int
    """Runs counted."""
    unlogged: int
    """Foreign trials without a run, stored with their result."""
    steps: int
    """Agent steps, sub-agents included."""
    skills: int
    """Distinct Skills with a resource event."""
    events: int
    unread: tuple[tuple[str, int], ...]
    """(reason, files) for all files not read, most frequent first."""
    failures: tuple[tuple[str, str], ...]
    """(file, reason) of every error."""
    remade: bool
    """Whether a database of another version was regenerated, without the judges' verdicts."""
    new: int = 0
    """Files not seen before."""
    changed: int = 0
    """Files changed since the last ingest."""
    unchanged: int = 0
    """Unchanged files, which are not read again."""
    gone: int = 0
    """Missing files; their runs are kept unless pruned."""
    unknown_tools: tuple[tuple[str, int, int], ...] = ()
    """(tool that skilljuror does not know, its calls, runs in which it may have opened a Skill)."""
    kept: int = 0
    """Runs kept although their files became shorter or are partly missing."""


class IngestCounter:
    """Counts runs and files as they are stored, without keeping rows."""

    def __init__(self) -> None:
        self.trials = self.trajectories = self.unlogged = self.steps = self.events = 0
        self.skills: set[str] = set()
        self.unknown_calls: Counter[str] = Counter()
        self.unknown_runs: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.failures: list[tuple[str, str]] = []

    def add_runs(self, runs: RunColumns) -> None:
        logged, events = runs["trajectories"], runs["events"]
        self.trajectories += len(logged["trajectory"])
        self.steps += sum(logged["steps"]) + sum(logged["sub_steps"])
        self.events += len(events["event"])
        self.skills.update(events["skill"])
        unknown = runs["unknown_tools"]
        for tool, calls, skills in zip(
            *(unknown[c] for c in ("tool", "calls", "skills")), strict=True
        ):
            self.unknown_calls[tool] += calls
            self.unknown_runs[tool] += bool(skills)

    def add_sources(self, rows: Iterable[SourceRow]) -> None:
        for row in rows:
            self.statuses[row.status] += 1
            if row.status == "error":
                self.failures.append((row.path, row.reason or "unknown"))
            elif row.reason is not None and row.status != "part":
                self.reasons[row.reason] += 1

    def summary(self, *, remade: bool) -> IngestSummary:
        return IngestSummary(
            trials=self.trials,
            parsed=self.statuses["parsed"] + self.statuses["part"],
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
            unknown_tools=tuple(
                (tool, calls, self.unknown_runs[tool])
                for tool, calls in self.unknown_calls.most_common()
            ),
        )


def summary_of(held: "Totals", counts: FileChanges) -> IngestSummary:
    """Summary of the stored files of an ingest of logs."""
    files: Counter[str] = Counter()
    for status, _, _, count in held.statuses:
        files[status] += count
    reasons = [
        row for row in held.statuses if row[2] is not None and row[0] not in {"error", "part"}
    ]
    return IngestSummary(
        trials=0,
        parsed=files["parsed"] + files["part"],
        duplicates=files["duplicate"],
        skipped=files["skipped"],
        errors=files["error"],
        trajectories=held.runs,
        unlogged=held.unlogged,
        steps=held.steps,
        skills=held.skills,
        events=held.events,
        unread=tuple((reason or "", count) for _, _, reason, count in reasons),
        failures=tuple(
            sorted((path, reason or "unknown") for _, path, reason, _ in held.statuses if path)
        ),
        remade=False,
        unknown_tools=tuple(held.unknown_tools),
        kept=held.kept,
        **counts._asdict(),
    )


class HasRuns(Protocol):
    """A worker's result."""

    @property
    def runs(self) -> RunColumns: ...


Item = TypeVar("Item")
Result = TypeVar("Result", bound=HasRuns)


def batches(
    results: Iterable[tuple[Item, Result]],
) -> Iterator[list[tuple[Item, Result]]]:
    """Batch (item, result) pairs into transactions by their number of rows."""
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

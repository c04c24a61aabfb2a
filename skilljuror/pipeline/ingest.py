"""From raw logs to rows in DuckDB: a study's own trials, or anybody's agent logs."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.errors import UsageError
from skilljuror.files import RunFolder, append_jsonl, read_record
from skilljuror.models.ingest import SourceRow
from skilljuror.models.study import StudyPlan, TrialRecord
from skilljuror.parsers.base import Found
from skilljuror.parsers.discover import discover, families_at, families_of
from skilljuror.pipeline.analysis import analyse
from skilljuror.pipeline.builds import read_builds
from skilljuror.pipeline.counting import refuse_estimates
from skilljuror.pipeline.logs import (
    ReadLogs,
    group_captures,
    portions,
    read_portion,
)
from skilljuror.pipeline.pool import in_order
from skilljuror.pipeline.progress import Listener, Progress, silent
from skilljuror.pipeline.rows import unread_row
from skilljuror.pipeline.trials import is_planned, read_trial
from skilljuror.queries.run import run
from skilljuror.store import Store, open_read, open_write
from skilljuror.store.runs import RunColumns, run_columns

__all__ = ["IngestSummary", "ingest_logs", "ingest_trials", "is_planned", "usual_folders"]

USUAL = (
    ("CODEX_HOME", ".codex", "sessions"),
    ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    ("GEMINI_HOME", ".gemini", "tmp"),
)
"""(variable that moves it, folder in the home, logs in it) of Codex, Claude Code and Gemini CLI."""

_RUNS = "SELECT trajectory, source FROM trajectories ORDER BY trajectory"
_TRIALS = "SELECT trial FROM trials UNION SELECT trajectory FROM trajectories"
_PATHS = "SELECT path FROM sources"
Item = TypeVar("Item")
Answer = TypeVar("Answer")

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


class _Tally:
    """Counts what goes by, holding no rows."""

    def __init__(self) -> None:
        self.trials = self.trajectories = self.steps = self.events = 0
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
            steps=self.steps,
            skills=len(self.skills),
            events=self.events,
            unread=tuple(self.reasons.most_common()),
            failures=tuple(sorted(self.failures)),
        )


class _Before:
    """Runs that the database holds already: what is read now may join them or take their place."""

    def __init__(self, folder: RunFolder) -> None:
        rows = run(folder.database, _RUNS).rows if folder.database.is_file() else []
        self._keys: dict[str, list[str]] = {}
        for key, source in rows:
            self._keys.setdefault(str(source), []).append(str(key))
        self._given: set[str] = set()

    def joined(self, paths: Sequence[Path], since: float | None) -> list[Found]:
        """The logs under the paths, with the earlier captures and relatives of their runs."""
        found = discover(paths, since)
        here = {one.source.path for one in found}
        names = {name for one in found for name in families_of(one)}
        others = sorted({Path(source) for source in self._keys} - here) if names else []
        kin = [path for path in others if families_at(path) & names]
        if not kin:
            return found
        named = {one.source.path for one in found if one.named}
        return [
            replace(one, named=one.source.path in named) for one in discover([*paths, *kin], since)
        ]

    def forget(
        self,
        store: Store,
        sources: Iterable[SourceRow],
        runs: Iterable[str] = (),
        parts: Sequence[str] = (),
    ) -> None:
        """Take out runs that their files no longer give, and files that are now parts of others."""
        self._given.update(runs)
        paths = [*(row.path for row in sources), *parts] if self._keys else []
        once = [key for path in paths for key in self._keys.pop(path, ())]
        stale = [key for key in once if key not in self._given]
        if stale or (paths and parts):
            store.forget(stale, parts)


class _TrialJob(Struct, frozen=True):
    study: Path
    trial: str
    count_tokens: bool


class _TrialRows(Struct, frozen=True):
    record: TrialRecord
    sources: tuple[SourceRow, ...]
    runs: RunColumns


def ingest_trials(
    study: Path, *, jobs: int = 1, count_tokens: bool = False, progress: Listener = silent
) -> IngestSummary:
    """Everything a study's folder holds into its database; doing it again changes nothing.

    `count_tokens` counts the tokens of every step exactly; without it, that share is null.
    """
    if count_tokens:
        refuse_estimates()
    folder = RunFolder.existing(study)
    plan = read_record(StudyPlan, folder.plan_file)
    work = [_TrialJob(study, trial, count_tokens) for trial in folder.finished_trials()]
    tally = _Tally()
    trials, paths = _before(folder.database)
    with open_write(folder.database) as store:
        store.forget_trials(sorted(trials - {job.trial for job in work}))
        store.put_plan(plan)
        store.put_builds(read_builds(folder.builds, [task.name for task in plan.tasks]))
        done = 0
        for batch in _batches(in_order(_read_trial, work, jobs), _rows):
            paths -= _put_trials(store, tally, [rows for _, rows in batch])
            done += len(batch)
            progress(Progress("ingest", done, len(work), batch[-1][0].trial))
        store.forget((), sorted(paths))
    return tally.summary()


def _before(database: Path) -> tuple[set[str], set[str]]:
    """What an earlier ingest put there: names of trials, and paths of files."""
    if not database.is_file():
        return set(), set()
    with open_read(database) as reader:
        trials, paths = (run(reader, sql).rows for sql in (_TRIALS, _PATHS))
    return {str(name) for (name,) in trials}, {str(path) for (path,) in paths}


def _put_trials(store: Store, tally: _Tally, rows: Sequence[_TrialRows]) -> set[str]:
    """Put trials; the paths of their files."""
    store.forget([row.record.trial for row in rows if not row.runs["trajectories"]["trajectory"]])
    store.put_trials([row.record for row in rows])
    sources = [source for row in rows for source in row.sources]
    store.put_sources(sources)
    store.put_runs(row.runs for row in rows)
    tally.trials += len(rows)
    tally.sources(sources)
    for row in rows:
        tally.runs(row.runs)
    return {source.path for source in sources}


def _read_trial(job: _TrialJob) -> _TrialRows:
    trial = read_trial(job.study, job.trial)
    found = analyse(
        job.trial, trial.trajectory, trial.record, trial.manifest, trial.units,
        count_tokens=job.count_tokens,
    )  # fmt: skip
    return _TrialRows(trial.record, trial.sources, run_columns([found]))


def ingest_logs(
    study: Path,
    paths: Sequence[Path],
    *,
    since: float | None = None,
    jobs: int = 1,
    count_tokens: bool = False,
    progress: Listener = silent,
) -> IngestSummary:
    """Foreign logs into a database of their own (observed mode); doing it again changes nothing.

    `count_tokens` as for `ingest_trials`.
    """
    if count_tokens:
        refuse_estimates()
    if is_planned(study):
        raise UsageError(
            f"{str(study)!r} is a study with trials of its own: read logs into another folder, or"
            " leave PATH out to read its trials",
            file=str(study),
        )
    if study.exists() and not study.is_dir():
        raise UsageError(f"--study {str(study)!r} is a file; name a folder", file=str(study))
    gone = [str(path) for path in paths if not path.exists()]
    if gone:
        raise UsageError(
            f"no log at {gone[0]!r}: it does not exist; nothing was read", file=gone[0]
        )
    folder = RunFolder(study)
    folder.root.mkdir(parents=True, exist_ok=True)
    before = _Before(folder)
    found = before.joined([path.resolve() for path in paths], since)
    groups = group_captures(one for one in found if one.format is not None)
    tally = _Tally()
    with open_write(folder.database) as store:
        unread = [unread_row(one) for one in found if one.format is None]
        before.forget(store, unread)
        store.put_sources(unread)
        tally.sources(unread)
        done = 0
        work = partial(read_portion, count_tokens=count_tokens)
        for batch in _batches(in_order(work, portions(groups), jobs), _rows):
            _put_logs(store, tally, before, [answer for _, answer in batch])
            done += sum(len(portion) for portion, _ in batch)
            progress(Progress("ingest", done, len(groups)))
    append_jsonl(folder.sources_file, {"paths": [str(path.resolve()) for path in paths]})
    return tally.summary()


def _put_logs(store: Store, tally: _Tally, before: _Before, answers: Sequence[ReadLogs]) -> None:
    sources = [row for answer in answers for row in answer.sources]
    keys = [key for answer in answers for key in answer.runs["trajectories"]["trajectory"]]
    before.forget(store, sources, keys, [part for answer in answers for part in answer.parts])
    store.put_sources(sources)
    store.put_runs(answer.runs for answer in answers)
    tally.sources(sources)
    for answer in answers:
        tally.runs(answer.runs)


def _batches(
    pairs: Iterable[tuple[Item, Answer]], rows: Callable[[Answer], int]
) -> Iterator[list[tuple[Item, Answer]]]:
    """Answers gathered until they make enough rows for a transaction to be worth its while."""
    batch: list[tuple[Item, Answer]] = []
    held = 0
    for pair in pairs:
        batch.append(pair)
        held += rows(pair[1])
        if held >= BATCH_ROWS:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _rows(read: _TrialRows | ReadLogs) -> int:
    return sum(len(read.runs[name]["trajectory"]) for name in ("steps", "events")) + len(
        read.runs["measures"]["trial"]
    )


def usual_folders() -> list[Path]:
    """Folders where Codex, Claude Code and Gemini CLI keep their logs, where they exist."""
    found = []
    for variable, name, logs in USUAL:
        base = Path(os.environ.get(variable) or Path.home() / name)
        if (base / logs).is_dir():
            found.append(base / logs)
    return found

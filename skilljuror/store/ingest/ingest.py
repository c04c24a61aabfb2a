"""Ingest any agent's logs into DuckDB (observed mode).

In a first ingest, workers start while logs are searched for, and the database loads while they
read. Later, changes are found first, and workers only start if there are any.
"""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from skilljuror.base.errors import UsageError
from skilljuror.base.files import StudyFolder, append_jsonl, path_of, path_text, read_jsonl
from skilljuror.base.workers import Listener, Progress, infrequent_gc, map_ordered, silent
from skilljuror.logs import FORMATS
from skilljuror.logs.discovery import ALL_LOGS, LogFilter, is_gone
from skilljuror.logs.read import parser
from skilljuror.measures.metrics import families
from skilljuror.store.ingest.analysis import NOTHING_FURTHER, MeasureOptions, definition_rows
from skilljuror.store.ingest.changes import (
    TRUSTING,
    ChangeFinder,
    Changes,
    FileChanges,
    ReadPolicy,
)
from skilljuror.store.ingest.logs import (
    LogGroup,
    ReadLogs,
    portions,
    read_portion,
)
from skilljuror.store.ingest.quotes import resolve_quotes
from skilljuror.store.ingest.reader import reader_digest
from skilljuror.store.ingest.rows import unread_row
from skilljuror.store.ingest.stored_runs import StoredRuns
from skilljuror.store.ingest.summary import IngestSummary, batches, summary_of
from skilljuror.store.replacement import database_to_fill

if TYPE_CHECKING:
    from skilljuror.store import Store


def ingest_logs(  # noqa: PLR0913  each says another thing
    study: Path,
    paths: Sequence[Path],
    *,
    wanted: LogFilter = ALL_LOGS,
    jobs: int = 1,
    options: MeasureOptions = NOTHING_FURTHER,
    policy: ReadPolicy = TRUSTING,
    progress: Listener = silent,
) -> IngestSummary:
    """Ingest foreign logs into their own database (observed mode); repeating it changes nothing.

    `wanted` selects logs under the paths, `options` the measures, `policy` the files to read again.
    Raises UsageError for an invalid path, format or metric.
    """
    families(options.metrics)
    _check_paths(study, paths)
    for name in wanted.formats:
        parser(name)  # rejects an invalid name before reading
    folder = StudyFolder(study)
    folder.root.mkdir(parents=True, exist_ok=True)
    options = resolve_quotes(study, options)
    absolute = [path.resolve() for path in paths]
    earlier = _earlier_ingests(folder)
    _note_ingest(folder, absolute, wanted, earlier)
    with infrequent_gc(), database_to_fill(folder.database) as database:
        remade = database != folder.database and (bool(earlier) or folder.database.exists())
        asked = [*(earlier if remade else ()), (absolute, wanted)]
        ingest = Ingest(jobs, IngestSinks(database, progress, options), policy, time.time_ns())
        summary = ingest.read_all(asked)
    if remade:
        _store_builds_again(folder.root)
    _store_labels(folder)
    return replace(summary, remade=remade)


def _note_ingest(
    folder: StudyFolder,
    paths: Sequence[Path],
    wanted: LogFilter,
    earlier: Iterable[tuple[Sequence[Path], LogFilter]],
) -> None:
    """Record a new ingest, so that the database can be regenerated."""
    for theirs, before in earlier:
        whole = before.since is None or (wanted.since is not None and before.since <= wanted.since)
        if list(theirs) == list(paths) and list(before.formats) == list(wanted.formats) and whole:
            return
    append_jsonl(folder.sources_file, {"paths": [*map(path_text, paths)], **wanted._asdict()})


def _earlier_ingests(folder: StudyFolder) -> list[tuple[list[Path], LogFilter]]:
    """All earlier ingests of a study, in order; repeated ones count once, at their last position
    and with the earliest date."""
    since: dict[tuple[tuple[str, ...], tuple[str, ...]], float | None] = {}
    for entry in read_jsonl(folder.sources_file):
        asked = tuple(entry["paths"]), tuple(entry.get("formats", ()))
        date, before = entry.get("since"), since.pop(asked, float("inf"))
        since[asked] = None if date is None or before is None else min(date, before)
    return [
        ([*map(path_of, paths)], LogFilter(date, formats))
        for (paths, formats), date in since.items()
    ]


def _store_builds_again(folder: Path) -> None:
    """Store the builds in the folder again."""
    from skilljuror.store.stored_builds import build_names, store_builds

    if names := build_names(folder):
        store_builds(folder, names)


def _store_labels(folder: StudyFolder) -> None:
    """Store people's labels of events."""
    if folder.reviews.is_file() or folder.label_sample.is_file():
        from skilljuror.base.review_rows import label_rows, sampled_uses
        from skilljuror.store import open_write

        with open_write(folder.database) as store:
            store.put_labels(label_rows(folder))
            store.put_label_sample(sampled_uses(folder))


class IngestSinks(NamedTuple):
    """Destinations of an ingest."""

    database: Path
    progress: Listener
    """Progress callback."""
    options: MeasureOptions


class Ingest:
    """One ingest: reads changes, in workers or not."""

    def __init__(self, jobs: int, sinks: IngestSinks, policy: ReadPolicy, begun_ns: int) -> None:
        self._jobs = jobs
        self._sinks = sinks
        self._policy = policy
        self._begun_ns = begun_ns
        self._store: Store | None = None

    def read_all(self, asked: Sequence[tuple[Sequence[Path], LogFilter]]) -> IngestSummary:
        """Read changes under the paths; return a summary of the stored rows."""
        walked: dict[str, None] = {}
        counts = FileChanges()
        with ExitStack() as opened:
            for paths, wanted in asked:
                changes, stored = self._changes(paths, wanted, self._policy, opened)
                incomplete = self._read(changes, stored, opened)
                if self._policy.prune:
                    incomplete |= _prune(
                        self._open(opened), changes, paths if wanted == ALL_LOGS else ()
                    )
                if incomplete:
                    once_more = ReadPolicy(verify=self._policy.verify)
                    self._read(*self._changes(paths, wanted, once_more, opened), opened)
                walked.update(dict.fromkeys(changes.walked))
                counts = FileChanges(*map(add, counts, changes.counts))
            return summary_of(self._open(opened).seen.totals([*walked]), counts)

    def _open(self, opened: ExitStack) -> "Store":
        """Open the database on first use."""
        if self._store is None:
            from skilljuror.store import open_write

            self._store = opened.enter_context(open_write(self._sinks.database))
        return self._store

    def _changes(
        self, paths: Sequence[Path], wanted: LogFilter, policy: ReadPolicy, opened: ExitStack
    ) -> tuple[Changes, StoredRuns]:
        reader = reader_digest(self._sinks.options, wanted.formats)
        if not self._sinks.database.is_file():
            changes = ChangeFinder(None, reader, self._begun_ns, policy).changes(paths, wanted)
            return changes, StoredRuns((), {})
        store = self._open(opened)
        changes = ChangeFinder(store.seen, reader, self._begun_ns, policy).changes(paths, wanted)
        return changes, StoredRuns(store.runs() if changes.found else (), changes.kept)

    def _read(self, changes: Changes, stored: StoredRuns, opened: ExitStack) -> bool:
        """Read and store groups. Return whether others under the paths must be read with them: those that
        have the same run, because the later path wins."""
        work = partial(read_portion, options=self._sinks.options)
        shares = list(portions(changes.groups))
        results = map_ordered(work, shares, min(self._jobs, len(shares)))
        store = self._open(opened)
        before = store.seen.contested()
        unread = [unread_row(one) for one in changes.found if one.format is None]
        done, total = 0, len(changes.found) - len(unread)
        with store.transaction():
            # keep the rows of inaccessible files
            stored.remove_replaced(store, [unread_row(one) for one in changes.rejected()])
            store.put_metrics(definition_rows(self._sinks.options.metrics))
            store.put_sources(unread)
            store.put_seen([*changes.only_seen()], {})
        for batch in batches(results):
            with store.transaction():
                _store_batch(store, changes, stored, batch)
            done += sum(len(group.found) for portion, _ in batch for group in portion)
            self._sinks.progress(Progress("ingest", done, total))
        store.seen.leave(changes.gone)
        walked, read = store.seen.digests_of(changes.walked), set(changes.digests.values())
        present = store.seen.groups(pending=True)
        again = {digest for group in before if group - present for digest in group} - read
        for group in store.seen.contested():
            if group & read and group & walked - read:
                again |= group & walked
        store.seen.read_again(again)
        return bool(again & walked)


def _check_paths(study: Path, paths: Iterable[Path]) -> None:
    if StudyFolder(study).planned:
        raise UsageError(
            f"{str(study)!r} is a study with trials: ingest logs into another folder, or omit PATH"
            " to ingest its trials",
            file=str(study),
        )
    if study.exists() and not study.is_dir():
        raise UsageError(f"--study {str(study)!r} is a file; name a folder", file=str(study))
    for path in paths:
        if not path.exists():
            raise UsageError(f"{str(path)!r} does not exist; nothing was ingested", file=str(path))


def _store_batch(
    store: "Store",
    changes: Changes,
    stored: StoredRuns,
    batch: Sequence[tuple[Sequence[LogGroup], ReadLogs]],
) -> None:
    results = [result for _, result in batch]
    sources = [row for result in results for row in result.sources]
    alone = {trial.trial for result in results for trial in result.unlogged}
    keys = [key for result in results for given in result.keys for key in given if key not in alone]
    stored.remove_replaced(store, sources, keys)
    store.put_sources(sources)
    store.put_runs(stored.without_shorter(store, result.runs) for result in results)
    store.put_unlogged([trial for result in results for trial in result.unlogged])
    groups = {
        changes.digest_of(group): given
        for portion, result in batch
        for group, given in zip(portion, result.keys, strict=True)
    }
    store.put_seen([file for digest in groups for file in changes.seen[digest]], groups)
    passing = {row.path for row in sources if row.passing}
    store.seen.read_again({changes.digests[path] for path in passing})


def _prune(store: "Store", changes: Changes, roots: Sequence[Path]) -> bool:
    """Forget missing sources with their runs, and runs that files no longer contain; under the
    roots, everything not found. Return whether groups must be read again."""
    stored = store.sources() | store.seen.paths()
    gone = {path for path in stored if is_gone(path)}
    below = tuple(f"{path_text(path)}/" for path in roots)
    unread = tuple(f"{path_text(one.source.path)}/" for one in changes.found if one.broken)
    left = (path for path in stored.difference(changes.walked) if path.startswith(below))
    gone.update(path for path in left if not path.startswith(unread))
    lost = [key for key, source in store.runs() if source in gone or is_gone(source)]
    lost += store.seen.kept_runs()
    with store.transaction():
        heirs = store.seen.heirs() if lost else []  # what they repeat may count nowhere else now
        again = {*store.seen.groups_giving([*lost, *heirs]), *store.seen.digests_of([*gone])}
        store.seen.read_again(again)
        store.forget(lost, [*gone])
        store.seen.forget([*gone])
    return bool(again)


def usual_folders() -> list[Path]:
    """Existing default log folders of agents with a registered format."""
    usual = [folder for name in FORMATS if (folder := parser(name).usual_folder)]
    homes = [Path(os.environ.get(one.variable) or Path.home() / one.folder) for one in usual]
    found = [home / one.logs for home, one in zip(homes, usual, strict=True)]
    return [folder for folder in found if folder.is_dir()]

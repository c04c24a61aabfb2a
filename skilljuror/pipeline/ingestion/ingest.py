"""Anybody's agent logs into DuckDB (observed mode).

Of a first ingest, workers start first and load while logs are looked for; the database is loaded
while they read. Later, what changed is found first, and without any there are no workers.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cache, partial
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from skilljuror.errors import UsageError
from skilljuror.files import StudyFolder, append_jsonl, path_of, path_text, read_jsonl
from skilljuror.metrics import families
from skilljuror.parsers import FORMATS
from skilljuror.parsers.discovery.file_facts import is_gone
from skilljuror.parsers.discovery.find_logs import ALL_LOGS, LogFilter
from skilljuror.parsers.read import parser
from skilljuror.pipeline.ingestion.analysis import NOTHING_FURTHER, MeasureOptions, definition_rows
from skilljuror.pipeline.ingestion.changes import (
    TRUSTING,
    ChangeFinder,
    Changes,
    FileChanges,
    ReadPolicy,
)
from skilljuror.pipeline.ingestion.logs import (
    LogGroup,
    ReadLogs,
    portions,
    preload,
    read_portion,
)
from skilljuror.pipeline.ingestion.quotes import settled_quotes
from skilljuror.pipeline.ingestion.reader import reader_digest
from skilljuror.pipeline.ingestion.rows import unread_row
from skilljuror.pipeline.ingestion.stored_runs import StoredRuns
from skilljuror.pipeline.ingestion.summary import IngestSummary, batches, summary_of
from skilljuror.pipeline.workers import (
    Listener,
    Progress,
    WorkerPool,
    infrequent_gc,
    silent,
    worker_pool,
)
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
    """Foreign logs into a database of their own (observed mode); doing it again changes nothing.

    `wanted` says which of the logs under the paths are looked for, `options` what is measured, `policy`
    which files are read again. Raises UsageError for a path, format or metric that is none.
    """
    families(options.metrics)
    if options.count_tokens:
        from skilljuror.pipeline.ingestion.token_counts import refuse_estimates

        refuse_estimates()
    _check_paths(study, paths)
    for name in wanted.formats:
        parser(name)  # refuses a wrong name before anything is read
    folder = StudyFolder(study)
    folder.root.mkdir(parents=True, exist_ok=True)
    options = settled_quotes(study, options)
    absolute = [path.resolve() for path in paths]
    earlier = _earlier_ingests(folder)
    _note_ingest(folder, absolute, wanted, earlier)
    with infrequent_gc(), database_to_fill(folder.database) as database, ExitStack() as workers:
        remade = database != folder.database and (bool(earlier) or folder.database.exists())
        asked = [*(earlier if remade else ()), (absolute, wanted)]
        pool = cache(lambda: workers.enter_context(worker_pool(jobs, preload=preload)))
        if not database.is_file():
            pool()  # workers load while logs are looked for
        ingest = Ingest(pool, IngestSinks(database, progress, options), policy, time.time_ns())
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
    """Write down what is ingested, unless that was before: the database can be made again from it."""
    for theirs, before in earlier:
        whole = before.since is None or (wanted.since is not None and before.since <= wanted.since)
        if list(theirs) == list(paths) and list(before.formats) == list(wanted.formats) and whole:
            return
    append_jsonl(folder.sources_file, {"paths": [*map(path_text, paths)], **wanted._asdict()})


def _earlier_ingests(folder: StudyFolder) -> list[tuple[list[Path], LogFilter]]:
    """What was ever ingested into a study, in order; the same again counts once, as it came last
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
    """Builds that lie in the folder as well are rows of its database."""
    from skilljuror.pipeline.construction.stored_builds import build_names, store_builds

    if names := build_names(folder):
        store_builds(folder, names)


def _store_labels(folder: StudyFolder) -> None:
    """What people said of events is rows of the database as well."""
    if folder.reviews.is_file() or folder.label_sample.is_file():
        from skilljuror.pipeline.review_rows import label_rows, sampled_uses
        from skilljuror.store import open_write

        with open_write(folder.database) as store:
            store.put_labels(label_rows(folder))
            store.put_label_sample(sampled_uses(folder))


class IngestSinks(NamedTuple):
    """Where an ingest puts what it reads."""

    database: Path
    """The database that is filled."""
    progress: Listener
    """Who is told of progress."""
    options: MeasureOptions
    """What is measured."""


class Ingest:
    """One ingest: what changed is read, whatever workers do it."""

    def __init__(
        self, pool: Callable[[], WorkerPool], sinks: IngestSinks, policy: ReadPolicy, begun_ns: int
    ) -> None:
        self._pool = pool
        self._sinks = sinks
        self._policy = policy
        self._begun_ns = begun_ns
        self._store: Store | None = None

    def read_all(self, asked: Sequence[tuple[Sequence[Path], LogFilter]]) -> IngestSummary:
        """Read what changed under the paths; what is held of them then."""
        if self._policy.prune and self._sinks.database.is_file():
            _prune(self._sinks.database)
        walked: dict[str, None] = {}
        counts = FileChanges()
        with ExitStack() as opened:
            for paths, wanted in asked:
                changes, stored = self._changes(paths, wanted, self._policy, opened)
                if self._read(changes, stored, opened):
                    once_more = ReadPolicy(verify=self._policy.verify)
                    self._read(*self._changes(paths, wanted, once_more, opened), opened)
                walked.update(dict.fromkeys(changes.walked))
                counts = FileChanges(*map(add, counts, changes.counts))
            return summary_of(self._open(opened).seen.totals([*walked]), counts)

    def _open(self, opened: ExitStack) -> "Store":
        """The database, opened when it is first needed: of a first ingest while the workers read."""
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
        """Read groups and store what they give. Whether one of them gives a run that a group gives which
        was not read: the later in the order of the paths counts, so that both have to be."""
        work = partial(read_portion, options=self._sinks.options)
        shares = list(portions(changes.groups))
        results = self._pool().map_ordered(work, shares) if shares else ()
        store = self._open(opened)
        unread = [unread_row(one) for one in changes.found if one.format is None]
        done, total = 0, len(changes.found) - len(unread)
        with store.transaction():
            # What is broken keeps what it gave.
            stored.remove_replaced(store, [unread_row(one) for one in changes.given_up()])
            store.put_metrics(definition_rows(self._sinks.options.metrics))
            store.put_sources(unread)
            store.put_seen([*changes.only_seen()], {})
        for batch in batches(results):
            with store.transaction():
                _store_batch(store, changes, stored, batch)
            done += sum(len(group.found) for portion, _ in batch for group in portion)
            self._sinks.progress(Progress("ingest", done, total))
        store.seen.leave(changes.gone)
        contested = store.seen.contested()
        store.seen.read_again(contested)
        left = contested - set(changes.digests.values())
        return bool(left and left & store.seen.digests_of(changes.walked))


def _check_paths(study: Path, paths: Iterable[Path]) -> None:
    if StudyFolder(study).planned:
        raise UsageError(
            f"{str(study)!r} is a study with trials of its own: read logs into another folder, or"
            " leave PATH out to read its trials",
            file=str(study),
        )
    if study.exists() and not study.is_dir():
        raise UsageError(f"--study {str(study)!r} is a file; name a folder", file=str(study))
    for path in paths:
        if not path.exists():
            raise UsageError(
                f"no log at {str(path)!r}: it does not exist; nothing was read", file=str(path)
            )


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
    parts = [part for result in results for part in result.parts]
    stored.remove_replaced(store, sources, keys, parts)
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


def _prune(database: Path) -> None:
    """Forget files that are gone, with their runs, and runs that files no longer give."""
    from skilljuror.store import open_write

    with open_write(database) as store, store.transaction():
        gone = [path for path in store.sources() | store.seen.paths() if is_gone(path)]
        lost = [key for key, source in store.runs() if is_gone(source)]
        kept = store.seen.kept_runs()
        again = store.seen.groups_giving([*lost, *kept])
        store.seen.read_again([*again, *store.seen.digests_of(gone)])
        store.forget([*lost, *kept], gone)
        store.seen.forget(gone)


def usual_folders() -> list[Path]:
    """Folders where the agents whose formats are registered keep their logs, where they exist."""
    usual = [folder for name in FORMATS if (folder := parser(name).usual_folder)]
    homes = [Path(os.environ.get(one.variable) or Path.home() / one.folder) for one in usual]
    found = [home / one.logs for home, one in zip(homes, usual, strict=True)]
    return [folder for folder in found if folder.is_dir()]

"""Anybody's agent logs into DuckDB (observed mode).

Workers start first and load while logs are looked for; the database is loaded while they read.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from skilljuror.errors import UsageError
from skilljuror.files import StudyFolder, append_jsonl, path_of, path_text, read_jsonl
from skilljuror.metrics import families
from skilljuror.models.ingest import SourceRow
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import FoundSource
from skilljuror.parsers.discovery.find_logs import (
    ALL_LOGS,
    LogFilter,
    discover,
    session_names_at,
    session_names_of,
)
from skilljuror.parsers.read import parser
from skilljuror.pipeline.ingestion.analysis import NOTHING_FURTHER, MeasureOptions, definition_rows
from skilljuror.pipeline.ingestion.logs import (
    LogGroup,
    ReadLogs,
    group_captures,
    portions,
    preload,
    read_portion,
)
from skilljuror.pipeline.ingestion.rows import unread_row
from skilljuror.pipeline.ingestion.summary import IngestCounter, IngestSummary, batches
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


class _StoredRuns:
    """Runs that the database holds already: what is read now may join them or take their place."""

    def __init__(self, database: Path) -> None:
        self._keys: dict[str, list[str]] = {}
        """Source -> keys of the runs that it gave."""
        if database.is_file():
            from skilljuror.store import open_write  # a first ingest loads it later

            with open_write(database) as store:
                for key, source in store.runs():
                    self._keys.setdefault(source, []).append(key)
        self._sources = sorted(self._keys)
        self._stored_now: set[str] = set()
        """Keys of the runs that this ingest stored."""

    def with_related(
        self, paths: Sequence[Path], wanted: LogFilter = ALL_LOGS
    ) -> list[FoundSource]:
        """The logs under the paths, with the earlier captures and relatives of their runs."""
        found = discover(paths, *wanted)
        paths_found = {one.source.path for one in found}
        names = {name for one in found for name in session_names_of(one)}
        others = sorted({path_of(source) for source in self._keys} - paths_found) if names else []
        related = [path for path in others if session_names_at(path, wanted.formats) & names]
        if not related:
            return found
        named = {one.source.path for one in found if one.named}
        return [
            replace(one, named=one.source.path in named)
            for one in discover([*paths, *related], *wanted)
        ]

    def remove_replaced(
        self,
        store: "Store",
        sources: Iterable[SourceRow],
        runs: Iterable[str] = (),
        parts: Sequence[str] = (),
    ) -> None:
        """Take out runs that their files no longer give, and files that are now parts of others.

        A trial folder gives the runs of the logs in it.
        """
        self._stored_now.update(runs)
        named = [*(row.path for row in sources), *parts] if self._keys else []
        paths = [path for name in named for path in (name, *self._inside(name))]
        keys = [key for path in paths for key in self._keys.pop(path, ())]
        stale = [key for key in keys if key not in self._stored_now]
        if stale or (paths and parts):
            store.forget(stale, parts)

    def _inside(self, folder: str) -> Iterator[str]:
        """The sources of held runs that lie in a folder."""
        begin = folder + os.sep
        first = bisect_left(self._sources, begin)
        rest = (self._sources[at] for at in range(first, len(self._sources)))
        return takewhile(lambda path: path.startswith(begin), rest)


def ingest_logs(
    study: Path,
    paths: Sequence[Path],
    *,
    wanted: LogFilter = ALL_LOGS,
    jobs: int = 1,
    options: MeasureOptions = NOTHING_FURTHER,
    progress: Listener = silent,
) -> IngestSummary:
    """Foreign logs into a database of their own (observed mode); doing it again changes nothing.

    `wanted` says which of the logs under the paths are looked for, `options` what is measured. Raises
    UsageError for a path, format or metric that is none.
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
    absolute = [path.resolve() for path in paths]
    earlier = _earlier_ingests(folder)
    append_jsonl(folder.sources_file, {"paths": [*map(path_text, absolute)], **wanted._asdict()})
    with (
        infrequent_gc(),
        worker_pool(jobs, preload=preload) as pool,
        database_to_fill(folder.database) as database,
    ):
        sinks = IngestSinks(database, IngestCounter(), progress, options)
        stored = _StoredRuns(database)
        found = stored.with_related(absolute, wanted)
        remade = database != folder.database and (bool(earlier) or folder.database.exists())
        if remade:
            found = _with_earlier(found, stored, earlier)
        _read_sources(sinks, pool, stored, found)
    if remade:
        _store_builds_again(folder.root)
    return sinks.counter.summary(remade=remade)


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


def _with_earlier(
    found: Sequence[FoundSource],
    stored: _StoredRuns,
    earlier: Iterable[tuple[Sequence[Path], LogFilter]],
) -> list[FoundSource]:
    """All logs that were ever ingested, and those found now."""
    sources: dict[Path, FoundSource] = {}
    for paths, wanted in earlier:
        sources.update((one.source.path, one) for one in stored.with_related(paths, wanted))
    sources.update((one.source.path, one) for one in found)
    return [*sources.values()]


def _store_builds_again(folder: Path) -> None:
    """Builds that lie in the folder as well are rows of its database."""
    from skilljuror.pipeline.construction.stored_builds import build_names, store_builds

    if names := build_names(folder):
        store_builds(folder, names)


class IngestSinks(NamedTuple):
    """Where an ingest puts what it reads, and what it counts of it."""

    database: Path
    """The database that is filled."""
    counter: IngestCounter
    """Counts what is stored, for the summary."""
    progress: Listener
    """Who is told of progress."""
    options: MeasureOptions
    """What is measured."""


def _read_sources(
    sinks: IngestSinks, pool: WorkerPool, stored: _StoredRuns, found: Sequence[FoundSource]
) -> None:
    """Read sources into the database."""
    groups = group_captures(one for one in found if one.format is not None)
    work = partial(read_portion, options=sinks.options)
    _store_results(sinks, stored, found, pool.map_ordered(work, portions(groups)))


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


def _store_results(
    sinks: IngestSinks,
    stored: _StoredRuns,
    found: Sequence[FoundSource],
    results: Iterable[tuple[Sequence[LogGroup], ReadLogs]],
) -> None:
    from skilljuror.store import open_write  # loaded while the workers read

    counter, done = sinks.counter, 0
    unread = [unread_row(one) for one in found if one.format is None]
    given_up = [unread_row(one) for one in found if one.format is None and not one.broken]
    total = len(found) - len(unread)
    with open_write(sinks.database) as store:
        stored.remove_replaced(store, given_up)  # what is broken keeps what it gave
        store.put_metrics(definition_rows(sinks.options.metrics))
        store.put_sources(unread)
        counter.add_sources(unread)
        for batch in batches(results):
            _store_batch(store, counter, stored, [result for _, result in batch])
            done += sum(len(group.found) for portion, _ in batch for group in portion)
            sinks.progress(Progress("ingest", done, total))


def _store_batch(
    store: "Store", counter: IngestCounter, stored: _StoredRuns, results: Sequence[ReadLogs]
) -> None:
    sources = [row for result in results for row in result.sources]
    keys = [key for result in results for key in result.runs["trajectories"]["trajectory"]]
    stored.remove_replaced(
        store, sources, keys, [part for result in results for part in result.parts]
    )
    store.put_sources(sources)
    store.put_runs(result.runs for result in results)
    alone = [trial for result in results for trial in result.unlogged]
    store.put_unlogged(alone)
    counter.unlogged += len(alone)
    counter.add_sources(sources)
    for result in results:
        counter.add_runs(result.runs)


def usual_folders() -> list[Path]:
    """Folders where the agents whose formats are registered keep their logs, where they exist."""
    usual = [folder for name in FORMATS if (folder := parser(name).usual_folder)]
    homes = [Path(os.environ.get(one.variable) or Path.home() / one.folder) for one in usual]
    found = [home / one.logs for home, one in zip(homes, usual, strict=True)]
    return [folder for folder in found if folder.is_dir()]

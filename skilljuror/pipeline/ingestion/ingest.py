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
from skilljuror.files import StudyFolder, append_jsonl
from skilljuror.models.ingest import SourceRow
from skilljuror.parsers.base import FoundSource
from skilljuror.parsers.discovery.find_logs import discover, session_names_at, session_names_of
from skilljuror.pipeline.ingestion.intake import IngestSummary, Tally, batches
from skilljuror.pipeline.ingestion.logs import (
    LogGroup,
    ReadLogs,
    group_captures,
    portions,
    preload,
    read_portion,
)
from skilljuror.pipeline.ingestion.rows import unread_row
from skilljuror.pipeline.workers import (
    Listener,
    Progress,
    WorkerPool,
    infrequent_gc,
    silent,
    worker_pool,
)

if TYPE_CHECKING:
    from skilljuror.store import Store

USUAL = (
    ("CODEX_HOME", ".codex", "sessions"),
    ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    ("GEMINI_HOME", ".gemini", "tmp"),
)
"""(variable that moves it, folder in the home, logs in it) of Codex, Claude Code and Gemini CLI."""


class _Before:
    """Runs that the database holds already: what is read now may join them or take their place.

    A database of an older version is brought up to date first.
    """

    def __init__(self, folder: StudyFolder) -> None:
        self.outdated: set[str] = set()
        """Sources that have to be read again, whether they are named now or not."""
        self._keys: dict[str, list[str]] = {}
        if folder.database.is_file():
            from skilljuror.store import open_write  # a first ingest loads it later

            with open_write(folder.database, grow=True) as store:
                self.outdated = store.outdated()
                for key, source in store.runs():
                    self._keys.setdefault(source, []).append(key)
        self._sources = sorted(self._keys)
        self._given: set[str] = set()

    def joined(self, paths: Sequence[Path], since: float | None) -> list[FoundSource]:
        """The logs under the paths, with the earlier captures and relatives of their runs."""
        found = discover(paths, since)
        here = {one.source.path for one in found}
        names = {name for one in found for name in session_names_of(one)}
        others = sorted({Path(source) for source in self._keys} - here) if names else []
        kin = [path for path in others if session_names_at(path) & names]
        if not kin:
            return found
        named = {one.source.path for one in found if one.named}
        return [
            replace(one, named=one.source.path in named) for one in discover([*paths, *kin], since)
        ]

    def forget(
        self,
        store: "Store",
        sources: Iterable[SourceRow],
        runs: Iterable[str] = (),
        parts: Sequence[str] = (),
    ) -> None:
        """Take out runs that their files no longer give, and files that are now parts of others.

        A trial folder gives the runs of the logs in it.
        """
        self._given.update(runs)
        named = [*(row.path for row in sources), *parts] if self._keys else []
        paths = [path for name in named for path in (name, *self._inside(name))]
        once = [key for path in paths for key in self._keys.pop(path, ())]
        stale = [key for key in once if key not in self._given]
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
    since: float | None = None,
    jobs: int = 1,
    count_tokens: bool = False,
    progress: Listener = silent,
) -> IngestSummary:
    """Foreign logs into a database of their own (observed mode); doing it again changes nothing.

    `count_tokens` counts the tokens of every step exactly; without it, that share is null.
    """
    if count_tokens:
        from skilljuror.pipeline.ingestion.counting import refuse_estimates

        refuse_estimates()
    _refuse(study, paths)
    folder = StudyFolder(study)
    folder.root.mkdir(parents=True, exist_ok=True)
    absolute = [path.resolve() for path in paths]
    told = _Told(folder, Tally(), progress, count_tokens)
    with infrequent_gc(), worker_pool(jobs, preload=preload) as pool:
        before = _Before(folder)
        found = before.joined(absolute, since)
        _read(told, pool, before, found)
        if before.outdated:
            _read_again(told, pool, before.outdated - {str(one.source.path) for one in found})
    append_jsonl(folder.sources_file, {"paths": [str(path) for path in absolute]})
    return told.tally.summary()


class _Told(NamedTuple):
    """Where what is read goes."""

    folder: StudyFolder
    tally: Tally
    progress: Listener
    count_tokens: bool


def _read(told: _Told, pool: WorkerPool, before: _Before, found: Sequence[FoundSource]) -> None:
    """Read sources into the database."""
    groups = group_captures(one for one in found if one.format is not None)
    work = partial(read_portion, count_tokens=told.count_tokens)
    _store(told, before, found, pool.map_ordered(work, portions(groups)))


def _read_again(told: _Told, pool: WorkerPool, paths: Iterable[str]) -> None:
    """Read what an older version left, as far as it is still there and was not read just now."""
    from skilljuror.store import open_write

    before = _Before(told.folder)
    left = sorted(before.outdated.intersection(paths))
    there = [Path(path) for path in left if os.access(path, os.R_OK)]
    if there:
        again = [replace(one, named=False) for one in before.joined(there, None)]
        _read(told, pool, before, again)
    with open_write(told.folder.database) as store:
        store.read_again()


def _refuse(study: Path, paths: Iterable[Path]) -> None:
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


def _store(
    told: _Told,
    before: _Before,
    found: Sequence[FoundSource],
    answers: Iterable[tuple[Sequence[LogGroup], ReadLogs]],
) -> None:
    from skilljuror.store import open_write  # loaded while the workers read

    tally, done = told.tally, 0
    unread = [unread_row(one) for one in found if one.format is None]
    total = len(found) - len(unread)
    with open_write(told.folder.database) as store:
        before.forget(store, unread)
        store.put_sources(unread)
        tally.sources(unread)
        for batch in batches(answers):
            _put(store, tally, before, [answer for _, answer in batch])
            done += sum(len(group.found) for portion, _ in batch for group in portion)
            told.progress(Progress("ingest", done, total))


def _put(store: "Store", tally: Tally, before: _Before, answers: Sequence[ReadLogs]) -> None:
    sources = [row for answer in answers for row in answer.sources]
    keys = [key for answer in answers for key in answer.runs["trajectories"]["trajectory"]]
    before.forget(store, sources, keys, [part for answer in answers for part in answer.parts])
    store.put_sources(sources)
    store.put_runs(answer.runs for answer in answers)
    alone = [trial for answer in answers for trial in answer.unlogged]
    store.put_unlogged(alone)
    tally.unlogged += len(alone)
    tally.sources(sources)
    for answer in answers:
        tally.runs(answer.runs)


def usual_folders() -> list[Path]:
    """Folders where Codex, Claude Code and Gemini CLI keep their logs, where they exist."""
    found = []
    for variable, name, logs in USUAL:
        base = Path(os.environ.get(variable) or Path.home() / name)
        if (base / logs).is_dir():
            found.append(base / logs)
    return found

"""Anybody's agent logs into DuckDB (observed mode).

Workers start first and load while logs are looked for; the database is loaded while they read.
"""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from skilljuror.errors import UsageError
from skilljuror.files import RunFolder, append_jsonl
from skilljuror.models.ingest import SourceRow
from skilljuror.parsers.base import Found
from skilljuror.parsers.discover import discover, families_at, families_of
from skilljuror.pipeline.intake import IngestSummary, Tally, batches
from skilljuror.pipeline.logs import (
    LogGroup,
    ReadLogs,
    group_captures,
    portions,
    read_portion,
    ready,
)
from skilljuror.pipeline.pool import crew, rarely_collected
from skilljuror.pipeline.progress import Listener, Progress, silent
from skilljuror.pipeline.rows import unread_row

if TYPE_CHECKING:
    from skilljuror.store import Store

USUAL = (
    ("CODEX_HOME", ".codex", "sessions"),
    ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    ("GEMINI_HOME", ".gemini", "tmp"),
)
"""(variable that moves it, folder in the home, logs in it) of Codex, Claude Code and Gemini CLI."""

_RUNS = "SELECT trajectory, source FROM trajectories ORDER BY trajectory"


class _Before:
    """Runs that the database holds already: what is read now may join them or take their place."""

    def __init__(self, folder: RunFolder) -> None:
        self._keys: dict[str, list[str]] = {}
        for key, source in _held(folder.database):
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
        store: "Store",
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
        from skilljuror.pipeline.counting import refuse_estimates

        refuse_estimates()
    _refuse(study, paths)
    folder = RunFolder(study)
    folder.root.mkdir(parents=True, exist_ok=True)
    absolute = [path.resolve() for path in paths]
    work = partial(read_portion, count_tokens=count_tokens)
    with rarely_collected(), crew(jobs, ready) as workers:
        before = _Before(folder)
        found = before.joined(absolute, since)
        groups = group_captures(one for one in found if one.format is not None)
        answers = workers.in_order(work, portions(groups))
        tally = _stored(folder, before, found, answers, progress)
    append_jsonl(folder.sources_file, {"paths": [str(path) for path in absolute]})
    return tally.summary()


def _refuse(study: Path, paths: Iterable[Path]) -> None:
    if RunFolder(study).planned:
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


def _held(database: Path) -> list[tuple[Any, ...]]:
    """(trajectory, source) of an earlier ingest."""
    if not database.is_file():
        return []
    from skilljuror.queries.run import run

    return run(database, _RUNS).rows


def _stored(
    folder: RunFolder,
    before: _Before,
    found: Sequence[Found],
    answers: Iterable[tuple[Sequence[LogGroup], ReadLogs]],
    progress: Listener,
) -> Tally:
    from skilljuror.store import open_write  # loaded while the workers read

    tally, done = Tally(), 0
    unread = [unread_row(one) for one in found if one.format is None]
    total = len(found) - len(unread)
    with open_write(folder.database) as store:
        before.forget(store, unread)
        store.put_sources(unread)
        tally.sources(unread)
        for batch in batches(answers):
            _put(store, tally, before, [answer for _, answer in batch])
            done += sum(len(group.found) for portion, _ in batch for group in portion)
            progress(Progress("ingest", done, total))
    return tally


def _put(store: "Store", tally: Tally, before: _Before, answers: Sequence[ReadLogs]) -> None:
    sources = [row for answer in answers for row in answer.sources]
    keys = [key for answer in answers for key in answer.runs["trajectories"]["trajectory"]]
    before.forget(store, sources, keys, [part for answer in answers for part in answer.parts])
    store.put_sources(sources)
    store.put_runs(answer.runs for answer in answers)
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

"""Logs of any agent: the cache of their rows, how they are read, and where a run stands again.

One rule decides what is read: the key of a group of files is the digest of the reader, its options and the facts of the files; the
rows stored under a key stay as long as the files give it. Discovery remembers the heads of files, so that an unchanged tree is
only walked. A run stays when its files are gone or shorter, until it is pruned.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError, UsageError
from skilljuror.base.files import (
    StudyFolder,
    append_jsonl,
    digest_json,
    path_of,
    path_text,
    read_jsonl,
)
from skilljuror.base.results import SourceRow, UnloggedTrial
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory
from skilljuror.base.workers import (
    Listener,
    Progress,
    WorkBudgetExceeded,
    infrequent_gc,
    map_ordered,
    silent,
    work_budget,
)
from skilljuror.events.attribute import attribute
from skilljuror.logs import FORMATS
from skilljuror.logs.base import FoundSource, SessionLink, Source
from skilljuror.logs.captures import Capture, CaptureDecision, capture_of, deduplicate, own_part
from skilljuror.logs.discovery import (
    ALL_LOGS,
    FileFacts,
    Finder,
    Located,
    LogFilter,
    discover,
    facts_at,
    folder_source_around,
    is_gone,
    names_of,
)
from skilljuror.logs.read import parser, read
from skilljuror.measures.metrics import families
from skilljuror.store.connect import resolve_quotes
from skilljuror.store.records import (
    NOTHING_FURTHER,
    FileChanges,
    IngestSummary,
    MeasureOptions,
    as_json,
)
from skilljuror.store.rows import (
    analyse,
    definition_rows,
    part_rows,
    reader_digest,
    size_of,
    unread_row,
    without_quotes,
)
from skilljuror.store.writer import summary_of

if TYPE_CHECKING:
    from skilljuror.store.writer import Store


HELD_BYTES = 16 << 20
"""Bytes of a session's captures that a worker keeps parsed at once."""
PORTION_BYTES = 2 << 20
"""Bytes of logs per portion for a worker, except for one larger run."""
PORTION_GROUPS = 32
"""Groups per portion."""
NO_RUN = "contains no run"
"""Reason of a source without a run."""
KEPT = "its result is stored"
"""Appended to the reason of a trial without a run."""
BRANCH = "~"
"""Separates a run's key from its branch."""
_LOGGED = """
WITH provided AS (
    SELECT
        run, bool_and(kept) AS kept, list(DISTINCT path ORDER BY path) AS files,
        if(bool_and(reader <> ''), min(digest), NULL) AS "group"
    FROM readings JOIN files USING (digest) GROUP BY run
)
SELECT
    trajectory, source, format, inherited_steps AS inherited, "group", coalesce(files, []) AS files, coalesce(kept, true) AS kept
FROM trajectories LEFT JOIN provided ON run = trajectory
WHERE trajectory IN (SELECT unnest($names::VARCHAR[]))
"""


class LogGroup(Struct, frozen=True):
    """Sources that may be captures of one run; one unit of work."""

    found: tuple[FoundSource, ...]
    """Sources, each with one format."""

    @property
    def size(self) -> int:
        """Bytes of its files; a folder counts 0."""
        return sum(one.size or 0 for one in self.found)


class ReadRun(Struct, frozen=True):
    """A run to store."""

    key: str
    steps: int
    """Steps in its log, those of sub-agents and inherited ones included."""
    inherited: int
    """Of these, steps that another session counts."""
    json: str
    """Its rows, as tables.sql reads them: cheaper to hand over than records."""


class ReadGroup(Struct, frozen=True):
    """What a worker read of a group."""

    sources: tuple[SourceRow, ...]
    runs: tuple[ReadRun, ...]
    """Runs to count, each once."""
    unlogged: tuple[UnloggedTrial, ...] = ()
    """Trials without a run."""


class LogEvents(Struct, frozen=True):
    """Resource events of one run, or why a file has none."""

    source: str
    """Main raw log of the run, to which event lines refer; else the file."""
    events: tuple[ResourceEvent, ...] = ()
    """Events in order of occurrence."""
    run: Trajectory | None = None
    """The run; None if the file cannot be read."""
    problem: str | None = None
    """Why the file cannot be read, or None."""


def events_of(
    paths: Sequence[Path], manifest: SkillManifest | None = None, formats: Sequence[str] = ()
) -> Iterator[LogEvents]:
    """Yield the resource events of logs, run by run, in the order of discovery.

    Named files are always included. In folders, each run counts once, and unsupported files are
    skipped. `formats` restricts the formats; () means all registered ones.
    """
    found = discover(paths, formats=formats)
    for one in found:
        if one.format is None and (one.named or one.broken):
            yield LogEvents(path_text(one.source.path), problem=one.problem)
    named = [LogGroup((one,)) for one in found if one.format and one.named]
    for group in (*named, *group_captures(one for one in found if one.format and not one.named)):
        rows, runs = _runs(group)
        for row in rows:
            if row.status == "error":
                yield LogEvents(row.path, problem=row.reason)
        for choice, parsed in runs:
            if choice.kept:
                yield _events(choice, _kept(choice, parsed), manifest)


def _events(choice: CaptureDecision, run: Trajectory, manifest: SkillManifest | None) -> LogEvents:
    source = choice.capture.source
    try:
        with work_budget(size_of(run.files)):
            return LogEvents(source, attribute(run, manifest).events, run)
    except WorkBudgetExceeded as error:
        return LogEvents(source, problem=error.message)


def group_captures(
    found: Iterable[FoundSource], ties: Iterable[Sequence[str]] = ()
) -> list[LogGroup]:
    """Group sources by the session in their first bytes, and by the first record that copies share;
    ordered by the first of each. `ties` are paths that belong together for another reason."""
    joined: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := joined.setdefault(name, name)) != name:
            name = above
        return name

    sources = [*found]
    for one in sources:
        if one.link is not None and one.link.origin:
            joined[root(one.link.origin)] = root(session_hint(one))
    hints = {path_text(path): session_hint(one) for one in sources for path in one.files}
    for tied in ties:
        first, *others = [hints[path] for path in tied if path in hints] or [""]
        for other in others:
            joined[root(other)] = root(first)
    groups: dict[str, list[FoundSource]] = {}
    for one in sources:
        groups.setdefault(root(session_hint(one)), []).append(one)
    return [LogGroup(tuple(members)) for members in groups.values()]


class _Place(Struct, frozen=True):
    """A parsed run that is not in memory."""

    found: FoundSource
    at: int
    """Number of the run within its source."""


def portions(groups: Iterable[LogGroup]) -> Iterator[tuple[LogGroup, ...]]:
    """Split groups into portions: many small ones together, a large one alone."""
    portion: list[LogGroup] = []
    room = PORTION_BYTES
    for group in groups:
        size = group.size
        if portion and (size > room or len(portion) == PORTION_GROUPS):
            yield tuple(portion)
            portion, room = [], PORTION_BYTES
        portion.append(group)
        room -= size
    if portion:
        yield tuple(portion)


def read_portion(groups: tuple[LogGroup, ...], options: MeasureOptions) -> list[ReadGroup]:
    """Read groups in a worker; return what the main process stores."""
    return [_read_group(group, options) for group in groups]


def session_hint(found: FoundSource) -> str:
    """Session in a source's first bytes, else its path."""
    return found.session or str(found.source.path)


def _read_group(group: LogGroup, options: MeasureOptions) -> ReadGroup:
    """Parse a group, choose one capture per run and analyse it."""
    rows, runs = _runs(group)
    counted: list[ReadRun] = []
    winners: set[str] = set()
    lost: dict[str, str] = {}
    failed: dict[str, str] = {}
    for choice, parsed in runs:
        if not choice.kept:
            lost[choice.capture.source] = f"{choice.reason or 'another capture won'}"
            continue
        try:
            with work_budget(max(group.size, _size(parsed))):
                run = analyse(choice.key, _kept(choice, parsed), options=options)
        except WorkBudgetExceeded as error:
            failed[choice.capture.source] = error.message
            continue
        if (logged := run.trajectory) is not None:
            winners.add(logged.source)
            steps = logged.steps + logged.sub_steps + logged.inherited_steps
            text = as_json(run if options.quotes else without_quotes(run))
            counted.append(ReadRun(logged.trajectory, steps, logged.inherited_steps, text))
    sources: list[SourceRow] = []
    unlogged: list[UnloggedTrial] = []
    for found, row in zip(group.found, rows, strict=True):
        if row.path in lost and row.path not in winners:
            row = replace(row, status="duplicate", reason=lost[row.path])
        if reason := failed.get(row.path):
            row = replace(row, status="error", reason=reason)
        row, trial = _without_run(found, row)
        sources += [row, *part_rows(found)]
        unlogged += [trial] if trial else []
    return ReadGroup(tuple(sources), tuple(counted), tuple(unlogged))


def _size(parsed: "Trajectory | _Place") -> int:
    """Bytes of a run's files, if it is in memory."""
    return size_of(parsed.files) if isinstance(parsed, Trajectory) else 0


def _runs(
    group: LogGroup,
) -> tuple[list[SourceRow], list[tuple[CaptureDecision, Trajectory | _Place]]]:
    """Return a row per file, and every run with its decision.

    Large captures are not kept in memory together, only their places.
    """
    held = len(group.found) == 1 or group.size <= HELD_BYTES
    rows: list[SourceRow] = []
    parsed: list[Trajectory | _Place] = []
    captures: list[Capture] = []
    for found in group.found:
        runs, row = _parse(found)
        rows.append(row)
        alone = len(group.found) == len(runs) == 1
        captures.extend([capture_of(row.path, run, alone=alone) for run in runs])
        parsed.extend(runs if held else (_Place(found, at) for at in range(len(runs))))
    return rows, list(zip(deduplicate(captures), parsed, strict=True))


def _kept(choice: CaptureDecision, parsed: Trajectory | _Place) -> Trajectory:
    """A run to count, under its branch's key; parsed again if not in memory."""
    if isinstance(parsed, _Place):
        runs = read(parsed.found.source, parsed.found.format or "")
        parsed = next(islice(runs, parsed.at, None))
    return replace(own_part(parsed, choice.inherited), trajectory=choice.key)


def _parse(found: FoundSource) -> tuple[list[Trajectory], SourceRow]:
    path, name = path_text(found.source.path), found.format or ""
    try:
        runs = list(read(found.source, name))
    except TrajectoryError as error:
        passing = isinstance(error.__cause__, OSError)
        return [], SourceRow(path, "error", name, error.message, found.size, passing)
    reason = None if runs else NO_RUN
    return runs, SourceRow(path, "parsed", name, reason, found.size)


def _without_run(found: FoundSource, row: SourceRow) -> tuple[SourceRow, UnloggedTrial | None]:
    """The row of a source, and its trial if it is a trial folder without a run."""
    if row.reason is None:
        return row, None
    try:
        unlogged = parser(found.format or "").unlogged_trial(found.source)
    except TrajectoryError:
        return row, None
    if unlogged is None:
        return row, None
    trial, why = unlogged
    return replace(row, reason=f"{why if row.reason == NO_RUN else row.reason}; {KEPT}"), trial


class LoggedRun(Struct, frozen=True):
    """Location of an ingested foreign run's log."""

    trajectory: str
    source: str
    format: str
    inherited: int = 0
    """First steps that another session counts."""
    group: str | None = None
    """Digest of its files; None if they may have changed."""
    files: tuple[str, ...] = ()
    """Files, or the folder, that it was read from."""
    kept: bool = False
    """Whether its files no longer contain it as stored."""


def logged_runs(database: Path, names: Sequence[str]) -> dict[str, LoggedRun]:
    """Key -> run, for keys in the database; one query for all."""
    from skilljuror.store.questions import run  # workers never load the database

    rows = run(database, _LOGGED, names=list(names)).records()
    return {
        str(row["trajectory"]): LoggedRun(**{**row, "files": tuple(row["files"])}) for row in rows
    }


def read_logged(logged: LoggedRun) -> Trajectory:
    """Read an ingested foreign run again from its raw log. Raises TrajectoryError if it is missing."""
    for trajectory in _runs_again(logged):
        if trajectory.trajectory == logged.trajectory.partition(BRANCH)[0]:
            own = own_part(trajectory, logged.inherited - trajectory.inherited)
            return replace(own, trajectory=logged.trajectory)
    raise TrajectoryError(
        f"the log of {logged.trajectory!r} is missing or has changed; rerun ingest",
        file=logged.source,
    )


def _runs_again(logged: LoggedRun) -> Iterator[Trajectory]:
    """Runs of a log with its files as ingested; then of the log with what is near it now. Registered
    formats come first, then its own, which may belong to a plugin."""
    log = path_of(logged.source)
    folder_formats = [name for name in FORMATS if parser(name).folder_marker]
    places = (
        ([*map(path_of, logged.files)], False),
        ([folder_source_around(log) or log], True),
    )
    for (paths, named), formats in product(places, ((), (logged.format, *folder_formats))):
        for found in discover(paths, formats=formats, named=named):
            if found.format and log.is_relative_to(found.source.path):
                yield from read(found.source, found.format)


FRESH_NS = 2_000_000_000
"""A file changed less than this before the ingest may change again within the resolution of its
file system's clock."""
BATCH_BYTES = 16 << 20
"""JSON of rows per transaction: enough to be fast, and little memory."""
MAX_PASSES = 4
"""Rounds of one ingest; logs of one run that were found apart are read together in the next."""
_CONTESTED = """
WITH contested AS (SELECT run FROM readings GROUP BY run HAVING count(DISTINCT digest) > 1)
SELECT run, list(DISTINCT path) FROM files JOIN readings USING (digest) SEMI JOIN contested USING (run) GROUP BY run
"""
_REPLACED = """
SELECT run FROM readings WHERE digest IN (SELECT unnest($old))
AND run NOT IN (SELECT run FROM readings WHERE digest NOT IN (SELECT unnest($old)))
"""
_DEAD = (
    "DELETE FROM readings WHERE digest NOT IN (SELECT digest FROM files WHERE digest IS NOT NULL)"
)
_WITHIN = "path IN (SELECT unnest($paths::VARCHAR[]))"
_HELD = """
SELECT trajectory, steps + sub_steps + inherited_steps, inherited_steps FROM trajectories
WHERE trajectory IN (SELECT run FROM readings WHERE digest IN (SELECT unnest($digests::VARCHAR[]))) OR trajectory IN (FROM kept_runs)
"""


class ReadPolicy(Struct, frozen=True):
    """How far ingest trusts what is stored."""

    again: bool = False
    """Read everything again."""
    prune: bool = False
    """Forget missing files, and runs that files no longer contain."""


TRUSTING = ReadPolicy()


class StoredFile(NamedTuple):
    """A row of `files`: what is known of a file without opening it, and the group it was read with."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    content: str | None
    reader: str
    format: str | None
    session: str | None
    link: str | None
    problem: str | None
    digest: str | None

    @property
    def facts(self) -> FileFacts:
        """Facts of the file when it was read."""
        return FileFacts(self.size, self.mtime_ns, self.inode, self.content)

    @property
    def found(self) -> FoundSource:
        """The file as it was identified."""
        return FoundSource(
            Source(path_of(self.path)), self.format, False, self.problem, _link_of_text(self.link), self.session, self.size
        )  # fmt: skip


class Work(NamedTuple):
    """What one pass over the paths found: the cache of log rows against the files of now."""

    groups: dict[str, LogGroup]
    """Digest of reader, options and facts of all files -> group to read, because no rows are stored under it."""
    unread: list[FoundSource]
    """New or changed sources without a format."""
    files: dict[str | None, list[StoredFile]]
    """Digest -> rows to store; None for files without a group."""
    old: dict[str, set[str]]
    """Path -> digests under which it was read before."""
    absorbed: list[str]
    """Paths of known files inside a folder that is now read as a whole."""
    gone: list[str]
    """Known files that are missing."""
    held: dict[str, tuple[int, int]]
    """Run -> its steps, all and inherited: it stays until a run with as many comes, since a file of it is shorter or
    missing."""
    walked: list[str]
    """Paths of all files in scope."""
    counts: FileChanges


class Ingest:
    """One ingest into an open database."""

    def __init__(
        self,
        store: "Store",
        options: MeasureOptions,
        policy: ReadPolicy,
        jobs: int,
        progress: Listener,
    ) -> None:
        self._store, self._options, self._policy = store, options, policy
        self._jobs, self._progress = jobs, progress
        self._begun_ns = time.time_ns()
        self._done: set[str] = set()
        """Digests of groups that this ingest has read."""

    def read_all(self, asked: Sequence[tuple[Sequence[Path], LogFilter]]) -> IngestSummary:
        """Read what changed under the paths; return a summary of the stored rows."""
        self._store.put("metrics", definition_rows(self._options.metrics))
        walked: dict[str, None] = {}
        counts = FileChanges()
        for paths, wanted in asked:
            work = self._find(paths, wanted, again=self._policy.again)
            walked.update(dict.fromkeys(work.walked))
            counts = FileChanges(*map(add, counts, work.counts))
            self._read(work)
            if self._policy.prune:
                self._prune(work, paths if wanted == ALL_LOGS else ())
            for _ in range(MAX_PASSES):
                if not self._policy.prune and not self._store.rows(_CONTESTED):
                    break
                work = self._find(paths, wanted)
                if not work.groups:
                    break
                self._read(work)
        return summary_of(self._store, [*walked], counts=counts)

    def _find(self, paths: Sequence[Path], wanted: LogFilter, *, again: bool = False) -> Work:
        reader = " ".join([reader_digest(self._options, wanted.formats), *wanted.formats])
        known = {row[0]: StoredFile(*row) for row in self._store.rows("FROM files")}
        finder = Finder(wanted, partial(self._recall, known, reader))
        located = finder.locate(paths)
        walked = {one.path: one for one in located}
        contested = [tied for _, tied in self._store.rows(_CONTESTED)]
        others = [path for path in known if path not in walked]
        gone = [path for path in others if is_gone(path)]
        outside = self._outside(finder, located, known, {*others}.difference(gone), contested)
        found = [
            replace(one, named=False) if one.source.path in outside else one
            for one in finder.join([*located, *outside.values()])
            if one.format is not None or one.source.path not in outside
        ]
        same = {
            path
            for path, row in known.items()
            if path in finder.looked_at and finder.looked_at[path][1] == row.facts
        }
        ties: dict[str, list[str]] = {}
        for path in same:
            if digest := known[path].digest:
                ties.setdefault(digest, []).append(path)
        groups = group_captures(
            (one for one in found if one.format is not None), [*ties.values(), *contested]
        )
        stale = {row.digest for row in known.values() if not row.reader}
        cached = self._done | (set() if again else {row.digest for row in known.values()} - stale)
        old, absorbed = _earlier(found, known, finder)
        files: dict[str | None, list[StoredFile]] = {}
        to_read: dict[str, LogGroup] = {}
        touched: set[str] = set()
        for group in groups:
            places = [path_text(path) for one in group.found for path in one.files]
            digest = self._digest(group, finder, reader)
            earlier = set().union(*(old.get(path, ()) for path in places))
            if digest in cached or not (
                touched & earlier or any(path in walked for path in places)
            ):
                continue
            touched |= earlier
            to_read[digest] = group
            files[digest] = [self._file(finder, path, reader, digest) for path in places]
        unread = [
            one
            for one in found
            if one.format is None
            and (
                one.named
                or (path := path_text(one.source.path)) not in same
                or known[path].reader != reader
            )
        ]
        files[None] = [
            self._file(finder, path, reader, None)
            for path in (
                path_text(one.source.path) for one in unread if one.damaged or not one.broken
            )
            if path in finder.looked_at
        ]
        less = [
            path
            for path, row in known.items()
            if (now := finder.looked_at.get(path)) and (now[0].broken or now[1].size < row.size)
        ]
        lessened = [known[path].digest for path in (*less, *gone, *absorbed) if known[path].digest]
        counts = len([one for one in located if one.problem is None]), len(known.keys() & walked)
        unchanged = len(same & walked.keys())
        return Work(
            to_read, unread, files, old, absorbed, gone,
            {run: (steps, inherited) for run, steps, inherited in self._store.rows(_HELD, {"digests": lessened})},
            [*walked], FileChanges(counts[0] - counts[1], counts[1] - unchanged, unchanged, len(gone)),
        )  # fmt: skip

    def _recall(
        self, known: Mapping[str, StoredFile], reader: str, path: str, facts: FileFacts
    ) -> tuple[FileFacts, FoundSource | None]:
        """Return the facts of a file and its stored source."""
        row = known.get(path)
        is_same = row is not None and row.reader == reader and row.facts == facts
        return facts, row.found if row and is_same else None

    def _outside(
        self,
        finder: Finder,
        located: Sequence[Located],
        known: Mapping[str, StoredFile],
        others: set[str],
        contested: Sequence[Sequence[str]],
    ) -> dict[Path, Located]:
        """Known files outside the paths that belong to sessions of files inside; treated as named, to include
        their neighbours."""
        names = (
            {name for one in located for name in names_of(finder.find(one))} if others else set()
        )
        names.update(path for tied in contested for path in tied)
        linked = {
            path: {path, *names_of(known[path].found)} for path in others if known[path].format
        }
        family: set[str] = set()
        while more := {path for path in linked.keys() - family if linked[path] & names}:
            family |= more
            names.update(*(linked[path] for path in more))
        outside: dict[Path, Located] = {}
        for path in sorted(family):
            if facts := facts_at(path):
                of_folder = (str(known[path].format),) if facts.content else ()
                outside[path_of(path)] = Located(
                    path, str(path_of(path).resolve()), facts, True, of_folder
                )
        return outside

    def _digest(self, group: LogGroup, finder: Finder, reader: str) -> str:
        """Digest of everything that determines a group's rows."""
        members = [
            [
                one.format,
                one.source.formats,
                *((name, finder.looked_at[name][1]) for name in map(path_text, one.files)),
            ]
            for one in group.found
        ]
        return digest_json([reader, sorted(members, key=str)])

    def _file(self, finder: Finder, path: str, reader: str, digest: str | None) -> StoredFile:
        """The row of a file; without a reader if it may have changed since, within its clock's resolution."""
        found, facts = finder.looked_at[path]
        stable = not found.broken and facts.mtime_ns < self._begun_ns - FRESH_NS
        link = _link_as_text(found.link)
        return StoredFile(
            path,
            *facts,
            reader if stable else "",
            found.format,
            found.session,
            link,
            found.problem,
            digest,
        )

    def _read(self, work: Work) -> None:
        """Read groups and store their rows, in transactions of some groups each."""
        with self._store.transaction():
            paths = [
                path_text(one.source.path) for one in work.unread if one.damaged or not one.broken
            ]
            self._replace(work, paths, ())
            self._store.put("sources", [unread_row(one) for one in work.unread])
            self._put_files(work.files[None])
            gone = {"paths": work.gone}
            self._store.rows(f"UPDATE files SET digest = NULL WHERE {_WITHIN}", gone)  # noqa: S608
            self._store.rows(
                f"DELETE FROM files WHERE {_WITHIN} AND path NOT IN (SELECT source FROM trajectories)",  # noqa: S608
                gone,
            )
            self._store.rows(_DEAD)
        digests = {group.found[0].source.path: digest for digest, group in work.groups.items()}
        shares = list(portions(work.groups.values()))
        done, size, total = 0, 0, sum(len(group.found) for group in work.groups.values())
        batch: list[tuple[str, LogGroup, ReadGroup]] = []
        results = map_ordered(
            partial(read_portion, options=self._options), shares, min(self._jobs, len(shares))
        )
        for number, (portion, read_groups) in enumerate(results, 1):
            for group, rows in zip(portion, read_groups, strict=True):
                batch.append((digests[group.found[0].source.path], group, rows))
                done, size = done + len(group.found), size + sum(len(run.json) for run in rows.runs)
            if size >= BATCH_BYTES or number == len(shares):
                self._store_batch(work, batch)
                self._progress(Progress("ingest", done, total))
                batch, size = [], 0
        self._done.update(work.groups)
        self._store.rows(f"DELETE FROM files WHERE {_WITHIN}", {"paths": work.absorbed})  # noqa: S608
        self._store.rows(_DEAD)

    def _store_batch(self, work: Work, batch: Sequence[tuple[str, LogGroup, ReadGroup]]) -> None:
        store = self._store
        runs = [run for _, _, rows in batch for run in rows.runs]
        sources = [row for _, _, rows in batch for row in rows.sources]
        shorter = {
            run.key for run in runs
            if (held := work.held.get(run.key)) and (run.steps < held[0] or (run.steps == held[0] and run.inherited < held[1]))
        }  # fmt: skip
        passing = {row.path for row in sources if row.passing}
        files = [
            file._replace(reader="") if passing.intersection(other.path for other in work.files[digest]) else file
            for digest, _, _ in batch for file in work.files[digest]
        ]  # fmt: skip
        with store.transaction():
            self._replace(work, [file.path for file in files], [run.key for run in runs])
            store.put("sources", sources)
            store.put("runs", [run.json for run in runs if run.key not in shorter])
            store.put("unlogged", [trial for _, _, rows in batch for trial in rows.unlogged])
            self._put_files(files)
            readings = [
                {
                    "digest": digest,
                    "run": key,
                    "kept": key in shorter or (not logged and key in work.held),
                }
                for digest, _, rows in batch
                for key, logged in [
                    *((run.key, True) for run in rows.runs),
                    *((one.trial, False) for one in rows.unlogged),
                ]
            ]
            store.put("readings", readings, [digest for digest, _, _ in batch])
            store.rows(_DEAD)

    def _replace(self, work: Work, paths: Iterable[str], runs: Iterable[str]) -> None:
        """Remove runs that these files gave before and that neither they nor others give now."""
        old = sorted(set().union(*(work.old.get(path, ()) for path in paths)))
        if old:
            gone = self._store.rows(_REPLACED, {"old": old})
            self._store.forget([
                run for (run,) in gone if run not in {*runs} and run not in work.held
            ])

    def _put_files(self, files: Sequence[StoredFile]) -> None:
        if files:
            self._store.put("files", [file._asdict() for file in files])

    def _prune(self, work: Work, roots: Sequence[Path]) -> None:
        """Forget missing sources with their runs, and runs that files no longer contain; under the roots,
        everything not found. What they held back is read in the next pass."""
        store = self._store
        below = tuple(f"{path_text(path)}/" for path in roots)
        broken = tuple(f"{path_text(one.source.path)}/" for one in work.unread if one.broken)
        walked = {*work.walked}
        stored = store.names("SELECT path FROM files UNION SELECT path FROM sources")
        gone = [
            path for path in stored
            if is_gone(path) or (path not in walked and path.startswith(below) and not path.startswith(broken))
        ]  # fmt: skip
        with store.transaction():
            store.rows(
                "DELETE FROM files WHERE path IN (SELECT unnest($paths::VARCHAR[]))",
                {"paths": gone},
            )
            store.rows(
                "DELETE FROM sources WHERE path IN (SELECT unnest($paths::VARCHAR[]))",
                {"paths": gone},
            )
            store.rows(_DEAD)
            lost = store.names(
                "FROM kept_runs UNION SELECT trial FROM unlogged_trials WHERE trial NOT IN (SELECT run FROM readings)"
            )
            again = store.names("SELECT DISTINCT digest FROM readings WHERE kept")
            store.rows(
                "UPDATE files SET reader = '', digest = NULL WHERE digest IN (SELECT digest FROM readings WHERE kept)"
            )
            self._done -= again
            store.forget(lost)
            store.rows(_DEAD)


def _earlier(
    found: Iterable[FoundSource], known: Mapping[str, StoredFile], finder: Finder
) -> tuple[dict[str, set[str]], list[str]]:
    """Return path -> digests under which its rows were stored, and the known files inside folders that are now
    read as a whole; a folder gives the runs of its logs."""
    old = {path: {row.digest} for path, row in known.items() if row.digest}
    folders = {
        path_text(one.source.path)
        for one in found
        if one.format and parser(one.format).folder_marker
    }
    absorbed = []
    for path, row in known.items() if folders else ():
        above = path.rpartition("/")[0]
        while above and above not in folders:
            above = above.rpartition("/")[0]
        if above and path not in finder.looked_at:
            absorbed.append(path)
            old.setdefault(above, set()).update([row.digest] if row.digest else ())
    return old, absorbed


def _link_as_text(link: SessionLink | None) -> str | None:
    if link is None:
        return None
    return json.dumps([link.session, link.child, link.by_path, link.origin])


def _link_of_text(text: str | None) -> SessionLink | None:
    if text is None:
        return None
    return SessionLink(*json.loads(text))


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
    from skilljuror.store.connect import database_to_fill, open_write
    from skilljuror.store.study_files import build_names, put_answers, store_builds

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
        with open_write(database) as store:
            summary = Ingest(store, options, policy, jobs, progress).read_all(asked)
            if folder.reviews.is_file() or folder.label_sample.is_file():
                put_answers(store, folder)
    if remade and (names := build_names(folder.root)):
        store_builds(folder.root, names)
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
        same = list(before.formats) == list(wanted.formats) and before.shard == wanted.shard
        if list(theirs) == list(paths) and same and whole:
            return
    append_jsonl(folder.sources_file, {"paths": [*map(path_text, paths)], **wanted._asdict()})


def _earlier_ingests(folder: StudyFolder) -> list[tuple[list[Path], LogFilter]]:
    """All earlier ingests of a study, in order; repeated ones count once, at their last position
    and with the earliest date."""
    since: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[int, int] | None], float | None] = {}
    for entry in read_jsonl(folder.sources_file):
        number, count = entry.get("shard") or (0, 0)
        shard = (number, count) if count else None
        asked = tuple(entry["paths"]), tuple(entry.get("formats", ())), shard
        date, before = entry.get("since"), since.pop(asked, float("inf"))
        since[asked] = None if date is None or before is None else min(date, before)
    return [
        ([*map(path_of, paths)], LogFilter(date, formats, shard))
        for (paths, formats, shard), date in since.items()
    ]


def _check_paths(study: Path, paths: Iterable[Path]) -> None:
    if StudyFolder(study).planned:
        raise UsageError(
            f"{str(study)!r} is a study with trials: ingest logs into another folder, or omit PATH"
            " to ingest its trials",
            file=str(study),
        )
    if StudyFolder(study).shards:
        raise UsageError(
            f"{str(study)!r} holds shards; add --shard K/N, or use another folder", file=str(study)
        )
    if study.exists() and not study.is_dir():
        raise UsageError(f"--study {str(study)!r} is a file; name a folder", file=str(study))
    for path in paths:
        if not path.exists():
            raise UsageError(f"{str(path)!r} does not exist; nothing was ingested", file=str(path))


def usual_folders() -> list[Path]:
    """Existing default log folders of agents with a registered format."""
    usual = [folder for name in FORMATS if (folder := parser(name).usual_folder)]
    homes = [Path(os.environ.get(one.variable) or Path.home() / one.folder) for one in usual]
    found = [home / one.logs for home, one in zip(homes, usual, strict=True)]
    return [folder for folder in found if folder.is_dir()]

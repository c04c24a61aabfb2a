"""Foreign logs: group captures of one run, and read one run again."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.files import path_of, path_text
from skilljuror.base.results import Ingested, SourceRow, UnloggedTrial
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory
from skilljuror.base.work_budget import WorkBudgetExceeded, work_budget
from skilljuror.events.attribute import attribute
from skilljuror.logs import FORMATS
from skilljuror.logs.base import FoundSource
from skilljuror.logs.discovery.deduplication import (
    Capture,
    CaptureDecision,
    capture_of,
    deduplicate,
    own_part,
)
from skilljuror.logs.discovery.find_logs import discover, folder_source_around
from skilljuror.logs.read import parser, read
from skilljuror.store.ingest.analysis import MeasureOptions, analyse, size_of
from skilljuror.store.ingest.quotes import without_quotes
from skilljuror.store.ingest.rows import part_rows
from skilljuror.store.runs import RunColumns, run_columns

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
WITH members AS (SELECT read_with AS digest, list(path ORDER BY path) AS files FROM seen GROUP BY ALL),
provided AS (SELECT unnest(keys) AS trajectory, digest, files FROM groups LEFT JOIN members USING (digest))
SELECT
    trajectory, source, format, inherited_steps AS inherited,
    if(starts_with(min(digest), '-'), NULL, min(digest)) AS "group",
    coalesce(arg_min(files, digest), []) AS files, trajectory IN (FROM kept_runs) AS kept
FROM trajectories LEFT JOIN provided USING (trajectory)
WHERE trajectory IN (SELECT unnest($names::VARCHAR[])) GROUP BY ALL
"""


class LogGroup(Struct, frozen=True):
    """Sources that may be captures of one run; one unit of work."""

    found: tuple[FoundSource, ...]
    """Sources, each with one format."""

    @property
    def size(self) -> int:
        """Bytes of its files; a folder counts 0."""
        return sum(one.size or 0 for one in self.found)


class ReadLogs(Struct, frozen=True):
    """Result of a portion."""

    sources: tuple[SourceRow, ...]
    runs: RunColumns
    """Runs to count, each once."""
    unlogged: tuple[UnloggedTrial, ...] = ()
    """Trials without a run."""
    keys: tuple[tuple[str, ...], ...] = ()
    """Keys of each group's runs and trials."""


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


def group_captures(found: Iterable[FoundSource]) -> list[LogGroup]:
    """Group sources by the session in their first bytes, and by the first record that copies share;
    ordered by the first of each."""
    joined: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := joined.setdefault(name, name)) != name:
            name = above
        return name

    sources = [*found]
    for one in sources:
        if one.link is not None and one.link.origin:
            joined[root(one.link.origin)] = root(session_hint(one))
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


def read_portion(groups: tuple[LogGroup, ...], options: MeasureOptions) -> ReadLogs:
    """Read groups in a worker; return what the main process stores."""
    sources: list[SourceRow] = []
    counted: list[Ingested] = []
    alone: list[UnloggedTrial] = []
    keys: list[tuple[str, ...]] = []
    for group in groups:
        rows, runs = _read_group(group, options)
        counted += runs if options.quotes else map(without_quotes, runs)
        unlogged: list[UnloggedTrial] = []
        for found, row in zip(group.found, rows, strict=True):
            source_row, trial = _without_run(found, row)
            sources += [source_row, *part_rows(found)]
            unlogged += [trial] if trial else []
        alone += unlogged
        given = [run.trajectory.trajectory for run in runs if run.trajectory]
        keys.append((*given, *(trial.trial for trial in unlogged)))
    return ReadLogs(tuple(sources), run_columns(counted), tuple(alone), tuple(keys))


def session_hint(found: FoundSource) -> str:
    """Session in a source's first bytes, else its path."""
    return found.session or str(found.source.path)


def _read_group(group: LogGroup, options: MeasureOptions) -> tuple[list[SourceRow], list[Ingested]]:
    """Parse a group, choose one capture per run and analyse it."""
    rows, runs = _runs(group)
    counted: list[Ingested] = []
    lost: dict[str, str] = {}
    failed: dict[str, str] = {}
    with work_budget(max(group.size, *(_size(parsed) for _, parsed in runs), 0)):
        for choice, parsed in runs:
            if not choice.kept:
                lost[choice.capture.source] = f"{choice.reason or 'another capture won'}"
                continue
            try:
                counted.append(analyse(choice.key, _kept(choice, parsed), options=options))
            except WorkBudgetExceeded as error:
                failed[choice.capture.source] = error.message
    winners = {run.trajectory.source for run in counted if run.trajectory}
    rows = [_decided(row, lost, winners) for row in rows]
    return [_failed(row, failed) for row in rows], counted


def _size(parsed: "Trajectory | _Place") -> int:
    """Bytes of a run's files, if it is in memory."""
    return size_of(parsed.files) if isinstance(parsed, Trajectory) else 0


def _failed(row: SourceRow, failed: dict[str, str]) -> SourceRow:
    """Turn the row into an error if a run of it exceeded a limit."""
    reason = failed.get(row.path)
    return replace(row, status="error", reason=reason) if reason else row


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


def _decided(row: SourceRow, lost: dict[str, str], winners: set[str]) -> SourceRow:
    if row.path in lost and row.path not in winners:
        return replace(row, status="duplicate", reason=lost[row.path])
    return row


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
    from skilljuror.store.questions.run import run  # workers never load the database

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

"""Foreign logs: which files are captures of one run, and reading one run again."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.attribution.attribute import attribute
from skilljuror.errors import TrajectoryError
from skilljuror.files import path_of, path_text
from skilljuror.metrics import families
from skilljuror.models.events import ResourceEvent, SkillManifest
from skilljuror.models.ingest import Ingested, SourceRow, UnloggedTrial
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import FoundSource
from skilljuror.parsers.discovery.deduplication import (
    Capture,
    CaptureDecision,
    capture_of,
    deduplicate,
)
from skilljuror.parsers.discovery.find_logs import discover, folder_source_around
from skilljuror.parsers.read import parser, read
from skilljuror.pipeline.ingestion.analysis import MeasureOptions, analyse, size_of
from skilljuror.pipeline.ingestion.quotes import without_quotes
from skilljuror.store.runs import RunColumns, run_columns
from skilljuror.work import TooMuchWork, allowed_work

HELD_BYTES = 16 << 20
"""Bytes of a session's captures that a worker holds parsed at one time."""
PORTION_BYTES = 2 << 20
"""Bytes of logs that a worker is handed at one time, unless a single run is bigger."""
PORTION_GROUPS = 32
"""Runs that a worker is handed at one time."""
NO_RUN = "it holds no run"
"""Reason of a source that was read and gives nothing to count."""
KEPT = "what its result says is kept"
"""What the reason of a trial without a run goes on to say."""
BRANCH = "~"
"""Parts the key of a run from the name of its branch."""
_LOGGED = """
SELECT
    trajectory, source, format, if(starts_with(min(digest), '-'), NULL, min(digest)) AS "group",
    trajectory IN (FROM kept_runs) AS kept
FROM trajectories LEFT JOIN (SELECT unnest(keys) AS trajectory, digest FROM groups) USING (trajectory)
WHERE trajectory IN (SELECT unnest($names::VARCHAR[])) GROUP BY ALL
"""


class LogGroup(Struct, frozen=True):
    """Sources that may be captures of one run; one unit of work."""

    found: tuple[FoundSource, ...]
    """The sources, each claimed by a format."""

    @property
    def size(self) -> int:
        """Bytes of its files; a folder counts none."""
        return sum(one.size or 0 for one in self.found)


class ReadLogs(Struct, frozen=True):
    """What became of a portion."""

    sources: tuple[SourceRow, ...]
    """Every file of its groups."""
    runs: RunColumns
    """The runs to count, each once."""
    parts: tuple[str, ...] = ()
    """Files that were read as parts of these (sub-agents, continuations)."""
    unlogged: tuple[UnloggedTrial, ...] = ()
    """Trials that left no run."""
    keys: tuple[tuple[str, ...], ...] = ()
    """Keys of the runs and of the trials without one, of each group in turn."""


class LogEvents(Struct, frozen=True):
    """The resource events of one run, or why a file has none."""

    source: str
    """Main raw log of the run, which the lines of its events count in; else the file."""
    events: tuple[ResourceEvent, ...] = ()
    """The events, in order of occurrence."""
    problem: str | None = None
    """Why the file cannot be read; None when it can."""


def events_of(
    paths: Sequence[Path], manifest: SkillManifest | None = None, formats: Sequence[str] = ()
) -> Iterator[LogEvents]:
    """The resource events of logs, run by run as they are read, in the order of discovery.

    A file that was named is always told. Of files found in folders each run is told once,
    and those that no format claims are passed over. `formats` are those that are looked for; ()
    for all that are registered.
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
        with allowed_work(size_of(run.files)):
            return LogEvents(source, attribute(run, manifest).events)
    except TooMuchWork as error:
        return LogEvents(source, problem=error.message)


def group_captures(found: Iterable[FoundSource]) -> list[LogGroup]:
    """Sources grouped by the session their first bytes name; in order of the first of each."""
    groups: dict[str, list[FoundSource]] = {}
    for one in found:
        groups.setdefault(session_hint(one), []).append(one)
    return [LogGroup(tuple(members)) for members in groups.values()]


class _Place(Struct, frozen=True):
    """A run that was parsed and is not held."""

    found: FoundSource
    """Its source."""
    at: int
    """Its number among the runs of the source."""


def portions(groups: Iterable[LogGroup]) -> Iterator[tuple[LogGroup, ...]]:
    """Groups shared out: many small ones travel together, a big one alone."""
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


def preload() -> None:
    """Load what reading takes."""
    for name in FORMATS:
        parser(name)
    families()


def read_portion(groups: tuple[LogGroup, ...], options: MeasureOptions) -> ReadLogs:
    """Read groups one after another; what crosses from a worker to the main process."""
    sources: list[SourceRow] = []
    counted: list[Ingested] = []
    alone: list[UnloggedTrial] = []
    keys: list[tuple[str, ...]] = []
    for group in groups:
        rows, runs = _read_group(group, options)
        counted += runs if options.quotes else map(without_quotes, runs)
        unlogged: list[UnloggedTrial] = []
        for found, row in zip(group.found, rows, strict=True):
            told, trial = _without_run(found, row)
            sources.append(told)
            unlogged += [trial] if trial else []
        alone += unlogged
        given = [run.trajectory.trajectory for run in runs if run.trajectory]
        keys.append((*given, *(trial.trial for trial in unlogged)))
    parts = [
        path_text(path) for group in groups for one in group.found for path in one.source.siblings
    ]
    return ReadLogs(tuple(sources), run_columns(counted), tuple(parts), tuple(alone), tuple(keys))


def session_hint(found: FoundSource) -> str:
    """The session that a source's first bytes name; its path where they name none."""
    return found.session or str(found.source.path)


def _read_group(group: LogGroup, options: MeasureOptions) -> tuple[list[SourceRow], list[Ingested]]:
    """Parse a group, count each run once and analyse what is counted."""
    rows, runs = _runs(group)
    counted: list[Ingested] = []
    lost: dict[str, str] = {}
    failed: dict[str, str] = {}
    with allowed_work(max(group.size, *(_size(parsed) for _, parsed in runs), 0)):
        for choice, parsed in runs:
            if not choice.kept:
                lost[choice.capture.source] = f"{choice.reason or 'another capture won'}"
                continue
            try:
                counted.append(analyse(choice.key, _kept(choice, parsed), options=options))
            except TooMuchWork as error:
                failed[choice.capture.source] = error.message
    winners = {run.trajectory.source for run in counted if run.trajectory}
    rows = [_settled(row, lost, winners) for row in rows]
    return [_failed(row, failed) for row in rows], counted


def _size(parsed: "Trajectory | _Place") -> int:
    """Bytes of the files that a run was read from, where it is held."""
    return size_of(parsed.files) if isinstance(parsed, Trajectory) else 0


def _failed(row: SourceRow, failed: dict[str, str]) -> SourceRow:
    """The row of a source, which is an error where a run of it took too much work."""
    reason = failed.get(row.path)
    return replace(row, status="error", reason=reason) if reason else row


def _runs(
    group: LogGroup,
) -> tuple[list[SourceRow], list[tuple[CaptureDecision, Trajectory | _Place]]]:
    """A row per file, and every run in the group with what becomes of it.

    Captures that are big together are not held together: of those only places are told.
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
    """A run to count, under the key of its branch; parsed again where it was not held."""
    if isinstance(parsed, _Place):
        runs = read(parsed.found.source, parsed.found.format or "")
        parsed = next(islice(runs, parsed.at, None))
    return replace(parsed, trajectory=choice.key)


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
    """The row of a source, and its trial where it is the folder of one that left no run."""
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


def _settled(row: SourceRow, lost: dict[str, str], winners: set[str]) -> SourceRow:
    if row.path in lost and row.path not in winners:
        return replace(row, status="duplicate", reason=lost[row.path])
    return row


class LoggedRun(Struct, frozen=True):
    """Where the log of an ingested foreign run is."""

    trajectory: str
    """Key of the run."""
    source: str
    """Its main raw log."""
    format: str
    """Format that it was read with."""
    group: str | None = None
    """Digest of the files that it was read from; None where that is not settled."""
    kept: bool = False
    """Whether its files no longer give it as it is held."""


def logged_runs(database: Path, names: Sequence[str]) -> dict[str, LoggedRun]:
    """Key -> the run, of those keys that the database holds; one question for all of them."""
    from skilljuror.queries.run import run  # workers read logs and never load the database

    rows = run(database, _LOGGED, names=list(names)).records()
    return {str(row["trajectory"]): LoggedRun(**row) for row in rows}


def read_logged(logged: LoggedRun) -> Trajectory:
    """One ingested foreign run, read again from its raw log.

    Raises TrajectoryError when its log has gone.
    """
    for trajectory in _runs_again(path_of(logged.source), logged.format):
        if trajectory.trajectory == logged.trajectory.partition(BRANCH)[0]:
            return replace(trajectory, trajectory=logged.trajectory)
    raise TrajectoryError(
        f"the log of {logged.trajectory!r} has gone or changed; ingest it again", file=logged.source
    )


def _runs_again(log: Path, format: str) -> Iterator[Trajectory]:
    """The runs of a log, or of the folder around it that gives it its key; then those that the
    format it was read with gives, which may be one that only the ingest was told of."""
    folder_formats = [name for name in FORMATS if parser(name).folder_marker]
    for formats in ((), (format, *folder_formats)):
        for found in discover([folder_source_around(log) or log], formats=formats):
            yield from read(found.source, found.format) if found.format else ()

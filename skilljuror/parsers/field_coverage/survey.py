"""Determine which fields a parser reads, by changing a copy of a log.

Each kind of field is changed to other values of its type, then removed, and the log is found and
parsed again. A field without any effect is not read.
"""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from msgspec import Struct

from skilljuror.errors import TrajectoryError, UsageError
from skilljuror.parsers.base import Source
from skilljuror.parsers.discovery.find_logs import discover
from skilljuror.parsers.field_coverage.log_copy import (
    WHOLE,
    Change,
    CopiedLog,
    Occurrence,
    ParseOutcome,
    files_of,
)
from skilljuror.parsers.field_coverage.mutation import EMPTY, Field, value_type
from skilljuror.parsers.read import parser

Reading = Literal["observed", "routes", "ignored", "empty", "untried"]
"""observed: another value changes the result; routes: the value decides what is read or joined, but
is not in the result; ignored: no effect; empty: never had a value; untried: out of time. Every
field gets one of these."""
READINGS: tuple[Reading, ...] = get_args(Reading)

SECONDS = 30.0
"""Default time limit."""
TRIED_LOGS = 3
"""Logs in which a field is tried before it counts as ignored."""
MAX_FILE = 64 << 20
"""Logs with a larger file (bytes) are skipped."""

Fields = dict[Field, list[Occurrence]]
"""Fields of one log, with some of their occurrences."""


class FieldCoverage(Struct, frozen=True):
    """How the parser uses one kind of field."""

    file: str
    """File within a folder; "" if all files are alike."""
    record: str
    """Kinds of the enclosing objects, outermost first; "" if unknown."""
    field: str
    """Path of the field, with lists and data keys folded."""
    reading: Reading
    occurrences: int
    shapes: tuple[str, ...]
    """Types of its values, most frequent first; never a value."""


class Coverage(Struct, frozen=True):
    """Fields that a format reads in some logs."""

    format: str
    logs: int
    """Logs examined."""
    left: int
    """Logs skipped: out of time, or a file is too big."""
    fields: tuple[FieldCoverage, ...]
    """All fields, sorted by file, record and path."""

    def count(self, reading: Reading) -> int:
        return sum(field.reading == reading for field in self.fields)


def coverage(paths: Sequence[Path], format: str, seconds: float = SECONDS) -> Coverage:
    """Return which fields of the logs under the paths a format reads, within about `seconds`.

    Raises UsageError for an unknown format, a missing path, and if there is no log of the format;
    TrajectoryError if a matching log cannot be read.
    """
    parser(format)
    gone = [str(path) for path in paths if not path.exists()]
    if gone:
        raise UsageError(f"{gone[0]!r} does not exist", file=gone[0])
    sources = _sources(paths, format)
    survey = _Survey(format, time.monotonic() + seconds)
    looked = sum(survey.look(source) for source in sources)
    return survey.result(looked, len(sources) - looked)


def _sources(paths: Sequence[Path], format: str) -> list[Source]:
    sources = [found.source for found in discover(paths, formats=(format,)) if found.format]
    if not sources:
        others = sorted({other.format for other in discover(paths) if other.format})
        there = f"found {', '.join(others)}" if others else "no supported log found"
        raise UsageError(f"no {format} log at {str(paths[0])!r}: {there}", file=str(paths[0]))
    return sources


class _Survey:
    """Tries the fields of logs and collects results."""

    def __init__(self, format: str, deadline: float) -> None:
        self.format = format
        self.deadline = deadline
        self._shapes: dict[Field, Counter[str]] = {}
        """Types of each field's values."""
        self._readings: dict[Field, Reading] = {}
        """Results of the trials so far."""
        self._logs: Counter[Field] = Counter()
        """Number of logs that a field was tried in."""

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.monotonic() > self.deadline

    def look(self, source: Source) -> bool:
        """Try the fields of one log; False if it is skipped."""
        too_big = any(path.stat().st_size > MAX_FILE for path in files_of(source))
        if too_big or (self.late and self._shapes):
            return False
        with TemporaryDirectory(prefix="skilljuror-") as folder:
            log = CopiedLog(source, self.format, Path(folder).resolve())
            for field, _, value in log.values():
                self._shapes.setdefault(field, Counter())[value_type(value)] += 1
            log.shorten()
            before = log.outcome()
            if before.problems:
                raise TrajectoryError(before.problems[0], file=str(source.path))
            self._try(log, before)
        return True

    def _try(self, log: CopiedLog, before: ParseOutcome) -> None:
        """Try each field alone that may still be observed, as another's change may hide its own;
        afterwards those without effect together."""
        fields = {
            field: held
            for field, held in log.places().items()
            if self._readings.get(field) != "observed" and self._logs[field] < TRIED_LOGS
        }
        changes: list[tuple[Fields, Change]] = [
            ({field: held}, "end")
            for field, held in fields.items()
            if self._readings.get(field) != "ignored"
        ]
        for group, how in [*changes, (fields, "end"), (fields, "ahead"), (fields, "out")]:
            for field, reading in self._effects(log, before, group, how).items():
                self._add(field, reading)
                del fields[field]
        for field in () if self.late else fields:
            self._add(field, "ignored")

    def _effects(
        self, log: CopiedLog, before: ParseOutcome, fields: Fields, how: Change
    ) -> dict[Field, Reading]:
        """Effects of one change, found by bisecting groups of fields; fewer if time is up."""
        if self.late or not fields:
            return {}
        after = log.changed([one for held in fields.values() for one in held], how)
        if after == before:
            return {}
        items = sorted(fields.items())
        if len(items) == 1:
            return {items[0][0]: _effect(items[0][0], before, after, how)}
        middle = len(items) // 2
        found = self._effects(log, before, dict(items[:middle]), how)
        return found | self._effects(log, before, dict(items[middle:]), how)

    def _add(self, field: Field, reading: Reading) -> None:
        """Add a log's result: any effect counts."""
        self._logs[field] += 1
        if reading == "observed" or self._readings.get(field, "ignored") == "ignored":
            self._readings[field] = reading

    def result(self, logs: int, left: int) -> Coverage:
        fields = []
        for field, shapes in sorted(self._shapes.items()):
            untried: Reading = "untried" if shapes.keys() - EMPTY else "empty"
            names = tuple(name for name, _ in shapes.most_common())
            reading = self._readings.get(field, untried)
            fields.append(
                FieldCoverage(field.file, field.record, field.path, reading, shapes.total(), names)
            )
        return Coverage(self.format, logs, left, tuple(fields))


def _effect(field: Field, before: ParseOutcome, after: ParseOutcome, how: Change) -> Reading:
    """Whether a change shows in the result, or only changes what is read."""
    if field.path == WHOLE:
        return "observed"
    if how == "out" or len(after.runs) < len(before.runs):
        return "routes"
    if after.holds_mark:
        return "observed"
    return "routes" if after.weight < before.weight or after.json == before.json else "observed"

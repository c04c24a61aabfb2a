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


class _Tried:
    """Results for one field so far."""

    __slots__ = ("logs", "occurrences", "shapes", "tried")

    def __init__(self) -> None:
        self.tried: Reading | None = None
        """Result of the trials so far."""
        self.logs = 0
        """Number of logs that it was tried in."""
        self.occurrences = 0
        self.shapes: Counter[str] = Counter()

    def add(self, reading: Reading) -> None:
        """Add a log's result: any effect counts."""
        self.logs += 1
        if self.tried in {None, "ignored"} or reading == "observed":
            self.tried = reading

    @property
    def reading(self) -> Reading:
        """Final result."""
        return self.tried or ("untried" if self.shapes.keys() - EMPTY else "empty")


class _Survey:
    """Tries the fields of logs and collects results."""

    def __init__(self, format: str, deadline: float) -> None:
        self.format = format
        self.deadline = deadline
        self.fields: dict[Field, _Tried] = {}

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.monotonic() > self.deadline

    def look(self, source: Source) -> bool:
        """Try the fields of one log; False if it is skipped."""
        too_big = any(path.stat().st_size > MAX_FILE for path in files_of(source))
        if too_big or (self.late and self.fields):
            return False
        with TemporaryDirectory(prefix="skilljuror-") as folder:
            log = CopiedLog(source, self.format, Path(folder).resolve())
            for field, _, value in log.values():
                tried = self.fields.setdefault(field, _Tried())
                tried.occurrences += 1
                tried.shapes[value_type(value)] += 1
            log.shorten()
            before = log.outcome()
            if before.problems:
                raise TrajectoryError(before.problems[0], file=str(source.path))
            self._try(_Experiment(log, before), log.places())
        return True

    def _try(self, experiment: "_Experiment", places: Fields) -> None:
        """Try each field alone while it may be observed; afterwards those without effect together."""
        open_ones = {field: held for field, held in places.items() if self._is_open(field)}
        quiet: Fields = {}
        for field, held in open_ones.items():
            if self.fields[field].reading == "ignored":
                quiet[field] = held
            elif self.late:
                return
            elif (reading := experiment.reading(field, held, "end")) is None:
                quiet[field] = held
            else:
                self.fields[field].add(reading)
        for how in ("end", "ahead", "out"):
            for field, reading in experiment.readings(quiet, how).items():
                self.fields[field].add(reading)
                del quiet[field]
        for field in quiet:
            self.fields[field].add("ignored")

    def _is_open(self, field: Field) -> bool:
        """Whether another log may still change the result."""
        tried = self.fields[field]
        return tried.reading != "observed" and tried.logs < TRIED_LOGS

    def result(self, logs: int, left: int) -> Coverage:
        fields = tuple(_coverage_of(field, self.fields[field]) for field in sorted(self.fields))
        return Coverage(self.format, logs, left, fields)


def _coverage_of(field: Field, tried: _Tried) -> FieldCoverage:
    shapes = tuple(name for name, _ in tried.shapes.most_common())
    return FieldCoverage(
        field.file, field.record, field.path, tried.reading, tried.occurrences, shapes
    )


class _Experiment:
    """Changes a log and compares the outcomes."""

    def __init__(self, log: CopiedLog, before: ParseOutcome) -> None:
        self.log = log
        self.before = before
        self._before_json = before.as_json()
        self._weight = before.weight()

    def reading(self, field: Field, places: list[Occurrence], how: Change) -> Reading | None:
        """Effect of one change to one field; None without any."""
        whole = field.path == WHOLE
        after = self.log.changed(places, "out" if whole else how)
        if after == self.before:
            return None
        if whole:
            return "observed"
        return "routes" if how == "out" else self._difference(after)

    def readings(self, fields: Fields, how: Change) -> dict[Field, Reading]:
        """Fields with an effect, found by bisecting groups of fields."""
        if not fields:
            return {}
        if len(fields) == 1:
            ((field, places),) = fields.items()
            reading = self.reading(field, places, how)
            return {} if reading is None else {field: reading}
        together = [one for places in fields.values() for one in places]
        if self.log.changed(together, how) == self.before:
            return {}
        items = sorted(fields.items())
        middle = len(items) // 2
        found = self.readings(dict(items[:middle]), how)
        return found | self.readings(dict(items[middle:]), how)

    def _difference(self, after: ParseOutcome) -> Reading:
        """Whether a change shows in the result, or only reduces what is read."""
        if len(after.runs) < len(self.before.runs):
            return "routes"
        if after.holds_mark():
            return "observed"
        less = after.weight() < self._weight or after.as_json() == self._before_json
        return "routes" if less else "observed"

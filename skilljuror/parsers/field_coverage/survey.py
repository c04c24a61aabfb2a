"""What a parser reads of a log, found out by changing the log.

Every kind of field is given other values of its type, then taken out, in a copy of the log that
is found and parsed again each time. Whatever makes no difference to the result is not read.
"""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

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

Reading = Literal["observed", "routes", "ignored"]
"""observed: another value gives another result; routes: the value decides what is read or joined
and does not stand in the result itself; ignored: neither another value nor none tells."""

SECONDS = 30.0
"""How long to go on trying, by default."""
TRIED_LOGS = 3
"""Logs in which a field is tried before it counts as not observed."""
MAX_FILE = 64 << 20
"""Bytes of a file above which its log is not looked at."""

Fields = dict[Field, list[Occurrence]]
"""Fields of one log, with some of their occurrences."""


class FieldCoverage(Struct, frozen=True):
    """What becomes of one kind of field."""

    file: str
    """Which file of a folder it stands in; "" where every file is alike."""
    record: str
    """Kinds of the objects around it, outermost first; "" where none says any."""
    field: str
    """Members down to it, lists and keys that are data folded."""
    reading: Reading | None
    """What the parser does with it; None where it never held a value, or time ran out."""
    occurrences: int
    """How often it was met."""
    shapes: tuple[str, ...]
    """Types of its values, the most frequent first; never a value."""


class Coverage(Struct, frozen=True):
    """What one format reads of some logs."""

    format: str
    """The format."""
    logs: int
    """Logs that were looked at."""
    left: int
    """Logs that were not: time ran out, or one of their files is too big."""
    fields: tuple[FieldCoverage, ...]
    """Every field met, sorted by file, record and path."""
    untried: int
    """Fields that held values and could not be tried in time."""

    def count(self, reading: Reading) -> int:
        """Fields with that reading."""
        return sum(field.reading == reading for field in self.fields)


def coverage(paths: Sequence[Path], format: str, seconds: float = SECONDS) -> Coverage:
    """Which fields of the logs under the paths a format reads, tried for about `seconds` at most.

    Raises UsageError for an unknown format, a path that does not exist, and where there is no
    log of the format; TrajectoryError where the format claims a log and cannot read it.
    """
    parser(format)
    gone = [str(path) for path in paths if not path.exists()]
    if gone:
        raise UsageError(f"no log at {gone[0]!r}: it does not exist", file=gone[0])
    sources = _sources(paths, format)
    survey = _Survey(format, time.monotonic() + seconds)
    looked = sum(survey.look(source) for source in sources)
    return survey.result(looked, len(sources) - looked)


def _sources(paths: Sequence[Path], format: str) -> list[Source]:
    sources = [found.source for found in discover(paths, formats=(format,)) if found.format]
    if not sources:
        others = sorted({other.format for other in discover(paths) if other.format})
        there = f"what lies there is {', '.join(others)}" if others else "no format claims it"
        raise UsageError(f"no {format} log at {str(paths[0])!r}: {there}", file=str(paths[0]))
    return sources


class _Tried:
    """What is known of one field so far."""

    __slots__ = ("logs", "occurrences", "reading", "shapes")

    def __init__(self) -> None:
        self.reading: Reading | None = None
        self.logs = 0
        """Logs that it was tried in."""
        self.occurrences = 0
        self.shapes: Counter[str] = Counter()

    def settle(self, reading: Reading) -> None:
        """Take in what another log says: any sign of being read counts."""
        self.logs += 1
        if self.reading in {None, "ignored"} or reading == "observed":
            self.reading = reading

    @property
    def held(self) -> bool:
        """Whether it ever held a value."""
        return any(name not in EMPTY for name in self.shapes)


class _Survey:
    """Goes through logs and keeps what each field turned out to be."""

    def __init__(self, format: str, deadline: float) -> None:
        self.format = format
        self.deadline = deadline
        self.fields: dict[Field, _Tried] = {}

    @property
    def late(self) -> bool:
        """Whether time has run out."""
        return time.monotonic() > self.deadline

    def look(self, source: Source) -> bool:
        """Try the fields of one log; False when it is left out."""
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
        """One field at a time, as long as it may be observed; what made no difference once,
        together."""
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
                self.fields[field].settle(reading)
        for how in ("end", "ahead", "out"):
            for field, reading in experiment.readings(quiet, how).items():
                self.fields[field].settle(reading)
                del quiet[field]
        for field in quiet:
            self.fields[field].settle("ignored")

    def _is_open(self, field: Field) -> bool:
        """Whether another log may still say more."""
        tried = self.fields[field]
        return tried.reading != "observed" and tried.logs < TRIED_LOGS

    def result(self, logs: int, left: int) -> Coverage:
        """Everything that was found."""
        fields = tuple(_told(field, self.fields[field]) for field in sorted(self.fields))
        untried = sum(one.reading is None and one.held for one in self.fields.values())
        return Coverage(self.format, logs, left, fields, untried)


def _told(field: Field, tried: _Tried) -> FieldCoverage:
    shapes = tuple(name for name, _ in tried.shapes.most_common())
    return FieldCoverage(
        field.file, field.record, field.path, tried.reading, tried.occurrences, shapes
    )


class _Experiment:
    """Changes a log and compares what comes out."""

    def __init__(self, log: CopiedLog, before: ParseOutcome) -> None:
        self.log = log
        self.before = before
        self._told = before.told()
        self._weight = before.weight()

    def reading(self, field: Field, places: list[Occurrence], how: Change) -> Reading | None:
        """What one field turns out to be by one kind of change; None without a difference."""
        whole = field.path == WHOLE
        after = self.log.changed(places, "out" if whole else how)
        if after == self.before:
            return None
        if whole:
            return "observed"
        return "routes" if how == "out" else self._difference(after)

    def readings(self, fields: Fields, how: Change) -> dict[Field, Reading]:
        """The fields that make a difference, found by halving those that together make one."""
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
        """Whether another value shows in the result, or only lets less of the log be read."""
        if len(after.runs) < len(self.before.runs):
            return "routes"
        if after.holds_mark():
            return "observed"
        less = after.weight() < self._weight or after.told() == self._told
        return "routes" if less else "observed"

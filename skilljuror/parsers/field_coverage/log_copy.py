"""A temporary copy of a log whose fields are changed and parsed again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import orjson
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers.base import Source
from skilljuror.parsers.discovery.find_logs import discover
from skilljuror.parsers.field_coverage.mutation import (
    EMPTY,
    FILE,
    MARK,
    Field,
    LogFile,
    Place,
    changed_value,
    fields_of,
    folded_path,
    value_at,
    value_type,
)
from skilljuror.parsers.raw_logs.file_head import read_head
from skilljuror.parsers.raw_logs.jsonl import open_log
from skilljuror.parsers.read import claims, read

SAMPLE = 12
"""Occurrences of a field changed at once, each to its own value."""
LINES_PER_KIND = 40
"""Lines per kind of record in a copy, to shorten long logs."""
MAX_LINE = 256 << 10
"""Longer lines (bytes) are left out of the copy."""
WHOLE = "(whole file)"
"""Field path of a file that is not JSON, or is another format's log."""

Change = Literal["end", "ahead", "out"]
"""Append the mark, prepend it, or remove the value."""


class Occurrence(NamedTuple):
    """Position of one value in a copy."""

    file: int
    entry: int
    """Number of the record in the file."""
    place: Place
    """Path to the value; empty for a whole file."""


class ParseOutcome(Struct, frozen=True, dict=True):
    """Result of finding and parsing."""

    runs: tuple[Trajectory, ...]
    """The runs, without keys that are digests of the file's bytes."""
    problems: tuple[str, ...]
    """Why a log could not be read."""

    @cached_property
    def json(self) -> bytes:
        """Everything that was read, without the count of skipped records."""
        return msgspec.json.encode([replace(run, skipped={}) for run in self.runs])

    @property
    def holds_mark(self) -> bool:
        """Whether a changed string appears in the result."""
        return MARK.encode() in self.json

    @cached_property
    def weight(self) -> tuple[int, int]:
        """Amount read: values present, and characters of text."""
        values = [value for _, _, value in fields_of(orjson.loads(self.json))]
        present = sum(value_type(value) not in EMPTY for value in values)
        return present, sum(len(value) for value in values if isinstance(value, str))


class CopiedLog:
    """A log with its sibling files."""

    def __init__(self, source: Source, format: str, folder: Path) -> None:
        self.format = format
        self.folder = folder
        files = files_of(source)
        base = _base(source, files)
        self.files = [LogFile(folder / path.relative_to(base), _data(path)) for path in files]
        self.path = folder / source.path.relative_to(base)
        self._is_folder = source.path.is_dir()
        self._dirty: set[int] = set()
        self._write(range(len(self.files)))
        self._whole = [self._is_whole(file) for file in self.files]

    def _is_whole(self, file: LogFile) -> bool:
        """Whether a file is changed as a whole: not JSON, or another format's log in a folder."""
        other = self._is_folder and bool(claims(Source(file.path, read_head(file.path))))
        return other or not any(entry.value for entry in file.entries)

    def _write(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.files[number].path.parent.mkdir(parents=True, exist_ok=True)
            self.files[number].write({})

    def shorten(self) -> None:
        """Keep a few lines of each kind of record, in order."""
        for file, whole in zip(self.files, self._whole, strict=True):
            seen: Counter[tuple[str, ...]] = Counter()
            entries, file.entries = file.entries, []
            for entry in entries:
                kind = tuple(sorted({field.record for field, _, _ in fields_of(entry.value)}))
                seen[kind] += 1
                few = seen[kind] <= LINES_PER_KIND and len(entry.raw) <= MAX_LINE
                if whole or len(entries) == 1 or few:
                    file.entries.append(entry)
        self._write(range(len(self.files)))

    def values(self) -> Iterator[tuple[Field, Occurrence, Any]]:
        """Every value with its field and position."""
        for number, file in enumerate(self.files):
            label = folded_path(file.path.relative_to(self.path)) if self._is_folder else ""
            if self._whole[number]:
                yield Field(label, "", WHOLE), Occurrence(number, 0, ()), FILE
                continue
            for at, entry in enumerate(file.entries):
                for field, place, value in fields_of(entry.value, label) if entry.value else ():
                    yield field, Occurrence(number, at, place), value

    def places(self) -> dict[Field, list[Occurrence]]:
        """Some occurrences of every field with a value."""
        found: dict[Field, list[Occurrence]] = {}
        for field, where, value in self.values():
            if value_type(value) not in EMPTY:
                held = found.setdefault(field, [])
                if len(held) < SAMPLE:
                    held.append(where)
        return found

    def outcome(self) -> ParseOutcome:
        """Find and parse the copy in its current state."""
        problems: list[str] = []
        runs: list[Trajectory] = []
        for found in discover([self.folder], formats=(self.format,)):
            try:
                runs.extend(
                    map(_comparable, read(found.source, self.format)) if found.format else ()
                )
            except TrajectoryError as error:
                problems.append(error.message)
        return ParseOutcome(tuple(runs), tuple(problems))

    def changed(self, places: Iterable[Occurrence], how: Change) -> ParseOutcome:
        """Outcome with these values changed."""
        by_file = {
            number: list(group) for number, group in groupby(sorted(places), lambda one: one.file)
        }
        self._write(self._dirty - set(by_file))
        self._dirty = set(by_file)
        for number, several in by_file.items():
            _write_changed(self.files[number], several, how)
        return self.outcome()


def _write_changed(file: LogFile, places: Sequence[Occurrence], how: Change) -> None:
    records: dict[int, Any] = {}
    for mark, (_, at, place) in enumerate(reversed(places), 1):
        if not place:
            file.path.unlink(missing_ok=True)
            return
        if at not in records:
            records[at] = orjson.loads(file.entries[at].raw)
        parent = value_at(records[at], place[:-1])
        if how == "out":
            del parent[place[-1]]
        else:
            parent[place[-1]] = changed_value(parent[place[-1]], mark, ahead=how == "ahead")
    file.write({at: orjson.dumps(record) for at, record in records.items()})


def _comparable(run: Trajectory) -> Trajectory:
    """The run without names that are digests of its file."""
    named = {"trajectory": run.trajectory, "session": run.session}
    digests = {name: "file" for name, value in named.items() if (value or "").startswith("file-")}
    return replace(run, **digests) if digests else run


def files_of(source: Source) -> list[Path]:
    """Files of a log: its own and its siblings, or all files of a folder."""
    if source.path.is_dir():
        inside = (path for path in sorted(source.path.rglob("*")) if not path.is_symlink())
        return [path for path in inside if path.is_file()]
    return [source.path, *source.siblings]


def _data(path: Path) -> bytes:
    """A file's decoded bytes. Raises TrajectoryError."""
    with open_log(path) as log:
        data: bytes = log.read()
    return data


def _base(source: Source, files: Sequence[Path]) -> Path:
    """Parent of the folder that holds all files; folder names link files."""
    shared = source.path if source.path.is_dir() else source.path.parent
    while not all(path.is_relative_to(shared) for path in files):
        shared = shared.parent
    return shared.parent

"""A temporary copy of a log whose fields are changed and parsed again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

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
    remove_value,
    set_value,
    value_at,
    value_type,
)
from skilljuror.parsers.raw_logs.file_head import read_head
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


class Occurrence(Struct, frozen=True, order=True):
    """Position of one value in a copy."""

    file: int
    entry: int
    """Number of the record in the file."""
    place: Place
    """Path to the value; empty for a whole file."""


class ParseOutcome(Struct, frozen=True):
    """Result of finding and parsing."""

    runs: tuple[Trajectory, ...]
    """The runs, without keys that are digests of the file's bytes."""
    problems: tuple[str, ...]
    """Why a log could not be read."""

    def as_json(self) -> bytes:
        """Everything that was read, as JSON, without the count of skipped records."""
        return msgspec.json.encode([replace(run, skipped={}) for run in self.runs])

    def holds_mark(self) -> bool:
        """Whether a changed string appears in the result."""
        return MARK.encode() in self.as_json()

    def weight(self) -> tuple[int, int]:
        """Amount read: values present, and characters of text."""
        values = characters = 0
        for _, _, value in fields_of(orjson.loads(self.as_json())):
            values += value_type(value) not in EMPTY
            characters += len(value) if isinstance(value, str) else 0
        return values, characters


class CopiedLog:
    """A log with its sibling files."""

    def __init__(self, source: Source, format: str, folder: Path) -> None:
        self.format = format
        self.folder = folder
        files = files_of(source)
        base = _base(source, files)
        self.files = [LogFile(folder / path.relative_to(base), path.read_bytes()) for path in files]
        self.path = folder / source.path.relative_to(base)
        self._is_folder = source.path.is_dir()
        self._dirty: set[int] = set()
        self._write(range(len(self.files)))
        self._whole = [self._is_whole(file) for file in self.files]

    def _is_whole(self, file: LogFile) -> bool:
        """Whether a file is changed as a whole: not JSON, or another format's log in a folder."""
        if not self._is_folder:
            return not file.readable
        return not file.readable or bool(claims(Source(file.path, read_head(file.path))))

    def _label(self, file: LogFile) -> str:
        return folded_path(file.path.relative_to(self.path)) if self._is_folder else ""

    def _write(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            file = self.files[number]
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_bytes(file.data({}))

    def shorten(self) -> None:
        """Keep a few lines of each kind of record, in order."""
        for file, whole in zip(self.files, self._whole, strict=True):
            if not whole and len(file.entries) > 1:
                file.entries = [
                    entry
                    for entry, number in _numbered(file)
                    if number <= LINES_PER_KIND and len(entry.raw) <= MAX_LINE
                ]
        self._write(range(len(self.files)))

    def values(self) -> Iterator[tuple[Field, Occurrence, Any]]:
        """Every value with its field and position."""
        for number, file in enumerate(self.files):
            label = self._label(file)
            if self._whole[number]:
                yield Field(label, "", WHOLE), Occurrence(number, 0, ()), FILE
                continue
            readable = ((at, one.value) for at, one in enumerate(file.entries) if one.value)
            for at, record in readable:
                for field, place, value in fields_of(record, label):
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

    def changed(self, places: Sequence[Occurrence], how: Change) -> ParseOutcome:
        """Outcome with these values changed."""
        entries: dict[int, dict[int, list[Place]]] = {}
        for one in sorted(places):
            entries.setdefault(one.file, {}).setdefault(one.entry, []).append(one.place)
        self._write(self._dirty - set(entries))
        self._dirty = set(entries)
        for number, changes in entries.items():
            _write_changed(self.files[number], changes, how)
        return self.outcome()


def _write_changed(file: LogFile, changes: dict[int, list[Place]], how: Change) -> None:
    changed: dict[int, bytes] = {}
    mark = 0
    for at, places in changes.items():
        if not places[0]:
            file.path.unlink(missing_ok=True)
            return
        value = orjson.loads(file.entries[at].raw)
        for place in reversed(places):
            mark += 1
            if how == "out":
                remove_value(value, place)
            else:
                set_value(
                    value, place, changed_value(value_at(value, place), mark, ahead=how == "ahead")
                )
        changed[at] = orjson.dumps(value)
    file.path.write_bytes(file.data(changed))


def _numbered(file: LogFile) -> Iterator[tuple[Any, int]]:
    """Each record with its number within its kind."""
    seen: Counter[str] = Counter()
    for entry in file.entries:
        kinds = {field.record for field, _, _ in fields_of(entry.value)} if entry.value else ()
        kind = "|".join(sorted(kinds))
        seen[kind] += 1
        yield entry, seen[kind]


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


def _base(source: Source, files: Sequence[Path]) -> Path:
    """Parent of the folder that holds all files; folder names link files."""
    shared = source.path if source.path.is_dir() else source.path.parent
    while not all(path.is_relative_to(shared) for path in files):
        shared = shared.parent
    return shared.parent

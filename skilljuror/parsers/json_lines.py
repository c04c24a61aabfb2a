"""What parsers share whose log is one file of JSON lines, each line a record with a type."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import Trajectory, Usage
from skilljuror.parsers.assembly.builders import TrajectoryBuilder, total_usage
from skilljuror.parsers.base import Parser, Source
from skilljuror.parsers.raw_logs.coercion import as_epoch
from skilljuror.parsers.raw_logs.jsonl import JsonLines, Skip


class RecordReader:
    """Reads the records of one log into a run, each with the method for its type."""

    methods: ClassVar[Mapping[str, Callable[..., None]]] = {}
    """Type of a record -> the method that reads it: `method(self, line, timestamp, members)`."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.session: str | None = None
        """Id of the session, which one of the first records tells."""
        self.agent_version: str | None = None
        self.model: str | None = None
        self.cwd: str | None = None
        self.totals: list[Usage] = []
        """Usage that the log states of the run, in parts; without any, that of the steps counts."""
        self.ended = False
        """Whether the log goes on to the end of the run."""

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record; one of a type that no method reads is counted."""
        kind = record.get("type")
        method = self.methods.get(kind) if isinstance(kind, str) else None
        timestamp = as_epoch(record.get("timestamp"))
        self.run.include_time(timestamp)
        if method is None:
            self.run.skipped[str(kind)] += 1
        else:
            method(self, line, timestamp, self.members(record))

    def members(self, record: dict[str, Any]) -> dict[str, Any]:
        """What the methods get of a record: its members, unless it is but an envelope."""
        return record

    def finish(self) -> None:
        """Settle what only the last record decides."""


class JsonLinesParser(Parser):
    """Reads a log of one record per line: one file, one run."""

    reader: ClassVar[type[RecordReader]]
    """Reads its records."""
    opening: ClassVar[str]
    """The record that names the session, as an error says that there is none."""

    def skip(self) -> Skip | None:
        """What names the type of a raw line that need not be decoded; None to decode every line."""
        return None

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        run = TrajectoryBuilder()
        reader = self.reader(run)
        lines = JsonLines(source.path, self.skip())
        for line, record in lines:
            reader.read(line, record)
        run.add_diagnostics(lines)
        reader.finish()
        if reader.session is None:
            problem = f"{str(source.path)!r} has no {self.opening}"
            raise TrajectoryError(problem, file=str(source.path))
        run.complete = run.complete and reader.ended
        yield run.build(
            self,
            source.files,
            trajectory=reader.session,
            session=reader.session,
            agent_version=reader.agent_version,
            model=reader.model,
            cwd=reader.cwd,
            usage=total_usage(reader.totals),
        )

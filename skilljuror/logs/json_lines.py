"""Base classes for logs of JSON lines in which each line is a record with a type."""

from collections.abc import Iterator
from typing import Any, ClassVar

from skilljuror.base.trajectory import Trajectory, Usage
from skilljuror.logs.assembly.builders import TrajectoryBuilder, total_usage
from skilljuror.logs.base import Parser, Source
from skilljuror.logs.raw_logs.coercion import as_epoch
from skilljuror.logs.raw_logs.jsonl import JsonLines, unreadable


class RecordReader:
    """Reads the records of one log into a run: those of type `a.b` by a method
    `on_a_b(line, timestamp, members)`."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.session: str | None = None
        self.agent_version: str | None = None
        self.model: str | None = None
        self.cwd: str | None = None
        self.totals: list[Usage] = []
        """Usage that the log reports for the run, in parts; if empty, the steps' usage counts."""
        self.ended = False
        """Whether the log reaches the end of the run."""

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record; records of other types are counted."""
        kind = str(record.get("type"))
        method = getattr(self, f"on_{kind.replace('.', '_')}", None)
        timestamp = as_epoch(record.get("timestamp"))
        self.run.include_time(timestamp)
        if method is None:
            self.run.skipped[kind] += 1
        else:
            method(line, timestamp, self.members(record))

    def members(self, record: dict[str, Any]) -> dict[str, Any]:
        """Members passed to the methods: the record's, unless it is an envelope."""
        return record

    def finish(self) -> None:
        """Finish what depends on the last record."""


class JsonLinesParser(Parser):
    """Reads a log of one record per line: one file, one run."""

    reader: ClassVar[type[RecordReader]]
    opening: ClassVar[str]
    """Name of the record with the session's id, for error messages."""

    def parse(self, source: Source) -> Iterator[Trajectory]:
        run = TrajectoryBuilder()
        reader = self.reader(run)
        lines = JsonLines(source.path)
        for line, record in lines:
            reader.read(line, record)
        run.add_diagnostics(lines)
        reader.finish()
        if reader.session is None:
            raise unreadable(source.path, f"has no {self.opening}")
        run.complete = run.complete and reader.ended
        yield run.build(
            self,
            source.files,
            session=reader.session,
            agent_version=reader.agent_version,
            model=reader.model,
            cwd=reader.cwd,
            usage=total_usage(reader.totals),
        )

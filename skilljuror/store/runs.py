"""The rows of agent runs as columns, sent by worker processes to the writer.

Columns of plain values are much cheaper to transfer than records.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import compress
from typing import Any

from skilljuror.base.results import (
    CompactionRow,
    Ingested,
    LeakSearch,
    Measure,
    OfferedRow,
    StepRow,
    TrajectoryRow,
)
from skilljuror.base.trajectory import Exposure, ResourceEvent, UnknownTool
from skilljuror.store import tables
from skilljuror.store.tables import Columns, Row, Table

RunColumns = dict[str, Columns]
"""Table -> its columns, for all runs of a batch."""

RUN_TABLES: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (
        tables.TRAJECTORIES,
        (*TrajectoryRow.__struct_fields__, "offered_known", "units", "shown_bytes"),
    ),
    (tables.STEPS, StepRow.__struct_fields__),
    (tables.OFFERED, OfferedRow.__struct_fields__),
    (
        tables.EVENTS,
        (
            "event",
            *ResourceEvent.__struct_fields__,
            "counted",
        ),
    ),
    (tables.COMPACTIONS, CompactionRow.__struct_fields__),
    (tables.UNKNOWN_TOOLS, UnknownTool.__struct_fields__),
    (tables.LEAK_SEARCHES, LeakSearch.__struct_fields__),
    (
        tables.EXPOSURE,
        ("trajectory", "position", "unit", "agent", "step", "ordinal", "tokens"),
    ),
    (tables.EXPOSURE_TOTALS, ("trajectory", "name", "value")),
    (tables.MEASURES, Measure.__struct_fields__),
)
"""The tables about runs and their columns in the schema."""


def run_columns(runs: Sequence[Ingested]) -> RunColumns:
    """Return the rows of all tables about runs; of two runs with one name the last one counts."""
    records = _records(list({_name(run): run for run in runs}.values()))
    return {table.name: table.values(columns, records[table.name]) for table, columns in RUN_TABLES}


def run_names(columns: RunColumns) -> tuple[list[str], set[str]]:
    """Return (keys of the trajectories, names with measures)."""
    return columns["trajectories"]["trajectory"], set(columns["measures"]["trial"])


def without_runs(columns: RunColumns, keys: Container[str]) -> RunColumns:
    """Return the columns without the rows of some runs."""
    left: RunColumns = {}
    for table, _ in RUN_TABLES:
        rows = columns[table.name]
        wanted = [name not in keys for name in rows[table.key[0]]]
        left[table.name] = {name: [*compress(values, wanted)] for name, values in rows.items()}
    return left


def merge_batches(batches: Iterable[RunColumns]) -> Iterator[RunColumns]:
    """Join batches into as few as possible. A batch that repeats a run starts a new one, because it
    replaces the earlier rows, which must be written first."""
    joined: RunColumns = {}
    seen: set[str] = set()
    for batch in batches:
        keys, measured = run_names(batch)
        batch_runs = measured.union(keys)
        if joined and not seen.isdisjoint(batch_runs):
            yield joined
            joined, seen = {}, set()
        seen |= batch_runs
        if not joined:
            joined = {name: _copied(columns) for name, columns in batch.items()}
            continue
        for name, columns in batch.items():
            for column, values in columns.items():
                joined[name][column].extend(values)
    if joined:
        yield joined


def _copied(columns: Columns) -> Columns:
    return {name: [*values] for name, values in columns.items()}


def _name(run: Ingested) -> str:
    if run.trajectory is not None:
        return run.trajectory.trajectory
    return run.measures[0].trial if run.measures else ""


def _records(runs: Sequence[Ingested]) -> dict[str, list[Any]]:
    logged = [run for run in runs if run.trajectory]
    exposures = [
        (run.trajectory.trajectory, run.exposure) for run in runs if run.trajectory and run.exposure
    ]
    return {
        tables.TRAJECTORIES.name: logged,
        tables.STEPS.name: [step for run in logged for step in run.steps],
        tables.OFFERED.name: [skill for run in logged for skill in run.offered or ()],
        tables.EVENTS.name: [event for run in logged for event in run.events],
        tables.COMPACTIONS.name: [one for run in logged for one in run.compactions],
        tables.UNKNOWN_TOOLS.name: [tool for run in logged for tool in run.unknown_tools],
        tables.LEAK_SEARCHES.name: [leak for run in logged for leak in run.leaks],
        tables.EXPOSURE.name: [row for pair in exposures for row in _units(*pair)],
        tables.EXPOSURE_TOTALS.name: [row for pair in exposures for row in _totals(*pair)],
        tables.MEASURES.name: [measure for run in runs for measure in run.measures],
    }


def _units(trajectory: str, exposure: Exposure) -> Iterator[Row]:
    for position, unit in enumerate(exposure.seen):
        fields: dict[str, Any] = {
            name: getattr(unit, name) for name in ("unit", "agent", "step", "ordinal", "tokens")
        }
        yield {"trajectory": trajectory, "position": position, **fields}


def _totals(trajectory: str, exposure: Exposure) -> Iterator[Row]:
    for name, value in sorted(exposure.extra.items()):
        yield {"trajectory": trajectory, "name": name, "value": value}

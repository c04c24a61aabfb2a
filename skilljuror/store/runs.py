"""Rows of what one run of an agent left behind."""

from collections.abc import Iterator, Mapping
from typing import Any

from skilljuror.models.events import Exposure
from skilljuror.models.ingest import Ingested
from skilljuror.store import tables
from skilljuror.store.plans import Row, TableRows


def run_rows(runs: Mapping[str, Ingested]) -> Iterator[TableRows]:
    """The rows of all tables about runs; `runs` maps the key of a trajectory to what it left."""
    found = list(runs.values())
    yield tables.TRAJECTORIES, found
    yield tables.STEPS, [step for run in found for step in run.steps]
    yield tables.OFFERED, [skill for run in found for skill in run.offered or ()]
    yield tables.EVENTS, [event for run in found for event in run.events]
    exposures = {key: run.exposure for key, run in runs.items() if run.exposure}
    yield tables.EXPOSURE, [row for pair in exposures.items() for row in _units(*pair)]
    yield tables.EXPOSURE_TOTALS, [row for pair in exposures.items() for row in _totals(*pair)]


def _units(trajectory: str, exposure: Exposure) -> Iterator[Row]:
    for position, unit in enumerate(exposure.seen):
        fields: dict[str, Any] = {
            name: getattr(unit, name) for name in ("unit", "agent", "step", "times", "tokens")
        }
        yield {"trajectory": trajectory, "position": position, **fields}


def _totals(trajectory: str, exposure: Exposure) -> Iterator[Row]:
    for name, value in sorted(exposure.extra.items()):
        yield {"trajectory": trajectory, "name": name, "value": value}

"""Exposure: how much of the Skill's text and knowledge reached the agent's context."""

from collections.abc import Iterator

from skilljuror.metrics.rows import MAIN, Answer, Row, rows, share
from skilljuror.models.events import Exposure
from skilljuror.models.measure import Measure, TrialContext

ROWS: tuple[Row, ...] = (
    ("units_offered", ""),
    ("units_exposed", ""),
    ("unit_exposure_share", ""),
    ("unit_repeats", ""),
    ("skill_bytes_shown", ""),
)


def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; a unit counts for the trial when any of its agents saw it."""
    if context.trajectory is None:
        return rows(context, dict.fromkeys(ROWS, "no_trajectory"))
    if context.exposure is None:
        return rows(context, dict.fromkeys(ROWS, "no_knowledge_map"))
    return rows(context, dict(zip(ROWS, _answers(context.exposure), strict=True)))


def _answers(exposure: Exposure) -> tuple[Answer, ...]:
    seen = {unit.unit for unit in exposure.seen}
    repeats = sum(max(0, unit.times - 1) for unit in exposure.seen if unit.agent == MAIN)
    return (
        exposure.units,
        len(seen),
        share(len(seen), exposure.units, "no_units"),
        repeats,
        exposure.shown_bytes,
    )

"""Exposure: how much of the Skill's text and knowledge reached the agent's context."""

from collections.abc import Iterator

from skilljuror.metrics.base import MAIN, MeasureKey, ValueOrReason, share, to_measures
from skilljuror.metrics.scope import seconds_to
from skilljuror.models.events import Exposure
from skilljuror.models.measure import Measure, TrialContext

ROWS: tuple[MeasureKey, ...] = (
    ("units_offered", ""),
    ("units_exposed", ""),
    ("unit_exposure_share", ""),
    ("unit_repeats", ""),
    ("skill_bytes_shown", ""),
    ("skill_tokens_shown", ""),
    ("tokens_per_exposed_unit", ""),
    ("first_exposure_step", ""),
    ("first_exposure_seconds", ""),
)


def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; a unit counts for the trial when any of its agents saw it."""
    if context.trajectory is None:
        return to_measures(context, dict.fromkeys(ROWS, "no_trajectory"))
    if context.exposure is None:
        return to_measures(context, dict.fromkeys(ROWS, "no_knowledge_map"))
    return to_measures(context, dict(zip(ROWS, _values(context, context.exposure), strict=True)))


def _values(context: TrialContext, exposure: Exposure) -> tuple[ValueOrReason, ...]:
    seen = {unit.unit for unit in exposure.seen}
    seen_by_main = [unit for unit in exposure.seen if unit.agent == MAIN]
    tokens = exposure.shown_tokens
    first = min((unit.step for unit in seen_by_main), default=None)
    return (
        exposure.units,
        len(seen),
        share(len(seen), exposure.units, "no_units"),
        sum(max(0, unit.times - 1) for unit in seen_by_main),
        exposure.shown_bytes,
        "not_counted" if tokens is None else tokens,
        "not_counted" if tokens is None else share(tokens, len(seen), "no_unit_exposed"),
        "never" if first is None else first,
        "never" if first is None else seconds_to(context, first),
    )

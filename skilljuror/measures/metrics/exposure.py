"""Exposure: how much of the Skill's text and knowledge reached the agent's context."""

from collections.abc import Iterator

from skilljuror.base.results import Measure, TrialContext
from skilljuror.base.trajectory import Exposure
from skilljuror.measures.metrics.base import (
    MAIN,
    Definition,
    MeasureKey,
    ValueOrReason,
    defines,
    share,
    to_measures,
)
from skilljuror.measures.metrics.scope import seconds_to, with_unknown_use


@defines({
    "units_offered": Definition("Knowledge units in the offered variant", "units", "own"),
    "units_exposed": Definition("Knowledge units that reached a context", "units", "own"),
    "unit_exposure_share": Definition("Exposed units of all units offered", "share", "own"),
    "unit_repeats": Definition("Repeated showings of units to the main agent", "units", "own"),
    "skill_bytes_shown": Definition("Bytes of Skill text shown, repeats included", "bytes", "own"),
    "skill_tokens_shown": Definition("Tokens of Skill text shown, repeats included", "tokens", "own"),
    "tokens_per_exposed_unit": Definition(
        "Tokens of Skill text shown for each unit exposed", "tokens", "own"
    ),
    "first_exposure_step": Definition(
        "Step at which the first unit reached the main agent, 0 before the first step; null: never",
        "step", "own",
    ),
    "first_exposure_seconds": Definition(
        "From the start of the log to the first unit; null: never", "seconds", "own"
    ),
})  # fmt: skip
def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; a unit counts if any agent of the trial saw it."""
    rows = [(name, "") for name in measure.definitions]
    if context.trajectory is None:
        return to_measures(context, dict.fromkeys(rows, "no_trajectory"))
    if context.exposure is None:
        return to_measures(context, dict.fromkeys(rows, "no_knowledge_map"))
    values: dict[MeasureKey, ValueOrReason] = dict(
        zip(rows, _values(context, context.exposure), strict=True)
    )
    return to_measures(context, with_unknown_use(context, values))


def _values(context: TrialContext, exposure: Exposure) -> tuple[ValueOrReason, ...]:
    seen = {unit.unit for unit in exposure.seen}
    seen_by_main = [unit for unit in exposure.seen if unit.agent == MAIN]
    tokens = exposure.shown_tokens
    first = min((unit.step for unit in seen_by_main), default=None)
    return (
        exposure.units,
        len(seen),
        share(len(seen), exposure.units, "no_units"),
        len(seen_by_main) - len({unit.unit for unit in seen_by_main}),
        exposure.shown_bytes,
        "not_counted" if tokens is None else tokens,
        "not_counted" if tokens is None else share(tokens, len(seen), "no_unit_exposed"),
        "never" if first is None else first,
        "never" if first is None else seconds_to(context, first),
    )

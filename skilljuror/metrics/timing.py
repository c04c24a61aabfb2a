"""Timing: where in the run the Skill was used (measures §3.7, §3.8), in integer arithmetic."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from skilljuror.metrics.base import MeasureKey, ValueOrReason, to_measures
from skilljuror.metrics.scope import agent_steps, skill_positions, used_events
from skilljuror.models.measure import Measure, TrialContext

THIRDS = 3
BINS = 20
MIN_THIRDS = 2
"""Thirds that a trial's Skill-related steps must occupy to be called distributed."""


def part_of(position: int, steps: int, parts: int) -> int:
    """Which of `parts` equal parts the midpoint of a step falls into, 0-based, half-open.

    floor(parts * (2i + 1) / (2m)) for 0-based position i of m steps (measures §3.7).
    """
    return parts * (2 * position + 1) // (2 * steps)


def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial, main agent only: positions of sub-agents have no common clock."""
    positions, steps = skill_positions(context), len(agent_steps(context))
    values = _by_part(positions, steps, THIRDS, "skill_steps_in_third")
    values |= _by_part(positions, steps, BINS, "skill_steps_in_bin")
    values |= _spread(positions, steps) | _first(context, positions, steps)
    if context.trajectory is None:
        return to_measures(context, dict.fromkeys(values, "no_trajectory"))
    return to_measures(context, values)


def _by_part(
    positions: tuple[int, ...], steps: int, parts: int, name: str
) -> dict[MeasureKey, ValueOrReason]:
    counts = Counter([part_of(position, steps, parts) for position in positions])
    return {key: counts[part] for part, key in enumerate(_keys_of_parts(name, parts))}


@cache
def _keys_of_parts(name: str, parts: int) -> tuple[MeasureKey, ...]:
    width = len(str(parts - 1))
    return tuple((name, f"{part:0{width}}") for part in range(parts))


def _spread(positions: tuple[int, ...], steps: int) -> dict[MeasureKey, ValueOrReason]:
    thirds = {part_of(position, steps, THIRDS) for position in positions}
    return {
        ("skill_thirds", ""): len(thirds),
        ("exposed", ""): float(bool(positions)),
        ("distributed", ""): float(len(thirds) >= MIN_THIRDS) if positions else "not_exposed",
        ("fewer_than_three_steps", ""): float(steps < THIRDS),
    }


def _first(
    context: TrialContext, positions: tuple[int, ...], steps: int
) -> dict[MeasureKey, ValueOrReason]:
    if positions:
        first = positions[0]
        return {
            ("first_skill_step", ""): first + 1,
            ("first_skill_position", ""): (2 * first + 1) / (2 * steps),
        }
    reason = _why_never(context, steps)
    return {("first_skill_step", ""): reason, ("first_skill_position", ""): reason}


def _why_never(context: TrialContext, steps: int) -> str:
    """`never` is a censored observation, not a missing one."""
    if not steps:
        return "no_steps"
    before = any(event.step == 0 for event in used_events(context))
    return "before_first_step" if before else "never"

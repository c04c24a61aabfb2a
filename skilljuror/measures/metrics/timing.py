"""Timing: where in the run the Skill was used (measures §3.7, §3.8), in integer arithmetic."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from skilljuror.base.results import Measure, TrialContext
from skilljuror.measures.metrics.base import (
    Definition,
    MeasureKey,
    ValueOrReason,
    defines,
    to_measures,
)
from skilljuror.measures.metrics.scope import (
    agent_steps,
    skill_positions,
    used_events,
    with_unknown_use,
)

THIRDS = 3
BINS = 20
MIN_THIRDS = 2
"""Thirds that must contain Skill-related steps for a trial to count as distributed."""


def part_of(position: int, steps: int, parts: int) -> int:
    """0-based part of `parts` equal half-open parts that contains a step's midpoint.

    floor(parts * (2i + 1) / (2m)) for 0-based position i of m steps (measures §3.7).
    """
    return parts * (2 * position + 1) // (2 * steps)


@defines({
    "skill_steps_in_third": Definition(
        "Skill-related steps whose midpoint falls into one third of the run", "steps", "§3.7",
        "0 first, 1 middle, 2 last",
    ),
    "skill_steps_in_bin": Definition(
        "Skill-related steps whose midpoint falls into one twentieth of the run", "steps", "§3.7",
        "00 to 19",
    ),
    "skill_thirds": Definition("Thirds of the run with a Skill-related step", "thirds", "§3.8"),
    "exposed": Definition("The run has a Skill-related step", "flag", "§3.8"),
    "distributed": Definition(
        "Skill-related steps occupy two or more thirds; null when the run is not exposed",
        "flag", "§3.8",
    ),
    "fewer_than_three_steps": Definition("The run is too short for thirds to mean much", "flag", "§3.7"),
    "first_skill_step": Definition("Number of the first Skill-related step; null: never", "step", "own"),
    "first_skill_position": Definition(
        "Midpoint of the first Skill-related step, 0 to 1; null: never", "share of the run", "§3.7"
    ),
})  # fmt: skip
def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial, main agent only: sub-agents have no common clock."""
    positions, steps = skill_positions(context), len(agent_steps(context))
    values = _by_part(positions, steps, THIRDS, "skill_steps_in_third")
    values |= _by_part(positions, steps, BINS, "skill_steps_in_bin")
    values |= _spread(positions, steps) | _first(context, positions, steps)
    if context.trajectory is None:
        return to_measures(context, dict.fromkeys(values, "no_trajectory"))
    return to_measures(context, with_unknown_use(context, values))


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

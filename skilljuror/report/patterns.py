"""Translation patterns: how uptake and success move together in a kind of task (SJ Table 7)."""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from skilljuror.measures.stats.intervals import Interval, rate_interval
from skilljuror.measures.stats.power import holm
from skilljuror.measures.stats.variance import Group, anova
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import NOT_USABLE

MIN_TASKS = 8
"""Fewer tasks support no pattern: the smallest stratum that SJ selects (Table 18) has eight."""
PATTERNS = (
    "attribute", "value", "judge", "tasks", "pattern", "pattern_reason", "delta_pass", "delta_low",
    "delta_high", "delta_runtime", "runtime_low", "runtime_high", "delta_given", "given_low", "given_high",
    "delta_yes_low", "delta_yes_high", "delta_fanout", "minutes_per_pass_ratio",
)  # fmt: skip
RULES = (
    "targeted efficiency: passes and uptake rise, minutes per pass fall; fanout tax: passes fall, fanout and "
    "minutes per pass rise; uptake without success: passes fall, uptake rises; completion with risk: runtime "
    "success rises, passes given runtime success fall. (The paper's Table 7 names runtime success beside passes, "
    "and also counts passes that stay as a fanout tax.) Rates rise or fall if their 95 % interval excludes 0, which "
    "tasks without variation do not have; uptake if both its ends exceed 0. Null for fewer than "
    f"{MIN_TASKS} tasks and where no rule holds"
)
"""What each pattern is."""


def patterns(answers: Callable[[str], QueryResult]) -> QueryResult:
    """Return the pattern of every stratum of the question `strata`; none if an arm is not whole."""
    return QueryResult(PATTERNS, [_row(row) for row in answers("strata").records()])


INTERACTIONS = ("attribute", "values", "tasks", "f", "p", "p_reason", "p_holm")


def interactions(answers: Callable[[str], QueryResult]) -> QueryResult:
    """Whether the difference of strict pass rates differs between the values of an attribute."""
    groups: dict[str, dict[str, Group]] = defaultdict(dict)
    strata = answers("strata").records()
    mark = next((row[NOT_USABLE] for row in strata), None)  # of both arms: the same in every row
    for row in strata:
        group = Group(row["tasks"], row["delta_pass"], row["sd_pass"] or 0.0)
        groups[row["attribute"]][row["value"]] = group  # the same for every judge
    rows = []
    for attribute, values in groups.items():
        tasks = sum(group.size for group in values.values())
        found = None if mark else anova(list(values.values()))
        reason = (
            None if found else mark or "no two values, or no variation between tasks of one value"
        )
        rows.append((attribute, len(values), tasks, *(found or (None, None)), reason))
    adjusted = iter(holm([row[4] for row in rows if row[4] is not None]))
    return QueryResult(
        INTERACTIONS, [(*row, None if row[4] is None else next(adjusted)) for row in rows]
    )


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    passes, runtime, given = (_interval(row, what) for what in ("pass", "runtime", "given"))
    one, other = row["treatment_minutes_per_pass"], row["control_minutes_per_pass"]
    ratio = one / other if one is not None and other else None
    found = None if row["tasks"] < MIN_TASKS else _pattern(row, passes, runtime, given, ratio)
    reason = (
        None if found
        else row[NOT_USABLE] if row[NOT_USABLE]
        else f"fewer than {MIN_TASKS} tasks" if row["tasks"] < MIN_TASKS
        else "undetermined"
    )  # fmt: skip
    return (
        row["attribute"], row["value"], row["judge"], row["tasks"], found, reason,
        row["delta_pass"], *_ends(passes), row["delta_runtime"], *_ends(runtime),
        row["delta_given"], *_ends(given),
        row["delta_yes_low"], row["delta_yes_high"], row["delta_fanout"], ratio,
    )  # fmt: skip


def _pattern(
    row: dict[str, Any],
    passes: Interval | None,
    runtime: Interval | None,
    given: Interval | None,
    ratio: float | None,
) -> str | None:
    uptake = row["delta_yes_low"] is not None and row["delta_yes_low"] > 0
    slower = ratio is not None and ratio > 1
    if _rises(passes) and uptake and ratio is not None and ratio < 1:
        return "targeted efficiency"
    if _falls(passes) and slower and (row["delta_fanout"] or 0) > 0:
        return "fanout tax"
    if _falls(passes) and uptake:
        return "uptake without success"
    if _rises(runtime) and _falls(given):
        return "completion with risk"
    return None


def _rises(interval: Interval | None) -> bool:
    return interval is not None and interval.low > 0


def _falls(interval: Interval | None) -> bool:
    return interval is not None and interval.high < 0


def _interval(row: dict[str, Any], what: str) -> Interval | None:
    """Student's; None for too few tasks."""
    tasks = row["tasks_given" if what == "given" else "tasks"]
    if tasks is None or tasks < MIN_TASKS or row[f"sd_{what}"] is None:
        return None
    se = row[f"sd_{what}"] / math.sqrt(tasks)
    return rate_interval(row[f"delta_{what}"], se, tasks - 1, lowest=-1.0)


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)

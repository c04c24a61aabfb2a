"""Rates, uses per pass, gains and process rates of conditions, with intervals over tasks."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from skilljuror.measures.stats.coverage import NO_VARIATION, ONE_TASK
from skilljuror.measures.stats.intervals import Interval
from skilljuror.measures.stats.paired import Arm, PairedDelta
from skilljuror.measures.stats.signs import sign_flip
from skilljuror.measures.stats.yields import (
    MIN_TASKS,
    MIN_TASKS_SKEWED,
    Sums,
    Yield,
    mean_rate,
    normalised_gain,
    per_pass,
    share,
)
from skilljuror.report.answers import Answers
from skilljuror.report.headline import OUTCOMES, outcome_trials
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import query

COSTS = {
    "agent_minutes": ("minutes", "minutes", "time"),
    "display_tokens": ("tokens", "display_tokens", "display tokens"),
    "cost_usd": ("USD", "cost_usd", "cost"),
}
"""Measures that are compared as ratios: unit, column of `trials`, resource of `efficiency`."""
SOURCE = "measure_values"
"""The question that gives the measures of both arms."""
YIELDS = (
    "condition", "measure", "unit", "tasks", "value", "value_reason", "low", "low_reason", "high",
)  # fmt: skip
GAINS = ("measure", "tasks", "value", "value_reason", "low", "low_reason", "high")
PROCESS_RATES = (
    "condition", "measure", "judge", "unit", "tasks", "value", "low", "low_reason", "high",
)  # fmt: skip
NO_INTERVAL_OF_CE = "no method holds 95 % where the overhead may be 0"
ONE_SIDED = "a single task holds all of one kind"
"""Why a rate has no interval: the jackknife cannot leave that task out."""
Ends = tuple[float | None, str | None, float | None]


def ends(interval: Interval | None, tasks: int) -> Ends:
    """Lower end, why there is none, upper end."""
    if interval is not None:
        return interval.low, None, interval.high
    reason = NO_VARIATION if tasks > 1 else ONE_TASK
    return None, reason if tasks else None, None


def difference(
    delta: PairedDelta,
) -> tuple[float | None, str | None, float | None, str | None, float | None]:
    """Difference of an outcome as a fraction, why there is none, and its `ends`."""
    low, low_reason, high = ends(delta.t, delta.tasks)
    if delta.refusal or delta.delta is None:
        return None, delta.refusal or None, None, low_reason, None
    within = [end if end is None else end / 100 for end in (low, high)]
    return delta.delta / 100, None, within[0], low_reason, within[1]


def flip_p(delta: PairedDelta) -> float | None:
    """p by sign flips over tasks, as in `study.contrasts`."""
    return sign_flip([value for _, value in delta.by_task]).p if delta.tasks else None


def largest_p(delta: PairedDelta) -> float | None:
    """The larger p of all trials and of those that are not contaminated: as the verdict, it must hold with
    and without them. None where the difference is not quoted."""
    both = () if delta.refusal else (delta, delta.clean)
    known = [flip_p(one) for one in both if one is not None]
    return max((p for p in known if p is not None), default=None)


def yields(answers: Answers) -> QueryResult:
    """Strict pass rate, pass@k and use per strict pass of each condition, with intervals over tasks."""
    rows: list[tuple[Any, ...]] = []
    used = {(row["condition"], row["resource"]): row for row in answers("efficiency").records()}
    sums, passes = task_sums(answers), task_passes(answers)
    for condition in answers("outcomes").records():
        name = condition["condition"]
        for what, tasks, least in _rates(passes[name]):
            chances = {task: (chance, 1.0) for task, chance in tasks.items()}
            made = share(chances) if least > MIN_TASKS else mean_rate(tasks)
            value = None if made.value is None else 100 * made.value
            short = None if tasks else "no task has so many trials"
            rows.append((name, what, "%", made.tasks, value, short, *few_ends(made, least, 100)))
        for metric, (unit, _, resource) in COSTS.items():
            reason = used[name, resource]["yield_reason"]
            made = (
                per_pass(sums[name, metric])
                if reason is None
                else Yield(None, None, len(passes[name]))
            )
            own = (None, None, None) if reason else ends(made.interval, made.tasks)
            what = f"{resource} per pass"
            rows.append((name, what, unit, made.tasks, made.value, reason, *own))
    known = {row[1] for row in rows if row[4] is not None}
    return QueryResult(YIELDS, [row for row in rows if row[1] in known])


def _rates(trials: Mapping[str, list[bool]]) -> list[tuple[str, dict[str, float], int]]:
    """Rates of passes: name, chance of each task, and the fewest tasks of an interval."""
    k = int(query("pass_at_k").params["k"] or 0)
    strict = {task: sum(own) / len(own) for task, own in trials.items()}
    any_of = {
        task: 1 - math.comb(len(own) - sum(own), k) / math.comb(len(own), k)
        for task, own in trials.items()
        if len(own) >= k
    }
    return [("strict pass rate", strict, MIN_TASKS), (f"pass@{k}", any_of, MIN_TASKS_SKEWED)]


def task_passes(answers: Answers) -> dict[str, dict[str, list[bool]]]:
    """Condition -> task with a verifier -> whether each planned trial passed."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in answers("trials").records():
        if row["strict"] is not None:
            found[row["condition"]][row["task"]].append(row["strict"])
    return found


def task_sums(answers: Answers) -> dict[tuple[str, str], dict[str, tuple[float, float]]]:
    """(condition, measure) -> task -> use and strict passes of all planned trials; without those that have
    a trial of unknown use."""
    found: dict[tuple[str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    unknown = set()
    for row in (one for one in answers("trials").records() if one["strict"] is not None):
        for metric, (_, column, _) in COSTS.items():
            cell = row["condition"], metric
            use, passes = found[cell].get(row["task"], (0.0, 0))
            found[cell][row["task"]] = use + (row[column] or 0), passes + row["strict"]
            if row[column] is None:
                unknown.add(cell)
    return {cell: sums for cell, sums in found.items() if cell not in unknown}


def few_ends(made: Yield, least: int = MIN_TASKS, scale: float = 1.0) -> Ends:
    """`ends`, but none over fewer tasks than `least`."""
    if made.value is None:
        return None, None, None
    if made.tasks < least:
        return None, f"fewer than {least} tasks", None
    found = made.interval
    if found is not None:
        return scale * found.low, None, scale * found.high
    return None, ONE_SIDED if 0 < made.value < 1 else NO_VARIATION, None


def gains(answers: Answers) -> QueryResult:
    """Normalised gains, token overhead and cost efficiency of the contrast, with intervals over tasks."""
    found = answers.single("gain")
    if not found:
        return QueryResult(GAINS, [])
    rows = []
    for outcome, name in OUTCOMES.items():
        if outcome == "checks":  # the question gain has it, with level=check
            continue
        made = normalised_gain(*_means(answers, outcome))
        reason = None if made.value is not None else "nothing was left to gain"
        rows.append((f"normalised gain in {name}", made.tasks, made.value, reason, *few_ends(made)))
    made = _overhead(answers)
    unknown = None if made.value is not None else "no task has tokens in both arms"
    own = few_ends(made, MIN_TASKS_SKEWED)
    rows.append(("token overhead", made.tasks, made.value, unknown, *own))
    value, reason = found["cost_efficiency"], found["cost_efficiency_reason"]
    own = (None, None if value is None else NO_INTERVAL_OF_CE, None)
    rows.append(("cost efficiency", found["tasks"], value, reason, *own))
    return QueryResult(GAINS, rows)


def _means(answers: Answers, outcome: str) -> tuple[dict[str, float], dict[str, float]]:
    """Task -> mean outcome over planned trials, of control and treatment, of the tasks of both."""
    setup = answers.single("setup")
    arms: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in outcome_trials(answers, outcome, setup["treatment"], setup["control"]):
        arms[trial.condition][trial.task].append(trial.value or 0.0)
    control, treatment = arms[setup["control"]], arms[setup["treatment"]]
    both = control.keys() & treatment.keys()
    before, after = ({task: fmean(arm[task]) for task in both} for arm in (control, treatment))
    return before, after


def _overhead(answers: Answers) -> Yield:
    """(treatment - control) / control in mean total tokens, over the tasks with tokens in both arms."""
    treatment, control = measure_arms(answers, "total_tokens")
    both = treatment.keys() & control.keys()
    after, before = (
        {task: (fmean(arm[task]), 1.0) for task in both} for arm in (treatment, control)
    )
    made = per_pass(after, before)
    if made.value is None:
        return made
    found = made.interval
    interval = found and replace(found, low=found.low - 1, high=found.high - 1)
    return Yield(made.value - 1, interval, made.tasks)


def measure_arms(answers: Answers, metric: str, among: str = "") -> tuple[Arm, Arm]:
    """Values of a measure in usable trials per task, of (treatment, control); nulls are left out.
    With `among`, the measures with spaces between them, all of these are asked for once."""
    values: dict[bool, dict[str, list[float]]] = {True: defaultdict(list), False: defaultdict(list)}
    for row in answers(SOURCE, metrics=among or metric).records():
        if row["metric"] == metric and row["value"] is not None and row["unusable"] is None:
            values[row["treated"]][row["task"]].append(row["value"])
    return values[True], values[False]


def process_rates(answers: Answers) -> QueryResult:
    """The rates of process, timing and uptake of each condition, with intervals over tasks."""
    cells: dict[tuple[str, str, str | None], dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in answers("task_rates").records():
        cell = row["condition"], row["measure"], row["judge"]
        cells[cell][row["task"]] = row["part"], row["whole"]
    rows = []
    for cell, sums in cells.items():
        mean = cell[1].startswith("yes uses")
        unit, scale, made = ("uses", 1.0, _mean(sums)) if mean else ("%", 100.0, share(sums))
        value = None if made.value is None else scale * made.value
        rows.append((*cell, unit, made.tasks, value, *few_ends(made, scale=scale)))
    return QueryResult(PROCESS_RATES, rows)


def _mean(sums: Sums) -> Yield:
    """Mean over trials; 0 has no interval."""
    made = per_pass(sums)
    return made if made.value is not None else Yield(0.0, None, made.tasks)

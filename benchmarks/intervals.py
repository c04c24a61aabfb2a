"""How often the 95 % intervals that are printed hold the truth, over made-up studies.

    python -m benchmarks.intervals [--repeats N]

Two arms with the same tasks. Each study has new ones, so the truth is the mean over all tasks.
*no effect*: equal chances of a pass; logistic with sd 2 between tasks. *mixed*: the treatment changes a task's
logit by 0.35 on average, sd 0.7. *rare jumps*: it raises one task in ten from a chance of 0.1 to 0.9 and
leaves the others. Cost of a trial: lognormal, sd 0.8 between tasks, 0.5 between trials; with an effect, the
treatment costs a tenth more, sd 0.2 between tasks. Uses: two a trial, and with an effect three; each turns
out yes by a chance of its task, logistic with sd 1. A trial that costs more than twice the usual of its task is
cut off. Rates of process: *common* and *rare* flags of trials (logistic around 0 and 2.5, sd 1 and 1.5),
*thirds*: Poisson steps, one of which is early by a chance of its task (around 0.2, sd 0.8). *Gate power*: tasks
stand for sources, with 10 to 60 changes each, flagged by a chance of the source (around 0.95, sd 1). A study
whose interval is not printed (no variation between tasks, or too few of them) is not counted; the last column
says how many.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import numpy as np

from skilljuror.measures.paired import TrialValue, arm_rate, paired_delta
from skilljuror.measures.prediction_powered import JudgedItem, judged_difference, judged_rate
from skilljuror.measures.rates import (
    MIN_TASKS,
    MIN_TASKS_SKEWED,
    Estimate,
    Interval,
    Sums,
    geometric_ratio,
    normalised_gain,
    per_pass,
    share,
)

SIZES = ((8, 5), (10, 3), (30, 5), (84, 5))
"""(tasks, trials of each)."""
Draw = np.random.Generator
Values = np.ndarray
Chances = Callable[[Draw, int], tuple[Values, Values]]
"""Draws tasks: their chances of a pass under control and treatment."""


def no_effect(draw: Draw, tasks: int) -> tuple[Values, Values]:
    """Tasks of every difficulty, no effect."""
    chance = _logistic(2 * draw.normal(size=tasks))
    return chance, chance


def mixed(draw: Draw, tasks: int) -> tuple[Values, Values]:
    """Tasks of every difficulty; the effect varies between them."""
    logit, effect = 2 * draw.normal(size=tasks), 0.35 + 0.7 * draw.normal(size=tasks)
    return _logistic(logit), _logistic(logit + effect)


def rare_jumps(draw: Draw, tasks: int) -> tuple[Values, Values]:
    """The treatment makes one task in ten, and no other."""
    before = np.where(draw.random(tasks) < 0.5, 0.1, 0.9)
    jumps = (draw.random(tasks) < 0.2) & (before < 0.5)
    return before, np.where(jumps, 0.9, before)


def _logistic(logit: Values) -> Values:
    return 1 / (1 + np.exp(-logit))


@dataclass(frozen=True)
class Arm:
    """Expected values of the tasks of one arm."""

    passes: Values
    """Chance of a strict pass."""
    costs: Values
    """Median cost of a trial."""
    yes: Values
    """Chance that a use turns out yes."""
    uses: int
    """Uses of a trial."""


def arms(chances: Chances, draw: Draw, tasks: int) -> tuple[Arm, Arm]:
    """Draw tasks under control and treatment."""
    before, after = chances(draw, tasks)
    level, leaning = 0.8 * draw.normal(size=tasks), draw.normal(size=tasks)
    more, keener, uses = 0.1 + 0.2 * draw.normal(size=tasks), 0.5 * draw.normal(size=tasks), 3
    if chances is no_effect:
        more, keener, uses = np.zeros(tasks), np.zeros(tasks), 2
    return (
        Arm(before, np.exp(level), _logistic(0.5 + leaning), 2),
        Arm(after, np.exp(level + more), _logistic(0.5 + leaning + keener), uses),
    )


@dataclass(frozen=True)
class Rates:
    """Expected rates of process, of the tasks of one arm."""

    common: Values
    """Chance of a flag."""
    rare: Values
    """Chance of a flag that most trials have."""
    steps: Values
    """Skill steps of a trial."""
    early: Values
    """Chance that such a step is early."""
    flagged: Values
    """Chance that a change planted in a source is flagged."""


def rates(draw: Draw, tasks: int) -> Rates:
    """Draw the rates of tasks."""
    normal = draw.normal(size=(5, tasks))
    return Rates(
        _logistic(normal[0]),
        _logistic(2.5 + 1.5 * normal[1]),
        np.exp(1.2 + 0.6 * normal[2]),
        _logistic(-1.6 + 0.8 * normal[3]),
        _logistic(3 + normal[4]),
    )


def truths(control: Arm, treatment: Arm) -> dict[str, float]:
    """The truth behind every interval, from very many tasks."""
    cost = [arm.costs.mean() / arm.passes.mean() for arm in (control, treatment)]
    return {
        "difference": 100 * float((treatment.passes - control.passes).mean()),
        "rate": float(treatment.passes.mean()),
        "ratio": math.exp(float(np.log(treatment.costs / control.costs).mean())),
        "per pass": float(cost[1]) * math.exp(0.5**2 / 2),
        "per-pass ratio": float(cost[1] / cost[0]),
        "uptake": float(treatment.yes.mean()),
        "uptake difference": float((treatment.yes - control.yes).mean()),
        "pass@3": float((1 - (1 - treatment.passes) ** 3).mean()),
        "gain": float((treatment.passes - control.passes).mean() / (1 - control.passes.mean())),
        "overhead": float(treatment.costs.mean() / control.costs.mean() - 1),
        "yes uses": treatment.uses * float(treatment.yes.mean()),
    }


def truths_of_rates(one: Rates) -> dict[str, float]:
    """The truth behind the rates of process."""
    return {
        "common rate": float(one.common.mean()),
        "rare rate": float(one.rare.mean()),
        "thirds": float((one.steps * one.early).sum() / one.steps.sum()),
        "gate power": float(one.flagged.mean()),
    }


def few(made: Estimate, least: int) -> Interval | None:
    """As printed: none over few tasks."""
    return made.interval if made.tasks >= least else None


def process(one: Rates, trials: int, draw: Draw) -> Iterator[tuple[str, str, Interval | None]]:
    """Make the counts of process, and yield what is printed about them."""
    whole = np.full(len(one.common), trials)
    steps, changes = draw.poisson(one.steps * trials), draw.integers(10, 60, size=len(whole))
    for what, count, chance in (
        ("common rate", whole, one.common),
        ("rare rate", whole, one.rare),
        ("thirds", steps, one.early),
        ("gate power", changes, one.flagged),
    ):
        parts = draw.binomial(count, chance).tolist()
        sums: Sums = {
            str(place): pair for place, pair in enumerate(zip(parts, count.tolist(), strict=True))
        }
        yield what, "jackknife of the log odds", few(share(sums), MIN_TASKS)


def intervals(
    control: Arm, treatment: Arm, trials: int, draw: Draw
) -> Iterator[tuple[str, str, Interval | None]]:
    """Make a study, and yield what is printed about it: truth, method, interval."""
    names = [str(place) for place in range(len(control.passes))]
    passes, costs, judged = [], [], []
    for arm in (control, treatment):
        size = (len(names), trials)
        passes.append(draw.random(size) < arm.passes[:, None])
        costs.append(arm.costs[:, None] * np.exp(0.5 * draw.normal(size=size)))
        yes = draw.random((len(names), trials * arm.uses)) < arm.yes[:, None]
        judged.append([
            JudgedItem(name, answer, stands_for=count)
            for name, hits in zip(names, yes.sum(axis=1).tolist(), strict=True)
            for answer, count in (("yes", hits), ("no", trials * arm.uses - hits))
        ])  # fmt: skip
    strict = [dict(zip(names, one.astype(float).tolist(), strict=True)) for one in passes]
    money = [dict(zip(names, one.tolist(), strict=True)) for one in costs]
    sums = [
        {name: (math.fsum(money[n][name]), int(sum(strict[n][name]))) for name in names}
        for n in range(2)
    ]
    delta = paired_delta(*strict)
    rows = [
        TrialValue(task, "b", value, True, False) for task in names for value in strict[1][task]
    ]
    yield "difference", "Student's t: the headline", delta.t
    yield "difference", "normal: as papers print it", delta.z
    yield "rate", "Student's t: study.rate", arm_rate(rows, "b").interval
    means = [{name: fmean(own) for name, own in one.items()} for one in strict]
    yield from of_benchmarks(strict, means, money)
    yield "ratio", "Student's t of logs", geometric_ratio(*money).interval
    yield "per pass", "jackknife of the log", per_pass(sums[1]).interval
    yield "per-pass ratio", "jackknife of the log", per_pass(sums[1], sums[0]).interval
    taken_up = {
        item.cluster: (float(item.stands_for), float(trials))
        for item in judged[1]
        if item.judge == "yes"
    }
    yield "yes uses", "jackknife of the log", few(per_pass(taken_up), MIN_TASKS)
    yield "uptake", "jackknife, judge alone", judged_rate(judged[1]).interval
    yield "uptake difference", "jackknife, judge alone", judged_difference(*judged).interval


Outcomes = Sequence[dict[str, list[float]]]
"""Outcomes by task, of control and treatment."""


def of_benchmarks(
    strict: Outcomes, means: Sequence[dict[str, float]], money: Outcomes
) -> Iterator[tuple[str, str, Interval | None]]:
    """The numbers that benchmarks print: pass@3, normalised gain, overhead."""
    chances = {
        name: (1 - math.comb(own.count(0.0), 3) / math.comb(len(own), 3), 1.0)
        for name, own in strict[1].items()
    }
    yield "pass@3", "jackknife of the log odds", few(share(chances), MIN_TASKS_SKEWED)
    yield "gain", "jackknife", few(normalised_gain(*means), MIN_TASKS)
    spent = [{name: (fmean(own), 1.0) for name, own in one.items()} for one in money]
    made = few(per_pass(spent[1], spent[0]), MIN_TASKS_SKEWED)
    one_less = made and Interval(made.low - 1, made.high - 1, made.level, made.method)
    yield "overhead", "jackknife of the log", one_less


def coverage(
    chances: Chances, tasks: int, trials: int, repeats: int
) -> dict[tuple[str, str], list[bool]]:
    """(truth, method) -> whether it held the truth, study by study; those without one left out."""
    draw = np.random.default_rng(tasks)
    many = arms(chances, draw, 1_000_000)
    truth = truths(*many) | truths_of_rates(rates(draw, 1_000_000))
    held: dict[tuple[str, str], list[bool]] = {}
    for _ in range(repeats):
        study = arms(chances, draw, tasks)
        for what, method, made in chain(
            intervals(*study, trials, draw),
            process(rates(draw, tasks), trials, draw),
        ):
            found = [made.low <= truth[what] <= made.high] if made else []
            held.setdefault((what, method), []).extend(found)
    return held


def main() -> None:
    """Print a row for every kind of effect and interval, a column for every size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000, help="studies of each size")
    repeats = parser.parse_args().repeats
    heads = "".join(f"{f'{tasks} x {trials}':>10}" for tasks, trials in SIZES)
    print(f"{'effect':<11} {'interval':<46} {heads}   without an interval")
    for chances in (no_effect, mixed, rare_jumps):
        found = [coverage(chances, *size, repeats) for size in SIZES]
        for what in found[0]:
            shares = "".join(
                f"{100 * fmean(one[what]):>10.1f}" if one[what] else f"{'-':>10}" for one in found
            )
            lacking: Sequence[int] = [repeats - len(one[what]) for one in found]
            kind = chances.__name__.replace("_", " ")
            told = ", ".join(map(str, lacking)) if any(lacking) else ""
            print(f"{kind:<11} {': '.join(what):<46} {shares}   {told}", flush=True)


if __name__ == "__main__":
    main()

"""How often the 95 % intervals that are printed hold the truth, over made-up studies.

    python -m benchmarks.intervals [--repeats N]

A task's chance of a pass is logistic with sd 2 between tasks; the treatment changes its logit by 0.35
on average, sd 0.7. *Rare jumps*: the treatment raises one task in ten from a chance of 0.1 to 0.9 and
leaves the others. Tasks are drawn anew each time, so the truth is the mean over all tasks. A study
without variation between tasks has no interval and is not counted; the last column says how many.
"""

import argparse
from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from skilljuror.stats.intervals import Interval, percentile_bootstrap, studentized_bootstrap
from skilljuror.stats.paired import paired_delta

SIZES = ((8, 5), (10, 3), (30, 5), (84, 5))
"""(tasks, trials of each)."""
Chances = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
"""Draws tasks: their chances of a pass under control and treatment."""


def mixed(draw: np.random.Generator, tasks: int) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of every difficulty; the effect varies between them."""
    logit, effect = 2 * draw.normal(size=tasks), 0.35 + 0.7 * draw.normal(size=tasks)
    return 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(-logit - effect))


def rare_jumps(draw: np.random.Generator, tasks: int) -> tuple[np.ndarray, np.ndarray]:
    """The treatment makes one task in ten, and no other."""
    before = np.where(draw.random(tasks) < 0.5, 0.1, 0.9)
    jumps = (draw.random(tasks) < 0.2) & (before < 0.5)
    return before, np.where(jumps, 0.9, before)


def wald(rates: Sequence[float], trials: int) -> Interval | None:
    """As `strict_half_width` of the question `outcomes`: null where it would have no width."""
    rate, planned = fmean(rates), len(rates) * trials
    reach = 1.959964 * (rate * (1 - rate) / planned) ** 0.5
    return Interval(rate - reach, rate + reach, 0.95, "Wald") if reach else None


def intervals(
    before: Sequence[float], after: Sequence[float], trials: int, seed: int
) -> dict[str, Interval | None]:
    """What is printed about one study."""
    names = [str(place) for place in range(len(before))]
    control, treatment = (
        {name: [rate] for name, rate in zip(names, rates, strict=True)} for rates in (before, after)
    )
    delta = paired_delta(control, treatment, unit="share")
    deltas = [value for _, value in delta.by_task]
    boot = studentized_bootstrap(deltas, seed=seed)
    rate = percentile_bootstrap(after, seed=seed)
    return {
        "difference: Student's t (headline)": delta.t,
        "difference: studentized bootstrap": boot and boot.interval,
        "difference: normal": delta.z,
        "rate: percentile bootstrap (study.rate)": rate and rate.interval,
        "rate: Wald (outcomes)": wald(after, trials),
    }


def coverage(chances: Chances, tasks: int, trials: int, repeats: int) -> dict[str, list[bool]]:
    """Interval -> whether it held the truth, study by study; those without one left out."""
    draw = np.random.default_rng(tasks)
    before, after = chances(draw, 1_000_000)
    truth = {"rate": float(after.mean()), "difference": float((after - before).mean())}
    held: dict[str, list[bool]] = {}
    for seed in range(repeats):
        passes = [draw.binomial(trials, chance) for chance in chances(draw, tasks)]
        one, other = ((counts / trials).tolist() for counts in passes)
        for name, made in intervals(one, other, trials, seed).items():
            aim = truth[name.split(":")[0]]
            held.setdefault(name, []).extend([made.low <= aim <= made.high] if made else [])
    return held


def main() -> None:
    """Print a row for every size, kind of effect and interval."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000, help="studies of each size")
    repeats = parser.parse_args().repeats
    print(
        f"{'tasks x trials':<15} {'effect':<11} {'interval':<41} {'holds the truth':>15}  no interval"
    )
    for chances in (mixed, rare_jumps):
        for tasks, trials in SIZES:
            for name, held in coverage(chances, tasks, trials, repeats).items():
                size, kind = f"{tasks} x {trials}", chances.__name__.replace("_", " ")
                share, none = f"{100 * fmean(held):.1f} %", repeats - len(held)
                print(
                    f"{size:<15} {kind:<11} {name:<41} {share:>15}  {none} of {repeats}", flush=True
                )


if __name__ == "__main__":
    main()

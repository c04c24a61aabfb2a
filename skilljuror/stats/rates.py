"""Rates of one condition: intervals, pass@k, normalised gain (measures §1.6, §1.7, §1.10)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from skilljuror.stats.paired import Arm, Interval, z_quantile


@dataclass(frozen=True)
class Rate:
    """A share of trials with its interval."""

    rate: float
    """Passes / trials; with fractional rewards the mean reward."""
    trials: int
    """Trials in the frame."""
    interval: Interval
    """The interval, 0 to 1."""
    degenerate: bool
    """True where the rate is 0 or 1 and a Wald interval has no width: look at Wilson's."""


def wald(rate: float, trials: int, level: float = 0.95) -> Rate | None:
    """rate +- z sqrt(p(1-p)/n); it ignores that trials of a task belong together (A-34).

    None without a trial.
    """
    if trials < 1:
        return None
    reach = z_quantile(level) * math.sqrt(rate * (1 - rate) / trials)
    return Rate(rate, trials, Interval(rate - reach, rate + reach, level, "Wald"), rate in {0, 1})


def wilson(rate: float, trials: int, level: float = 0.95) -> Rate | None:
    """Wilson's score interval, which has width at 0 and 1 too. None without a trial."""
    if trials < 1:
        return None
    square = z_quantile(level) ** 2
    centre = (rate + square / (2 * trials)) / (1 + square / trials)
    spread = math.sqrt(rate * (1 - rate) / trials + square / (4 * trials**2))
    reach = math.sqrt(square) * spread / (1 + square / trials)
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return Rate(rate, trials, Interval(low, high, level, "Wilson"), rate in {0, 1})


def pass_at_k(trials: int, passes: int, k: int) -> float | None:
    """1 - C(n-c, k) / C(n, k); None when fewer than k trials were run (measures §1.6)."""
    if trials < k:
        return None
    return 1 - math.comb(trials - passes, k) / math.comb(trials, k)


@dataclass(frozen=True)
class EarlyStop:
    """Tasks solved by any of up to k trials, where a pass ends the task."""

    rate: float | None
    """Solved / tasks; None without a task."""
    solved: tuple[str, ...]
    """Tasks with a pass."""
    incomplete: tuple[str, ...]
    """Tasks without a pass and with fewer than k trials: counted as not solved."""
    k: int
    """Most trials of a task."""
    method: str = "any pass among up to k trials"
    """Name of the method."""


def solved_early_stop(tasks: Iterable[tuple[str, Sequence[bool]]], k: int) -> EarlyStop:
    """The early-stopping rule; never mixed with `pass_at_k` (measures §1.6, A-36)."""
    outcomes = {task: tuple(passes)[:k] for task, passes in tasks}
    solved = tuple(sorted(task for task, passes in outcomes.items() if any(passes)))
    short = (task for task, passes in outcomes.items() if not any(passes) and len(passes) < k)
    rate = len(solved) / len(outcomes) if outcomes else None
    return EarlyStop(rate, solved, tuple(sorted(short)), k)


def normalised_gain(vanilla: float, skill: float) -> float | None:
    """(skill - vanilla) / (1 - vanilla); None when there was nothing left to gain (§1.7)."""
    if vanilla == 1:
        return None
    return (skill - vanilla) / (1 - vanilla)


def mean_gain(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Mean of g over configurations, never g of their means; None where any g is (§1.7)."""
    gains = [normalised_gain(vanilla, skill) for vanilla, skill in pairs]
    known = [gain for gain in gains if gain is not None]
    return sum(known) / len(known) if known and len(known) == len(gains) else None


@dataclass(frozen=True)
class ArmRate:
    """The mean outcome of one condition, both ways (A-10)."""

    macro: float | None
    """Mean over tasks of the tasks' means: every task weighs the same."""
    micro: float | None
    """Mean over all trials; equal to macro when every task has the same number of trials."""
    tasks: int
    """Tasks with a trial."""
    trials: int
    """Trials of the frame."""
    method: str = "mean over tasks, mean over trials beside it"
    """Name of the method."""


def arm_rate(arm: Arm) -> ArmRate:
    """Strict, broad or mean-reward rate of a condition from the outcomes per task (§1.1 to §1.3).

    A planned trial without an outcome belongs into the arm as 0 where it is accepted as final.
    """
    outcomes = [outcome for outcome in arm.values() if outcome]
    trials = [value for outcome in outcomes for value in outcome]
    if not trials:
        return ArmRate(None, None, 0, 0)
    macro = fmean(fmean(outcome) for outcome in outcomes)
    return ArmRate(macro, fmean(trials), len(outcomes), len(trials))


def pass_given_runtime(trials: Iterable[tuple[bool, bool]]) -> float | None:
    """Share of (strict pass, runtime success) trials that passed among those that ran well.

    sum(pass AND runtime) / sum(runtime); None when none ran well (§1.5, A-06).
    """
    ran = [passed for passed, clean in trials if clean]
    return sum(ran) / len(ran) if ran else None

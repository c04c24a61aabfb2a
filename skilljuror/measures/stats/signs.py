"""Distribution-free tests: sign flips, and the exact sign test over tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skilljuror.base.errors import require

EXACT_TASKS = 16
"""Up to this number of nonzero deltas, all flips are enumerated (65,536)."""


@dataclass(frozen=True)
class SignTest:
    """A two-sided p value."""

    p: float
    """The p value."""
    tasks: int
    """Number of nonzero deltas."""
    method: str
    """exact or sampled, with the number of flips."""
    seed: int | None = None
    """Seed of the sampled flips."""


def sign_flip(deltas: Sequence[float], *, seed: int = 0, flips: int = 10_000) -> SignTest:
    """Return p of |sum| under random signs of the per-task deltas: exact for few tasks, else sampled.

    A sampled p counts the data as one flip and is never zero.
    """
    require("report", "a sign-flip test", "scipy")
    from scipy.stats import monte_carlo_test, permutation_test

    values = np.asarray([delta for delta in deltas if delta], dtype=float)
    if len(values) < 2:  # both signs of one delta give the same |sum|
        return SignTest(1.0, len(values), f"exact sign flip of {2 ** len(values)}")
    if len(values) <= EXACT_TASKS:
        patterns = 2 ** len(values)
        exact = permutation_test(
            (values,), _reach, permutation_type="samples", vectorized=True,
            n_resamples=patterns, alternative="greater",
        )  # fmt: skip
        return SignTest(float(exact.pvalue), len(values), f"exact sign flip of {patterns}")
    signs = np.random.default_rng(seed)
    sampled = monte_carlo_test(
        values, lambda size: signs.choice([-1.0, 1.0], size=size) * values, _reach,
        vectorized=True, n_resamples=flips, alternative="greater",
    )  # fmt: skip
    return SignTest(float(sampled.pvalue), len(values), f"sampled sign flip of {flips}", seed)


def _reach(values: Any, axis: int) -> Any:
    return np.abs(values.sum(axis=axis))


def sign_test(wins: int, losses: int) -> SignTest:
    """Exact two-sided binomial test of wins against losses; ties are ignored (measures §1.8)."""
    require("report", "a sign test", "scipy")
    from scipy.stats import binomtest

    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return SignTest(p, wins + losses, "exact sign test")

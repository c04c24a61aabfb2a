"""Tests that need no distribution: sign flips, and the exact sign test over tasks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXACT_TASKS = 16
"""Up to this many deltas that are not zero, every flip is enumerated (65,536 of them)."""


@dataclass(frozen=True)
class SignTest:
    """A two-sided p value."""

    p: float
    """The p value."""
    tasks: int
    """Deltas that are not zero; zeros carry no sign."""
    method: str
    """exact or sampled, with the number of flips."""
    seed: int | None = None
    """Seed of the sampled flips."""


def sign_flip(deltas: Sequence[float], *, seed: int = 0, flips: int = 10_000) -> SignTest:
    """p of |mean| under random signs of the per-task deltas: exact when few, else sampled.

    A sampled p counts the data itself as one flip, so it is never zero.
    """
    values = np.asarray([delta for delta in deltas if delta], dtype=float)
    bar = abs(float(values.sum())) - 1e-9 * float(np.abs(values).sum())
    if len(values) <= EXACT_TASKS:
        sums = np.abs(_every_sign(len(values)) @ values)
        return SignTest(float((sums >= bar).mean()), len(values), f"exact sign flip of {len(sums)}")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(flips, len(values)))
    reached = int((np.abs(signs @ values) >= bar).sum())
    p = (reached + 1) / (flips + 1)
    return SignTest(p, len(values), f"sampled sign flip of {flips}", seed)


def _every_sign(count: int) -> NDArray[np.float64]:
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    return np.asarray(1 - 2 * bits, dtype=np.float64)


def sign_test(wins: int, losses: int) -> SignTest:
    """Exact two-sided binomial test of wins against losses; ties are left out (measures §1.8)."""
    decided, smaller = wins + losses, min(wins, losses)
    tail = sum(math.comb(decided, k) for k in range(smaller + 1))
    return SignTest(min(1.0, 2 * tail / 2**decided), decided, "exact sign test")

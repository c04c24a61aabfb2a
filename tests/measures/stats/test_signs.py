import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.measures.stats.signs import EXACT_TASKS, sign_flip, sign_test


def test_sign_test_of_the_paper():
    assert sign_test(23, 15).p == pytest.approx(0.2559, abs=5e-5)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_twice_the_smaller_tail(wins, losses):
    decided = wins + losses
    tail = sum(math.comb(decided, k) for k in range(min(wins, losses) + 1))
    assert sign_test(wins, losses).p == pytest.approx(min(1.0, 2 * tail / 2**decided))
    assert sign_test(wins, losses) == sign_test(losses, wins)


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), max_size=8))
def test_exact_flips_agree_with_enumeration(deltas):
    moved = [delta for delta in deltas if delta]
    signs = list(itertools.product((1, -1), repeat=len(moved)))
    reached = [
        abs(sum(s * d for s, d in zip(row, moved, strict=True))) >= abs(sum(moved)) for row in signs
    ]
    assert sign_flip(deltas).p == pytest.approx(sum(reached) / len(signs))


def test_fractions_that_differ_in_the_last_bit_still_tie():
    tenths = [0.1, 0.2, 0.3, -0.6]
    assert sign_flip(tenths).p == sign_flip([1, 2, 3, -6]).p == 1.0


def test_many_tasks_are_sampled_with_a_seed_and_never_give_zero():
    many = [1.0] * (EXACT_TASKS + 1)
    assert sign_flip(many, seed=1) == sign_flip(many, seed=1)
    assert sign_flip([1.0] * 60).p == pytest.approx(1 / 10_001)
    assert "sampled" in sign_flip(many).method


def test_sampled_is_close_to_the_exact_distribution():
    deltas = [3, -1, 2, 2, -1, 1, 4, -2, 1, 1, -3, 2, 1, -1, 5, -4, 2, 1, -2, 3]
    sums = Counter({0: 1})
    for delta in deltas:
        sums = sum((Counter({s + delta: n, s - delta: n}) for s, n in sums.items()), Counter())
    exact = sum(n for s, n in sums.items() if abs(s) >= abs(sum(deltas))) / 2 ** len(deltas)
    assert sign_flip(deltas).p == pytest.approx(exact, abs=0.015)


def test_zeros_carry_no_sign():
    assert sign_flip([0.0, 0.0, 1.0]).tasks == 1
    assert sign_flip([0.0, 0.0]).p == sign_flip([]).p == 1.0

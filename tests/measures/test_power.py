"""Tests over tasks, adjusted p values and power: against scipy, by hand, and how often they cry wolf."""

import itertools
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.intervals import no_effect
from skilljuror.measures.paired import equivalence, paired_delta
from skilljuror.measures.power import (
    EXACT_TASKS,
    anova,
    detectable_effect,
    false_discovery_rates,
    holm,
    sign_flip,
    sign_test,
    variance_parts,
)


@pytest.mark.parametrize(("tasks", "trials", "simulated"), [(20, 5, 18), (40, 5, 12), (84, 5, 8.3)])
def test_detectable_lift_is_near_what_simulation_gives(tasks, trials, simulated):
    """Logit difficulty with sd 2, effect 0.35 +- 0.7; the simulated table is in whole points."""
    difficulty, effect = np.random.default_rng(0).normal(size=(2, 20_000))
    before = 1 / (1 + np.exp(-2 * difficulty))
    after = 1 / (1 + np.exp(-(2 * difficulty + 0.35 + 0.7 * effect)))
    within = float(np.mean(before * (1 - before) + after * (1 - after))) / 2
    sd = (2 * within / trials + float(np.var(after - before))) ** 0.5
    made = detectable_effect(100 * sd, tasks)
    assert made.effect == pytest.approx(simulated, rel=0.2)


def test_one_task_detects_nothing():
    assert detectable_effect(1.0, 1).effect is None


def arms(deltas):
    return {str(i): [0.0] for i, _ in enumerate(deltas)}, {
        str(i): [d] for i, d in enumerate(deltas)
    }


@pytest.mark.parametrize(
    ("deltas", "verdict"),
    [
        ([0.01, -0.01, 0.0, 0.01, -0.01], "equivalent"),
        ([0.5, 0.6, 0.4, 0.5, 0.5], "better"),
        ([-0.5, -0.6, -0.4, -0.5, -0.5], "worse"),
        ([0.5, -0.6, 0.9, -0.5, 0.1], "inconclusive"),
        ([0.5], "undetermined"),
        ([0.0, 0.0, 0.0], "undetermined"),
        ([1.0 - 0.8, 0.2 - 0.0, 0.4 - 0.2], "undetermined"),
    ],
)
def test_equivalence_verdicts(deltas, verdict):
    assert equivalence(paired_delta(*arms(deltas)), margin=5.0).verdict == verdict


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))


def test_variance_parts_by_hand():
    """Deltas 1 and 0; s² of 0.5 in every arm with a mixed result."""
    found = variance_parts({"a": [0, 0], "b": [1, 0]}, {"a": [1, 1], "b": [0, 1]}, 100.0)
    assert found is not None
    assert found.within == pytest.approx(10_000 * (0 + 0.5 + 0 + 0.5) / 2)
    assert found.between == pytest.approx(10_000 * (0.5 - (0 + 0.25 + 0 + 0.25) / 2))
    assert found.sd(2) == pytest.approx(100 * 0.5**0.5)  # as observed: two trials
    assert found.sd(8) == pytest.approx(100 * (0.25 + 0.5 / 8) ** 0.5)


def test_the_pilots_own_number_of_trials_gives_what_was_observed():
    """Less spread between tasks than their trials explain: nothing is left between tasks."""
    found = variance_parts({"a": [1, 0], "b": [0, 1]}, {"a": [0, 1], "b": [1, 1]})
    assert found is not None
    assert (found.between, found.observed) == (0, 0.125)
    assert found.sd(2) == pytest.approx(0.125**0.5)
    assert found.sd(8) == pytest.approx(0.125**0.5 / 2)


@pytest.mark.parametrize(
    ("control", "treatment"),
    [
        ({"a": [0, 1]}, {"a": [0, 1]}),
        ({"a": [0, 1], "b": [1]}, {"a": [0, 1], "b": [1, 1]}),
        ({"a": [0, 1], "b": [1, 1]}, {"a": [0, 1], "c": [1, 1]}),
    ],
)
def test_one_task_or_one_trial_parts_no_variance(control, treatment):
    assert variance_parts(control, treatment) is None


def test_sign_test_of_the_paper():
    assert sign_test(23, 15).p == pytest.approx(0.2559, abs=5e-5)


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), max_size=8))
def test_exact_flips_agree_with_enumeration(deltas):
    moved = [delta for delta in deltas if delta]
    signs = list(itertools.product((1, -1), repeat=len(moved)))
    reached = [
        abs(sum(s * d for s, d in zip(row, moved, strict=True))) >= abs(sum(moved)) for row in signs
    ]
    assert sign_flip(deltas).p == pytest.approx(sum(reached) / len(signs))


def test_many_tasks_are_sampled_with_a_seed_and_never_give_zero():
    many = [1.0] * (EXACT_TASKS + 1)
    assert sign_flip(many, seed=1) == sign_flip(many, seed=1)
    assert sign_flip([1.0] * 60).p == pytest.approx(1 / 10_001)
    assert "sampled" in sign_flip(many).method


def summed(values):
    return len(values), fmean(values), stdev(values) if len(values) > 1 else 0.0


@pytest.mark.parametrize(
    "groups", [[[1, 2, 4], [0, 3]], [[1, 2, 4], [0, 3], [9]], [[0, 1], [0, 1]]]
)
def test_it_is_that_of_scipy(groups):
    from scipy.stats import f_oneway

    assert anova(list(map(summed, groups))) == pytest.approx(tuple(f_oneway(*groups)))


@pytest.mark.parametrize("below", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("above", [1, 2, 5, 30])
def test_its_p_value_is_that_of_scipy_far_out(above, below):
    """Groups of which one alone varies, with the F statistic that scipy is asked about."""
    from scipy.stats import f

    for shift in (0.01, 0.3, 1.0, 4.0):
        groups = [(1, 0.0, 0.0)] * above + [(below + 1, shift, 1.0)]
        ratio, p = anova(groups) or (0.0, 1.0)
        assert p == pytest.approx(f.sf(ratio, above, below), rel=1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_that_of_scipy(wins, losses):
    from scipy.stats import binomtest

    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses).p == pytest.approx(expected)


@given(st.lists(st.none() | st.floats(0, 1), min_size=1))
def test_false_discovery_rates_are_those_of_scipy(p_values):
    from scipy.stats import false_discovery_control

    rates = false_discovery_rates(p_values)
    assert [rate is None for rate in rates] == [p is None for p in p_values]
    expected = false_discovery_control([p for p in p_values if p is not None])
    assert [rate for rate in rates if rate is not None] == pytest.approx([*expected])


@pytest.mark.parametrize("groups", [[], [[1, 2]], [[1], [2]], [[1, 1], [2, 2]]])
def test_what_cannot_be_told_apart_is_none(groups):
    assert anova(list(map(summed, groups))) is None


@pytest.mark.slow
def test_without_an_effect_it_is_below_5_percent_in_at_most_7_of_100_studies():
    """Three kinds of eight tasks, five trials each; binomial error 1.1 points."""
    draw, below = np.random.default_rng(3), []
    for _ in range(400):
        before, after = no_effect(draw, 24)
        deltas = (draw.binomial(5, after) - draw.binomial(5, before)) / 5
        found = anova([summed(deltas[part : part + 8].tolist()) for part in (0, 8, 16)])
        below.append(found is not None and found[1] < 0.05)
    assert 0.01 < fmean(below) < 0.075

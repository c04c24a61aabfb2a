from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.intervals import coverage, mixed
from skilljuror.stats.intervals import (
    percentile_bootstrap,
    studentized_bootstrap,
    t_interval,
    t_quantile,
    wilson_interval,
    z_interval,
)
from tests.support.published_figures import BOOTSTRAP, half_width

ONE_TASK = 100 / 187


@pytest.mark.parametrize(("solved", "low", "high"), BOOTSTRAP)
def test_published_percentile_bootstraps_within_one_task(solved, low, high):
    made = percentile_bootstrap([100.0] * solved + [0.0] * (187 - solved), seed=1)
    assert made is not None
    assert made.interval.low == pytest.approx(float(low), abs=ONE_TASK + 0.05)
    assert made.interval.high == pytest.approx(float(high), abs=ONE_TASK + 0.05)


def test_same_seed_same_interval():
    deltas = [1.0, 2.0, 4.0, -3.0]
    assert percentile_bootstrap(deltas, seed=3) == percentile_bootstrap(deltas, seed=3)
    assert percentile_bootstrap(deltas, seed=3) != percentile_bootstrap(deltas, seed=4)
    assert studentized_bootstrap(deltas, seed=3) == studentized_bootstrap(deltas, seed=3)


def test_studentized_agrees_with_student_on_symmetric_data():
    from scipy import stats

    deltas = list(stats.norm.ppf((np.arange(40) + 0.5) / 40))
    made = studentized_bootstrap(deltas, resamples=20_000)
    student = t_interval(0.0, float(np.std(deltas, ddof=1)) / 40**0.5, 39)
    assert made is not None
    assert student is not None
    assert half_width(made.interval) == pytest.approx(half_width(student), rel=0.03)


def test_studentized_leans_to_the_long_tail():
    made = studentized_bootstrap([0.0] * 8 + [1.0, 9.0])
    assert made is not None
    assert made.interval.high - made.estimate > made.estimate - made.interval.low


def test_resamples_without_spread_are_counted():
    made = studentized_bootstrap([0.0, 0.0, 1.0])
    assert made is not None
    share = made.unusable / made.resamples
    assert share == pytest.approx((8 + 1) / 27, abs=0.04)


@pytest.mark.parametrize("deltas", [[], [1.0], [2.0, 2.0, 2.0]])
def test_no_interval_without_spread(deltas):
    assert studentized_bootstrap(deltas) is None


@pytest.mark.parametrize("values", [[], [1.0]], ids=["none", "one"])
def test_one_task_has_no_percentile_interval(values):
    assert percentile_bootstrap(values) is None


def test_an_interval_that_nothing_is_known_of_is_none():
    assert z_interval(None, 1.0) is None
    assert z_interval(1.0, None) is None
    assert t_interval(1.0, 1.0, 0) is None


@given(st.integers(1, 400), st.data())
def test_wilsons_interval_is_the_formula(trials, data):
    """The roots of (share - p)^2 = z^2 p (1 - p) / n."""
    from scipy import stats

    passes = data.draw(st.integers(0, trials))
    made, share = wilson_interval(passes, trials), passes / trials
    assert made is not None
    square = stats.norm.ppf(0.975) ** 2 / trials
    for p in (made.low, made.high):
        assert (share - p) ** 2 == pytest.approx(square * p * (1 - p), abs=1e-12)
    assert 0 <= made.low <= share <= made.high <= 1


def test_a_share_without_a_trial_has_no_interval():
    assert wilson_interval(0, 0) is None


@pytest.mark.slow
def test_coverage_of_the_intervals_for_few_tasks():
    """The table of docs/formulas.md §8.3 at 8 tasks: Student covers, the others do not."""
    held = {name: fmean(each) for name, each in coverage(mixed, 8, 5, 1000).items()}
    student, studentized, normal, percentile, wald = held.values()
    assert student == pytest.approx(0.95, abs=0.02)
    assert 0.90 < studentized < student
    assert 0.88 < normal < 0.93
    assert 0.87 < percentile < 0.93
    assert 0.70 < wald < 0.82


LEVELS = [0.5, 0.51, 0.6, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.2, 0.025, 0.005]


@pytest.mark.parametrize("freedom", [*range(1, 41), 60, 99, 186, 187, 500, 999, 1000])
def test_quantiles_of_student_are_those_of_scipy(freedom):
    from scipy import stats

    expected = [float(stats.t.ppf(level, freedom)) for level in LEVELS]
    found = [t_quantile(level, freedom) for level in LEVELS]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("trials", [1, 2, 5, 38, 187, 1000])
def test_wilson_is_that_of_scipy(trials):
    from scipy import stats

    for passes in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        for level in (0.8, 0.95, 0.99):
            found = wilson_interval(passes, trials, level)
            ends = stats.binomtest(passes, trials).proportion_ci(level, method="wilson")
            assert found is not None
            assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-12)

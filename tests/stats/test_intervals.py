import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skilljuror.stats.intervals import (
    percentile_bootstrap,
    studentized_bootstrap,
    t_interval,
    wilson_interval,
    z_interval,
)
from tests.support.published_figures import BOOTSTRAP

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
    deltas = list(stats.norm.ppf((np.arange(40) + 0.5) / 40))
    made = studentized_bootstrap(deltas, resamples=20_000)
    student = t_interval(0.0, float(np.std(deltas, ddof=1)) / 40**0.5, 39)
    assert made is not None
    assert student is not None
    assert made.interval.halfwidth == pytest.approx(student.halfwidth, rel=0.03)


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
    """With ten tasks Student and bootstrap-t cover, the percentile interval does not."""
    rng = np.random.default_rng(7)
    hits = np.zeros(2)
    repeats = 1000
    for i in range(repeats):
        deltas = (rng.binomial(3, 0.55, 10) - rng.binomial(3, 0.45, 10)) / 3
        for j, make in enumerate((studentized_bootstrap, percentile_bootstrap)):
            made = make(deltas.tolist(), seed=i, resamples=500)
            hits[j] += made is None or made.interval.low <= 0.1 <= made.interval.high
    studentized, percentile = hits / repeats
    assert studentized > 0.92
    assert percentile < studentized

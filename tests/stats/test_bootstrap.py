import numpy as np
import pytest
from scipy import stats

from skilljuror.stats.bootstrap import percentile_interval, studentized_interval, task_bootstrap
from skilljuror.stats.paired import t_interval
from tests.support.published_figures import BOOTSTRAP

ONE_TASK = 100 / 187


@pytest.mark.parametrize(("solved", "low", "high"), BOOTSTRAP)
def test_published_percentile_intervals_within_one_task(solved, low, high):
    made = percentile_interval([100.0] * solved + [0.0] * (187 - solved), seed=1)
    assert made is not None
    assert made.interval.low == pytest.approx(float(low), abs=ONE_TASK + 0.05)
    assert made.interval.high == pytest.approx(float(high), abs=ONE_TASK + 0.05)


def test_same_seed_same_interval():
    deltas = [1.0, 2.0, 4.0, -3.0]
    assert percentile_interval(deltas, seed=3) == percentile_interval(deltas, seed=3)
    assert percentile_interval(deltas, seed=3) != percentile_interval(deltas, seed=4)
    assert studentized_interval(deltas, seed=3) == studentized_interval(deltas, seed=3)


def test_studentized_agrees_with_student_on_symmetric_data():
    deltas = list(stats.norm.ppf((np.arange(40) + 0.5) / 40))
    made = studentized_interval(deltas, resamples=20_000)
    student = t_interval(0.0, float(np.std(deltas, ddof=1)) / 40**0.5, 39)
    assert made is not None
    assert student is not None
    assert made.interval.halfwidth == pytest.approx(student.halfwidth, rel=0.03)


def test_studentized_leans_to_the_long_tail():
    made = studentized_interval([0.0] * 8 + [1.0, 9.0])
    assert made is not None
    assert made.interval.high - made.estimate > made.estimate - made.interval.low


def test_resamples_without_spread_are_counted():
    made = studentized_interval([0.0, 0.0, 1.0])
    assert made is not None
    share = made.unusable / made.resamples
    assert share == pytest.approx((8 + 1) / 27, abs=0.04)


@pytest.mark.parametrize("deltas", [[], [1.0], [2.0, 2.0, 2.0]])
def test_no_interval_without_spread(deltas):
    assert studentized_interval(deltas) is None


def test_ratio_of_sums_over_tasks():
    tasks = [(10.0, 1), (30.0, 3), (20.0, 2)]
    made = task_bootstrap(tasks, lambda drawn: sum(x for x, _ in drawn) / sum(n for _, n in drawn))
    assert made is not None
    assert (made.estimate, made.interval.low, made.interval.high) == pytest.approx((10, 10, 10))


def test_resamples_without_a_pass_are_left_out_and_counted():
    def per_pass(drawn):
        passes = sum(drawn)
        return len(drawn) / passes if passes else None

    made = task_bootstrap([0, 0, 1], per_pass)
    assert made is not None
    assert made.unusable / made.resamples == pytest.approx(8 / 27, abs=0.04)
    assert task_bootstrap([0, 0], per_pass) is None


@pytest.mark.slow
def test_coverage_of_the_intervals_for_few_tasks():
    """With ten tasks Student and bootstrap-t cover, the percentile interval does not."""
    rng = np.random.default_rng(7)
    hits = np.zeros(2)
    repeats = 1000
    for i in range(repeats):
        deltas = (rng.binomial(3, 0.55, 10) - rng.binomial(3, 0.45, 10)) / 3
        for j, make in enumerate((studentized_interval, percentile_interval)):
            made = make(deltas.tolist(), seed=i, resamples=500)
            hits[j] += made is None or made.interval.low <= 0.1 <= made.interval.high
    studentized, percentile = hits / repeats
    assert studentized > 0.92
    assert percentile < studentized

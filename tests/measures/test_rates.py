"""Intervals, rates and ratios: by hand, against scipy, and how often they hold the truth."""

import math
from statistics import fmean

import pytest

from benchmarks.intervals import SIZES, coverage, mixed, no_effect, rare_jumps
from skilljuror.measures.paired import paired_delta
from skilljuror.measures.rates import (
    jackknife,
    normalised_gain,
    per_pass,
    share,
    t_interval,
    t_quantile,
    wilson_interval,
    z_interval,
)
from tests.support.published_figures import BOOTSTRAP

ONE_TASK = 100 / 187


@pytest.mark.parametrize(("solved", "low", "high"), BOOTSTRAP)
def test_published_percentile_bootstraps(solved, low, high):
    """SG resamples its 187 tasks; Student's interval is the same within a task and a half."""
    share = solved / 187
    made = t_interval(100 * share, 100 * (share * (1 - share) / 186) ** 0.5, 186)
    assert made is not None
    assert made.low == pytest.approx(float(low), abs=1.5 * ONE_TASK)
    assert made.high == pytest.approx(float(high), abs=1.5 * ONE_TASK)


def test_an_interval_that_nothing_is_known_of_is_none():
    assert z_interval(None, 1.0) is None
    assert z_interval(1.0, None) is None
    assert t_interval(1.0, 1.0, 0) is None


@pytest.mark.slow
@pytest.mark.parametrize("chances", [no_effect, mixed, rare_jumps])
@pytest.mark.parametrize(("tasks", "trials"), SIZES[:3])
def test_every_interval_of_the_report_covers_the_truth(chances, tasks, trials):
    """Against gross failures; the table of docs/formulas.md §8.3 is made of 10,000 studies of each kind. Its
    lowest share is 91.7 %, which 400 studies miss by chance by 3 points and more once in a hundred."""
    for (what, method), held in coverage(chances, tasks, trials, 400).items():
        if held and "as papers print it" not in method:
            assert fmean(held) >= 0.88, what


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


TWO = {"a": (6.0, 2), "b": (2.0, 2)}


def test_two_tasks_by_hand():
    """8 / 4; without a 1, without b 3: se² = 1/2 · 2 · (log 3 / 2)²."""
    found = per_pass(TWO)
    reach = t_quantile(0.975, 1) * math.log(3) / 2
    assert found.value == pytest.approx(2.0)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((
        2 * math.exp(-reach),
        2 * math.exp(reach),
    ))


def test_a_ratio_is_paired_by_task():
    """Twice the use in every task: the ratio is certain, however the tasks differ."""
    twice = {task: (2 * use, passes) for task, (use, passes) in TWO.items()}
    found = per_pass(twice, TWO)
    assert found.value == pytest.approx(2.0)
    assert found.interval is None
    more = per_pass(twice | {"b": (8.0, 2)}, TWO)
    assert more.value == pytest.approx(2.5)
    assert more.interval is not None


@pytest.mark.parametrize(
    ("sums", "value"),
    [
        ({"a": (6.0, 2)}, 3.0),  # one task
        ({"a": (6.0, 2), "b": (2.0, 0)}, 4.0),  # all passes in one task
        ({"a": (0.3, 2), "b": (0.0, 2), "c": (0.0, 1)}, 0.06),  # all use in one task
        ({"a": (0.1, 1), "b": (0.1, 1), "c": (0.1, 1)}, 0.1),  # no spread
        ({"a": (6.0, 0)}, None),
        ({"a": (0.0, 2)}, None),
    ],
)
def test_without_an_interval(sums, value):
    found = per_pass(sums)
    assert found.interval is None
    assert found.value == (value and pytest.approx(value))


def test_a_share_by_hand():
    """3 / 4; without a the odds are 2, without b 4: se² = 1/2 · 2 · (log 2 / 2)²; whole: log 3."""
    found = share({"a": (2.0, 2.5), "b": (1.0, 1.5)})
    assert found.value == pytest.approx(0.75)
    reach = t_quantile(0.975, 1) * abs(math.log(4.0 / 2.0)) / 2
    assert found.interval is not None
    ends = [1 / (1 + math.exp(-(math.log(3) + sign * reach))) for sign in (-1, 1)]
    assert (found.interval.low, found.interval.high) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("tasks", "value"),
    [
        ({}, None),
        ({"a": (0.0, 0.0)}, None),
        ({"a": (0.0, 5.0), "b": (0.0, 5.0)}, 0.0),
        ({"a": (5.0, 5.0), "b": (5.0, 5.0)}, 1.0),
        ({"a": (5.0, 5.0), "b": (4.0, 5.0)}, 0.9),  # one task has all that failed
        ({"a": (2.0, 5.0), "b": (2.0, 5.0)}, 0.4),  # no spread
    ],
)
def test_a_share_without_an_interval(tasks, value):
    found = share(tasks)
    assert found.interval is None
    assert found.value == (value if value is None else pytest.approx(value))


def test_a_jackknife_of_a_mean_is_students_interval():
    values = [1.0, 4.0, 2.0, 8.0]
    made = jackknife([(value, 1.0) for value in values], lambda sums: sums[0] / sums[1]).interval
    delta = paired_delta(
        {task: [0.0] for task in "abcd"},
        dict(zip("abcd", ([v] for v in values), strict=True)),
        unit="x",
    )
    assert made is not None
    assert delta.t is not None
    assert (made.low, made.high) == pytest.approx((delta.t.low, delta.t.high))


def test_a_normalised_gain_is_that_of_the_formula():
    """From 0.25 to 0.5 of what was left: (0.5 - 0.25) / 0.75."""
    found = normalised_gain({"a": 0.0, "b": 0.5}, {"a": 0.5, "b": 0.5})
    assert found.value == pytest.approx(1 / 3)
    assert found.interval is not None
    assert normalised_gain({"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 1.0}).value is None
    assert normalised_gain({"a": 0.0, "b": 1.0}, {"a": 0.5, "b": 1.0}).interval is None
    assert normalised_gain({}, {}).value is None

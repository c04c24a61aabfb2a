import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.stats.survival import restricted_mean, survival


def test_by_hand():
    found = survival([(1, True), (2, False), (3, True), (4, True)], horizon=4)
    assert dict(found.curve) == pytest.approx({1: 0.75, 3: 0.375, 4: 0.0})
    assert (found.median, found.censored) == (3, 1)
    assert found.restricted_mean == pytest.approx(1 + 2 * 0.75 + 0.375)


def test_never_is_not_late():
    found = survival([(2, True), (9, False), (9, False)], horizon=9)
    assert found.median is None
    assert found.restricted_mean == pytest.approx(2 + 7 * 2 / 3)


def test_no_run():
    assert survival([], horizon=3).restricted_mean is None


runs = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1)


@given(runs)
def test_the_curve_is_the_product_over_event_times(found):
    """A run that ends at a time is still at risk then."""
    share, expected = 1.0, {}
    for time in sorted({time for time, happened in found if happened}):
        at_risk = sum(end >= time for end, _ in found)
        share *= 1 - found.count((time, True)) / at_risk
        expected[time] = share
    assert dict(survival(found, horizon=9).curve) == pytest.approx(expected)


def test_where_nobody_has_the_event_nothing_is_lost():
    found = survival([(2, False), (5, False)], horizon=4)
    assert (found.curve, found.median, found.restricted_mean) == ((), None, 4.0)


@given(st.lists(st.integers(1, 9), min_size=1))
def test_without_censoring_it_is_the_mean(times):
    found = survival([(time, True) for time in times], horizon=9)
    assert found.restricted_mean == pytest.approx(sum(times) / len(times))


def test_a_run_that_ended_without_the_event_never_has_it():
    """1 and nine that failed at once, horizon 10: 91 / 10. Censored at their ends, they would make it 1."""
    assert restricted_mean([1.0], [], 9, 10.0) == pytest.approx(9.1)
    quick = survival([(1.0, True), *[(0.5, False)] * 9], 10.0)
    assert quick.restricted_mean == pytest.approx(1.0)


def test_a_run_that_was_cut_off_is_censored():
    """Of three at risk one has it at 1; one is cut off at 2; the last of one at risk at 3."""
    found = restricted_mean([1.0, 3.0], [2.0], 0, 4.0)
    assert found == pytest.approx(1 + 2 * 2 / 3 + 0)
    assert restricted_mean([1.0, 3.0], [4.0], 0, 4.0) == pytest.approx((1 + 3 + 4) / 3)
    assert restricted_mean([], [2.0, 4.0], 0, 4.0) == 4.0


@given(runs)
def test_a_restricted_mean_is_that_of_the_curve(found):
    """Where the runs without the event last to the horizon, both are the same."""
    times = [float(time) for time, happened in found if happened]
    never = len(found) - len(times)
    whole = survival([*((time, True) for time in times), *[(9.0, False)] * never], horizon=9)
    assert restricted_mean(times, [], never, 9.0) == pytest.approx(whole.restricted_mean)

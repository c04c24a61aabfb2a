import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.stats.survival import survival


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

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

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
def test_agrees_with_scipy(found):
    happened = [time for time, event in found if event]
    if not happened:
        return
    data = stats.CensoredData(happened, right=[time for time, event in found if not event])
    other = stats.ecdf(data).sf
    mine = dict(survival(found, horizon=9).curve)
    for time, share in mine.items():
        assert share == pytest.approx(float(other.evaluate([time])[0]))


@given(st.lists(st.integers(1, 9), min_size=1))
def test_without_censoring_it_is_the_mean(times):
    found = survival([(time, True) for time in times], horizon=9)
    assert found.restricted_mean == pytest.approx(sum(times) / len(times))

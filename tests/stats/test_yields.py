import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.stats.yields import (
    Totals,
    cost_efficiency,
    impute_layout,
    token_overhead,
    yield_view,
)
from tests.support.published_figures import EFFICIENCY, IMPUTED, LAYOUT, YIELDS, ends, within


def test_the_three_views():
    view = yield_view([(1.0, True), (3.0, False), (2.0, False), (4.0, True)])
    assert (view.attempt, view.success, view.per_pass) == (2.5, 2.5, 5.0)
    assert view.reason is None


def test_zero_passes_leave_the_attempt_only():
    view = yield_view([(1.0, False)])
    assert (view.attempt, view.success, view.per_pass) == (1.0, None, None)
    assert view.reason == "zero_passes"


def test_a_missing_measurement_makes_a_lower_bound():
    view = yield_view([(2.0, True), (None, False)])
    assert (view.attempt, view.per_pass, view.lower_bound) == (2.0, None, 2.0)
    assert (view.coverage, view.reason) == (0.5, "incomplete_coverage")
    assert yield_view([(None, True)]).success is None


@pytest.mark.parametrize(("passes", "attempt", "success", "printed"), YIELDS)
def test_published_yields_by_interval(passes, attempt, success, printed):
    low, high = ends(attempt)
    y_low, y_high = ends(printed)
    assert low * 410 / passes <= y_high
    assert y_low <= high * 410 / passes
    won, lost = float(success), (float(attempt) * 410 - float(success) * passes) / (410 - passes)
    view = yield_view([(won, True)] * passes + [(lost, False)] * (410 - passes))
    assert view.attempt is not None
    assert view.success is not None
    assert within(view.attempt, attempt)
    assert within(view.success, success)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1))
def test_yield_is_attempt_times_trials_over_passes(trials):
    view = yield_view(trials)
    if view.per_pass is not None and view.attempt is not None:
        assert view.per_pass == pytest.approx(view.attempt * view.trials / view.passes)


def test_imputed_layout_row():
    sets = {name: Totals.from_yields(passes, means) for name, (passes, means, _) in LAYOUT.items()}
    made = impute_layout(**sets)
    passes, means, _ = IMPUTED
    assert (made.totals.passes, made.observed) == (passes, False)
    assert made.totals.per_pass is not None
    assert made.totals.per_pass["minutes"] == pytest.approx(float(means["minutes"]), abs=0.1)
    for name in ("tokens", "cost"):
        assert within(made.totals.per_pass[name], means[name])


def test_imputed_runtime_successes():
    sets = {name: Totals(passes, {"runtime": ok}) for name, (passes, _, ok) in LAYOUT.items()}
    assert impute_layout(**sets).totals.sums == {"runtime": IMPUTED[2]}


@pytest.mark.parametrize(("delta", "plus", "minus", "rho", "printed", "quadrant"), EFFICIENCY)
def test_published_cost_efficiency(delta, plus, minus, rho, printed, quadrant):
    made = cost_efficiency(float(delta) / 100, float(plus), float(minus))
    assert made.rho is not None
    assert made.value is not None
    assert 100 * made.rho == pytest.approx(float(rho), abs=0.9)
    assert made.value == pytest.approx(float(printed), rel=0.04, abs=0.005)
    assert made.quadrant == quadrant


@pytest.mark.parametrize(
    ("delta", "plus", "minus", "rho", "ce"),
    [
        (0.3, 507_000, 778_000, -0.34832904884318766, -0.8612546125461255),
        (-0.1, 236_000, 374_000, -0.3689839572192513, 0.2710144927536232),
        (0.1, 100, 100, 0.0, None),
        (0.1, 100, 0, None, None),
        (0.0, 200, 100, 1.0, None),
    ],
)
def test_overhead_and_efficiency_vectors(delta, plus, minus, rho, ce):
    assert token_overhead(plus, minus) == (rho and pytest.approx(rho))
    assert cost_efficiency(delta, plus, minus).value == (ce and pytest.approx(ce))

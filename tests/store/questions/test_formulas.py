"""Formulas that questions share are macros of the database: vectors, and what papers print."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.measures.rates import wilson_interval
from skilljuror.store import open_write
from skilljuror.store.connect import open_read
from tests.support.published_figures import EFFICIENCY, GAINS, MEAN_GAIN, ends, within


@pytest.fixture(scope="module")
def formula(tmp_path_factory):
    """Computes a formula of named numbers in an empty database."""
    path = tmp_path_factory.mktemp("formulas") / "study.duckdb"
    with open_write(path):
        pass
    with open_read(path) as reader:
        yield lambda text, **numbers: reader.rows(f"SELECT {text}", numbers).rows[0][0]


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (3, 0, 3, 0.0),
        (3, 1, 3, 1.0),
        (5, 1, 1, 0.2),
        (5, 1, 3, 0.6),
        (5, 3, 3, 1.0),
        (5, 5, 1, 1.0),
    ],
)
def test_pass_at_k(formula, n, c, k, expected):
    assert formula("pass_at_k($n, $c, $k)", n=n, c=c, k=k) == pytest.approx(expected)


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_pass(formula, n, data):
    from scipy import stats

    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    found = formula("pass_at_k($n, $c, $k)", n=n, c=c, k=k)
    assert found == pytest.approx(1 - stats.hypergeom(n, c, k).pmf(0))


def gain(formula, vanilla, skill):
    return formula("normalised_gain($v::DOUBLE, $s::DOUBLE)", v=vanilla, s=skill)


@pytest.mark.parametrize(
    ("vanilla", "skill", "expected"),
    [(0.515, 0.673, 0.3257731958762887), (0.5, 0.25, -0.5), (1.0, 1.0, None), (0.0, 0.3, 0.3)],
)
def test_normalised_gain(formula, vanilla, skill, expected):
    assert gain(formula, vanilla, skill) == (expected and pytest.approx(expected))


@pytest.mark.parametrize(("vanilla", "skill", "printed"), GAINS)
def test_published_gains_lie_in_the_interval_of_their_printed_inputs(
    formula, vanilla, skill, printed
):
    (v_low, v_high), (s_low, s_high) = ends(vanilla), ends(skill)
    low = gain(formula, v_high / 100, s_low / 100)
    high = gain(formula, v_low / 100, s_high / 100)
    g_low, g_high = ends(printed)
    assert 100 * low <= g_high
    assert g_low <= 100 * high


def test_a_group_is_the_mean_of_gains_not_the_gain_of_means(formula):
    gains = [gain(formula, float(v) / 100, float(s) / 100) for v, s, _ in GAINS]
    assert 100 * sum(gains) / len(gains) == pytest.approx(float(MEAN_GAIN), abs=0.15)
    assert not within(100 * gain(formula, 0.339, 0.505), MEAN_GAIN)


OVERHEAD = "token_overhead($minus::DOUBLE, $plus::DOUBLE)"
EFFICIENT = f"cost_efficiency($delta::DOUBLE, {OVERHEAD})"


@pytest.mark.parametrize(("delta", "plus", "minus", "rho", "printed", "quadrant"), EFFICIENCY)
def test_published_cost_efficiency(formula, delta, plus, minus, rho, printed, quadrant):
    numbers = {"plus": float(plus), "minus": float(minus)}
    overhead, gained = formula(OVERHEAD, **numbers), float(delta) / 100
    assert 100 * overhead == pytest.approx(float(rho), abs=0.9)
    found = formula(EFFICIENT, delta=gained, **numbers)
    assert found == pytest.approx(float(printed), rel=0.04, abs=0.005)
    assert formula("cost_quadrant($d::DOUBLE, $o::DOUBLE)", d=gained, o=overhead) == quadrant


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_fishers_p_is_that_of_the_library(formula, whole, before, data):
    from scipy import stats

    part, part_before = (data.draw(st.integers(0, most)) for most in (whole, before))
    table = np.array([[part, whole - part], [part_before, before - part_before]])
    expected = stats.fisher_exact(table).pvalue
    counts = {"part": part, "whole": whole, "part_before": part_before, "before": before}
    found = formula("fisher_p($part, $whole, $part_before, $before)", **counts)
    assert found == pytest.approx(expected, rel=1e-6)


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(1, 3000), st.data())
def test_wilsons_interval_is_that_of_the_library(formula, whole, data):
    part = data.draw(st.integers(0, whole))
    expected = wilson_interval(part, whole)
    assert expected is not None
    found = [
        formula(f"wilson_{end}($part, $whole)", part=part, whole=whole) for end in ("low", "high")
    ]
    assert found == pytest.approx([expected.low, expected.high], abs=1e-9)

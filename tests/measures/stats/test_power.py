import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.measures.stats.paired import paired_delta
from skilljuror.measures.stats.power import (
    detectable_effect,
    false_discovery_rates,
    holm,
    variance_parts,
)
from skilljuror.measures.stats.verdicts import equivalence


def test_detectable_effect_has_the_power_it_states():
    from scipy import stats

    made = detectable_effect(1.0, 30)
    assert made.effect is not None
    shifted = stats.nct(29, made.effect * 30**0.5)
    critical = stats.t.ppf(0.975, 29)
    assert 1 - shifted.cdf(critical) == pytest.approx(0.8, abs=0.01)


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


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_helps_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_false_discovery_rates_never_fall():
    """0.01 * 3 / 1; 0.03 * 3 / 2 is more than 0.04 * 3 / 3."""
    found = false_discovery_rates([0.01, None, 0.04, 0.03])
    assert found == [pytest.approx(0.03), None, pytest.approx(0.04), pytest.approx(0.04)]
    assert false_discovery_rates([None]) == [None]


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


def test_variance_parts_are_those_that_made_the_data():
    draw = np.random.default_rng(5)
    level, effect = draw.normal(size=4000), 0.5 * draw.normal(size=4000)
    arms = [
        {str(task): list(mean + draw.normal(size=3)) for task, mean in enumerate(means)}
        for means in (level, level + effect)
    ]
    found = variance_parts(arms[0], arms[1])
    assert found is not None
    assert found.between == pytest.approx(0.25, abs=0.05)
    assert found.within == pytest.approx(2.0, abs=0.05)

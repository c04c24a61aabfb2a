import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skilljuror.stats.rates import (
    arm_rate,
    mean_gain,
    normalised_gain,
    pass_at_k,
    pass_given_runtime,
    solved_early_stop,
    wald,
    wilson,
)
from tests.support.published_figures import GAINS, MEAN_GAIN, STRICT, ends, within


@pytest.mark.parametrize(("name", "passes", "trials", "printed"), STRICT)
def test_published_rates(name, passes, trials, printed):
    rate = wald(passes / trials, trials)
    assert rate is not None
    assert within(100 * rate.rate, printed), name


@pytest.mark.parametrize(
    ("rate", "trials", "halfwidth", "degenerate"),
    [
        (0.673, 261, 0.05691375318101438, False),
        (0.201, 261, 0.04861913591387134, False),
        (0.4195121951219512, 410, 0.04776755235263563, False),
        (0.0, 261, 0.0, True),
        (1.0, 5, 0.0, True),
    ],
)
def test_wald_and_its_flag(rate, trials, halfwidth, degenerate):
    made = wald(rate, trials)
    assert made is not None
    assert made.interval.halfwidth == pytest.approx(halfwidth, abs=2e-6)
    assert made.degenerate is degenerate


@given(st.integers(1, 400), st.data())
def test_wilson_agrees_with_scipy(trials, data):
    passes = data.draw(st.integers(0, trials))
    made = wilson(passes / trials, trials)
    other = stats.binomtest(passes, trials).proportion_ci(method="wilson")
    assert made is not None
    assert (made.interval.low, made.interval.high) == pytest.approx(
        (other.low, other.high), abs=1e-9
    )


def test_no_trial_no_rate():
    assert wald(0.0, 0) is None
    assert wilson(0.0, 0) is None


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
def test_pass_at_k(n, c, k, expected):
    assert pass_at_k(n, c, k) == pytest.approx(expected)


def test_pass_at_k_needs_k_trials():
    assert pass_at_k(2, 1, 3) is None


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_pass(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, k) == pytest.approx(1 - stats.hypergeom(n, c, k).pmf(0))


def test_early_stopping_counts_incomplete_tasks_as_unsolved_and_names_them():
    made = solved_early_stop([("a", [True]), ("b", [False, False]), ("c", [False] * 3)], k=3)
    assert (made.solved, made.incomplete) == (("a",), ("b",))
    assert made.rate == pytest.approx(1 / 3)


def test_a_pass_after_the_kth_trial_does_not_solve():
    assert solved_early_stop([("a", [False, False, False, True])], k=3).rate == 0


@pytest.mark.parametrize(
    ("vanilla", "skill", "expected"),
    [(0.515, 0.673, 0.3257731958762887), (0.5, 0.25, -0.5), (1.0, 1.0, None), (0.0, 0.3, 0.3)],
)
def test_normalised_gain(vanilla, skill, expected):
    assert normalised_gain(vanilla, skill) == (expected and pytest.approx(expected))


@pytest.mark.parametrize(("vanilla", "skill", "printed"), GAINS)
def test_published_gains_lie_in_the_interval_of_their_printed_inputs(vanilla, skill, printed):
    (v_low, v_high), (s_low, s_high) = ends(vanilla), ends(skill)
    low = normalised_gain(v_high / 100, s_low / 100)
    high = normalised_gain(v_low / 100, s_high / 100)
    assert low is not None
    assert high is not None
    g_low, g_high = ends(printed)
    assert 100 * low <= g_high
    assert g_low <= 100 * high


def test_a_group_is_the_mean_of_gains_not_the_gain_of_means():
    made = mean_gain([(float(v) / 100, float(s) / 100) for v, s, _ in GAINS])
    assert made is not None
    assert 100 * made == pytest.approx(float(MEAN_GAIN), abs=0.15)
    of_means = normalised_gain(0.339, 0.505)
    assert of_means is not None
    assert not within(100 * of_means, MEAN_GAIN)
    assert mean_gain([(1.0, 1.0), (0.5, 0.7)]) is None


def test_macro_and_micro_differ_only_when_trials_do():
    equal = arm_rate({"a": [1, 0], "b": [1, 1]})
    assert equal.macro == equal.micro == 0.75
    unequal = arm_rate({"a": [1], "b": [0, 0, 0], "c": []})
    assert (unequal.macro, unequal.micro) == (0.5, 0.25)
    assert (unequal.tasks, unequal.trials) == (2, 4)
    assert arm_rate({}).macro is None


@pytest.mark.parametrize(
    ("passes", "ran", "upper"),
    [(172, 313, "55.0"), (112, 219, "51.1"), (112, 246, "45.5"), (126, 228, "55.3")],
)
def test_pass_given_runtime_reaches_the_published_bound_when_every_pass_ran_well(
    passes, ran, upper
):
    trials = [(True, True)] * passes + [(False, True)] * (ran - passes) + [(False, False)] * 97
    rate = pass_given_runtime(trials)
    assert rate is not None
    assert within(100 * rate, upper)


def test_a_pass_after_a_timeout_is_no_pass_given_runtime():
    assert pass_given_runtime([(True, False), (False, True)]) == 0
    assert pass_given_runtime([(True, False)]) is None

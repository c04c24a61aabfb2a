import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.measures.stats.coverage import TrialValue
from skilljuror.measures.stats.paired import (
    contrast,
    geometric_ratio,
    leave_one_out,
    paired_delta,
)
from tests.support.published_figures import WITNESS, half_width, within

N = 5


def arm(passes, prefix="task"):
    return {f"{prefix}-{i:03}": [1] * k + [0] * (N - k) for i, k in enumerate(passes)}


def witness():
    """Two arms whose per-task pass counts differ by the witness."""
    control = [max(0, -delta) for delta in WITNESS]
    return arm(control), arm([k + d for k, d in zip(control, WITNESS, strict=True)])


SMALL = arm([0, 5, 2, 3]), arm([5, 3, 2, 3])


def test_headline_of_the_paper():
    delta = paired_delta(*witness())
    assert delta.tasks == 82
    assert delta.delta == pytest.approx(4.146341463414634)
    assert delta.sd == pytest.approx(27.70885758956875)
    assert delta.se == pytest.approx(3.0599314294066704)
    assert delta.z is not None
    assert delta.t is not None
    assert half_width(delta.z) == pytest.approx(5.997355396799241)
    assert half_width(delta.t) == pytest.approx(6.088303714408292)
    assert within(delta.delta, "4.1")
    assert within(half_width(delta.z), "6.0")


def test_small_vector():
    delta = paired_delta(*SMALL)
    assert (delta.delta, delta.sd) == pytest.approx((15.0, 59.72157622389639))
    assert delta.z is not None
    assert half_width(delta.z) == pytest.approx(58.52606924940026)


def test_tasks_without_both_arms_are_dropped_from_both_and_listed():
    control = {"a": [1, 0], "b": [1], "c": []}
    treatment = {"a": [1, 1], "c": [1], "d": [0]}
    delta = paired_delta(control, treatment)
    assert delta.by_task == (("a", 50.0),)
    assert delta.dropped == ("b", "c", "d")


def test_an_interval_of_a_difference_of_rates_ends_at_100_points():
    found = paired_delta({"a": [0], "b": [0], "c": [0]}, {"a": [1], "b": [1], "c": [0]})
    assert found.t is not None
    assert (found.t.low, found.t.high) == pytest.approx((66.67 - 143.4, 100), abs=0.1)
    assert found.t.high == 100
    for level in (0.9, 0.99):
        inner = found.interval(level)
        assert inner is not None
        assert -100 <= inner.low < inner.high == 100
    steps = paired_delta({"a": [0], "b": [0]}, {"a": [1], "b": [0]}, unit="steps")
    assert steps.t is not None
    assert steps.t.high > 1


def test_trials_of_tasks_that_one_arm_has_do_not_count():
    trials = [
        TrialValue(task, arm, float(arm == "pd"), final=True, contaminated=task == "c")
        for task, arms in (("a", ("pd", "flat")), ("b", ("pd", "flat")), ("c", ("pd",)))
        for arm in arms
    ]
    found = contrast(trials, "pd", "flat")
    assert (found.tasks, found.dropped, found.clean, found.refusal) == (2, ("c",), None, "")
    assert [one.planned for one in found.coverage.arms] == [2, 2]


def test_one_task_has_a_delta_and_no_interval():
    delta = paired_delta({"a": [0]}, {"a": [1]})
    assert (delta.delta, delta.sd, delta.z, delta.t) == (100.0, None, None, None)
    assert paired_delta({}, {}).delta is None


def test_unequal_trials_keep_equal_task_weight():
    delta = paired_delta({"a": [0], "b": [0, 0, 0]}, {"a": [1], "b": [0, 0, 1]})
    assert delta.delta == pytest.approx(100 * (1 + 1 / 3) / 2)


def test_other_units_are_not_scaled():
    delta = paired_delta({"a": [1.0], "b": [2.0]}, {"a": [4.0], "b": [4.0]}, unit="resources")
    assert (delta.delta, delta.unit) == (2.5, "resources")


def test_one_task_alone_may_carry_the_delta():
    spread = leave_one_out(paired_delta(*SMALL))
    assert spread is not None
    assert (spread.low, spread.high) == pytest.approx((-40 / 3, 100 / 3))
    assert (spread.low_task, spread.high_task) == ("task-000", "task-001")


def test_equal_ratios_have_no_interval_however_floats_write_them():
    ratio = geometric_ratio({"a": [0.1], "b": [1.0], "c": [7]}, {"a": [0.3], "b": [3.0], "c": [21]})
    assert ratio.ratio == pytest.approx(3)
    assert ratio.interval is None


def test_ratio_of_geometric_means():
    ratio = geometric_ratio(
        {"a": [1.0, 3.0], "b": [4.0]}, {"a": [4.0], "b": [2.0, 2.0], "c": [1.0]}
    )
    assert ratio.ratio == pytest.approx(1.0)
    assert (ratio.tasks, ratio.dropped) == (2, ("c",))
    assert ratio.interval is not None
    assert ratio.interval.low * ratio.interval.high == pytest.approx(1.0)


outcomes = st.lists(st.integers(0, 1), min_size=1, max_size=4)
arms = st.dictionaries(st.sampled_from("abcdef"), outcomes, min_size=2)


@settings(deadline=None)
@given(arms, arms)
def test_swapping_the_arms_changes_the_sign_only(control, treatment):
    there, back = paired_delta(control, treatment), paired_delta(treatment, control)
    assert there.dropped == back.dropped
    if there.delta is not None and back.delta is not None:
        assert there.delta == pytest.approx(-back.delta)

"""Paired deltas and verdicts."""

import pytest
from hypothesis import strategies as st

from skilljuror.measures.paired import (
    TrialValue,
    arm_rate,
    contrast,
    equivalence,
    leave_one_out,
    paired_delta,
    verdict,
)
from skilljuror.measures.rates import geometric_ratio
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


def test_one_task_alone_may_carry_the_delta():
    spread = leave_one_out(paired_delta(*SMALL))
    assert spread is not None
    (low, low_task), (high, high_task) = spread
    assert (low, high) == pytest.approx((-40 / 3, 100 / 3))
    assert (low_task, high_task) == ("task-000", "task-001")


def test_equal_ratios_have_no_interval_however_floats_write_them():
    ratio = geometric_ratio({"a": [0.1], "b": [1.0], "c": [7]}, {"a": [0.3], "b": [3.0], "c": [21]})
    assert ratio.value == pytest.approx(3)
    assert ratio.interval is None


def test_ratio_of_geometric_means():
    ratio = geometric_ratio(
        {"a": [1.0, 3.0], "b": [4.0]}, {"a": [4.0], "b": [2.0, 2.0], "c": [1.0]}
    )
    assert ratio.value == pytest.approx(1.0)
    assert (ratio.tasks, ratio.dropped) == (2, ("c",))
    assert ratio.interval is not None
    assert ratio.interval.low * ratio.interval.high == pytest.approx(1.0)


outcomes = st.lists(st.integers(0, 1), min_size=1, max_size=4)
arms = st.dictionaries(st.sampled_from("abcdef"), outcomes, min_size=2)


def trials(passes, *, of=5, contaminated=(), unfinished=()):
    """Task -> (passes of control, passes of treatment); (task, arm) -> contaminated or open trials."""
    rows = []
    for task, counts in passes.items():
        for arm, count in zip(("control", "treatment"), counts, strict=True):
            for n in range(of):
                is_open = n >= of - dict(unfinished).get((task, arm), 0)
                spoilt = n < dict(contaminated).get((task, arm), 0)
                rows.append(TrialValue(task, arm, float(n < count), not is_open, spoilt))
    return rows


def found(rows):
    return contrast(rows, "treatment", "control")


GOOD = {"a": (0, 5), "b": (1, 5), "c": (0, 4), "d": (1, 5)}


def test_equal_differences_are_undetermined_however_floats_write_them():
    """1 - 0.8, 0.2 - 0 and 0.4 - 0.2 are three floats and one difference."""
    delta = found(trials({"a": (4, 5), "b": (0, 1), "c": (1, 2)}))
    assert str(verdict(delta)) == "undetermined: no variation between tasks"
    assert (delta.t, delta.z, delta.sd) == (None, None, 0.0)
    shown = equivalence(delta, 50.0)
    assert (shown.verdict, shown.interval) == ("undetermined", None)


def test_an_open_trial_leaves_it_undetermined_though_the_difference_is_clear():
    delta = found(trials(GOOD, unfinished={("a", "control"): 1}))
    assert str(verdict(delta)) == (
        "undetermined: 1 of 40 planned trials has no final outcome (control 1)"
    )
    assert repr(delta).startswith("not quotable, 1 of 40 planned trials has no final outcome")
    assert equivalence(delta, 500.0).interval is None


def test_a_verdict_that_holds_without_contaminated_trials_names_them():
    delta = found(trials(GOOD, contaminated={("c", "treatment"): 2}))
    assert str(verdict(delta)) == "better: 2 of 20 trials of treatment are contaminated"
    assert "without contaminated trials" in repr(delta)


def test_a_verdict_that_rests_on_contaminated_trials_is_inconclusive():
    """All passes of the treatment on three tasks are contaminated: 0 remains there."""
    passes = {"a": (0, 2), "b": (0, 2), "c": (0, 2), "d": (0, 3)}
    delta = found(trials(passes, contaminated={(task, "treatment"): 2 for task in "abc"}))
    assert str(verdict(delta)) == (
        "inconclusive: 6 of 20 trials of treatment are contaminated;"
        " better with them, inconclusive without"
    )


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (dict.fromkeys("abcd", 5), "without them, no task has a value in both arms"),
        (dict.fromkeys("abc", 5), "without them, one task gives no interval"),
        (dict.fromkeys("abcd", 3), "fewer than half of treatment remain"),
    ],
    ids=["none", "one task", "minority"],
)
def test_too_few_clean_trials_give_no_number(spoilt, reason):
    delta = found(trials(GOOD, contaminated={(t, "treatment"): n for t, n in spoilt.items()}))
    assert verdict(delta).word == "undetermined"
    assert delta.refusal.endswith(reason)
    assert repr(delta).startswith("not quotable, ")


def test_a_rate_without_variation_has_no_interval_and_says_what_it_rests_on():
    rows = trials({"a": (5, 5), "b": (5, 5)}, unfinished={("a", "treatment"): 2})
    rate = arm_rate([row for row in rows if row.condition == "treatment"], "treatment")
    assert (rate.estimate, rate.interval) == (1.0, None)
    assert repr(rate) == (
        "not quotable, 2 of 10 planned trials have no final outcome (treatment 2): "
        "1 (undetermined: no variation between tasks, 2 tasks; 8 of 10 planned trials final)"
    )


@pytest.mark.parametrize(
    ("mean", "word", "shown"),
    [
        (1, "better", "+1 USD (95 % interval +0.87 to +1.13, t(3), 4 tasks)"),
        (-1, "worse", "-1 USD (95 % interval -1.13 to -0.87, t(3), 4 tasks)"),
        (0, "inconclusive", "+0 USD (95 % interval -0.13 to +0.13, t(3), 4 tasks)"),
    ],
)
def test_the_word_is_that_of_students_interval(mean, word, shown):
    treatment = {task: [mean + d] for task, d in zip("abcd", (-0.1, 0, 0, 0.1), strict=True)}
    delta = paired_delta({task: [0.0] for task in "abcd"}, treatment, unit="USD")
    assert (verdict(delta).word, repr(delta)) == (word, shown)
    assert verdict(delta, margin=2).word == "equivalent"


def test_the_interval_of_equivalence_is_students_over_tasks():
    delta = found(trials(GOOD))
    shown = equivalence(delta, 10.0)
    assert shown.interval is not None
    assert half_width(shown.interval) == pytest.approx(2.353363 * delta.se)  # t(3), 90 %
    assert repr(shown).startswith("better (margin 10, 90 % interval +73.2 to +96.8, 40 of 40 ")

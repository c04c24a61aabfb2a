"""One verdict for every door: what makes it undetermined, and what contaminated trials do to it."""

import pytest

from skilljuror.measures.stats.coverage import TrialValue, arm_rate
from skilljuror.measures.stats.paired import contrast, paired_delta
from skilljuror.measures.stats.verdicts import equivalence, verdict
from tests.support.published_figures import half_width


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


def test_a_difference_of_small_values_keeps_its_spread():
    delta = paired_delta({"a": [1e-9], "b": [1e-9]}, {"a": [3e-9], "b": [2e-9]}, unit="USD")
    assert delta.sd == pytest.approx(2**-0.5 * 1e-9)


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


def test_half_of_the_planned_trials_are_enough():
    spoilt = {(task, "treatment"): 2 for task in "abcd"}
    assert found(trials(GOOD, of=4, contaminated=spoilt)).refusal == ""

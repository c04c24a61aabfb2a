"""Corrected rates: against maintained libraries, by coverage, and by what they must not do."""

import numpy as np
import pytest

from skilljuror.base.errors import UsageError
from skilljuror.measures.paired import paired_delta
from skilljuror.measures.prediction_powered import (
    JudgedItem,
    corrected_difference,
    corrected_rate,
    judged_difference,
    judged_rate,
)
from tests.support.judged_worlds import judged_arm, labelled, there, true_rate


def plain():
    """2,000 items, of which the first 300 carry a label; the judge is right in four of five."""
    rng = np.random.default_rng(11)
    truth = (rng.random(2000) < 0.6).astype(float)
    return truth, np.where(rng.random(2000) < 0.8, truth, 1 - truth), 300


def clustered():
    """200 tasks of 5 items, of which the first 60 tasks are labelled."""
    rng = np.random.default_rng(12)
    levels = rng.beta(2, 1.5, 200)
    truth = (rng.random((200, 5)) < levels[:, None]).astype(float)
    return truth, np.where(rng.random((200, 5)) < 0.8, truth, 1 - truth), 60


def of_plain():
    truth, judge, labels = plain()
    return corrected_rate([
        JudgedItem(str(n), word(judge[n]), word(truth[n]) if n < labels else None, 2000 / labels)
        for n in range(2000)
    ])  # fmt: skip


def of_clustered():
    truth, judge, labels = clustered()
    return corrected_rate([
        JudgedItem(
            str(task), word(judge[task, n]), word(truth[task, n]) if task < labels else None,
            200 / labels,
        )
        for task in range(200)
        for n in range(5)
    ])  # fmt: skip


def word(value):
    return "yes" if value else "no"


@pytest.mark.parametrize(
    ("made", "value", "se"),
    [
        (of_plain, 0.643051, 0.022564),  # ppi-python 0.2.3: ppi_mean_pointestimate, ppi_mean_ci
        (of_plain, 0.643095, 0.022599),  # glide-py 0.11.0: PPIMeanEstimator
        (of_clustered, 0.586594, 0.029283),  # glide-py 0.11.0: ClusteredPPIMeanEstimator
    ],
)
def test_it_gives_what_maintained_libraries_gave(made, value, se):
    """They give every cluster without a label to one side and tune there: apart by a fiftieth of an error."""
    ours = made()
    assert ours.value == pytest.approx(value, abs=se / 40)
    assert ours.se == pytest.approx(se, rel=0.08)


def test_it_agrees_with_ppi_python():
    ppi_py = pytest.importorskip("ppi_py", reason="needs the extra `oracle`: ppi-python")
    truth, judge, labels = plain()
    parts = truth[:labels], judge[:labels], judge[labels:]
    low, high = (float(end[0]) for end in ppi_py.ppi_mean_ci(*parts, alpha=0.05))
    ours = there(of_plain().interval)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.002)


def test_it_agrees_with_glide():
    glide = pytest.importorskip("glide.estimators", reason="needs the extra `oracle`: glide-py")
    truth, judge, labels = clustered()
    told = truth.copy()
    told[labels:] = np.nan
    tasks = np.repeat(np.arange(200), 5)
    theirs = glide.ClusteredPPIMeanEstimator().estimate(told.ravel(), judge.ravel(), tasks)
    ours = of_clustered()
    assert ours.value == pytest.approx(theirs.confidence_interval.mean, abs=0.001)
    assert ours.se == pytest.approx(theirs.confidence_interval.std, rel=0.08)


def test_a_judge_that_errs_in_one_arm_alone_is_found_out():
    """Both arms are alike; the judge overlooks half of the uptakes of one."""
    rng = np.random.default_rng(3)
    tasks = rng.normal(0.5, 1, 40)
    arms = [judged_arm(rng, tasks, sensitivity=0.95), judged_arm(rng, tasks, sensitivity=0.5)]
    control, treatment = labelled(arms, 200, seed=0)
    naive = judged_difference(control, treatment)
    assert there(naive.interval).high < -0.1, "the judge alone is sure of a difference"
    corrected = corrected_difference(control, treatment)
    assert there(corrected.interval).low < 0 < there(corrected.interval).high
    assert 0 < min(corrected.tuning) < max(corrected.tuning) < 1


def test_a_judge_that_says_the_same_of_all_is_not_used():
    rng = np.random.default_rng(4)
    truth = [word(rng.random() < 0.3) for _ in range(200)]
    items = [
        JudgedItem(f"t{n % 20}", "yes", label if n < 100 else None, 2.0)
        for n, label in enumerate(truth)
    ]
    assert judged_rate(items).value == 1.0
    share = truth[:100].count("yes") / 100
    assert corrected_rate(items).value == pytest.approx(share)


def test_the_judge_alone_is_the_mean_of_tasks_where_they_are_equal():
    rng = np.random.default_rng(8)
    arms = [
        {f"t{t}": (rng.random(10) < 0.5).astype(float).tolist() for t in range(9)} for _ in "ab"
    ]
    control, treatment = (
        [JudgedItem(task, word(value)) for task, values in arm.items() for value in values]
        for arm in arms
    )
    made, plain_delta = judged_difference(control, treatment), paired_delta(*arms, unit="share")
    assert made.value == pytest.approx(plain_delta.delta)
    assert made.se == pytest.approx(plain_delta.se)
    assert there(made.interval).method == there(plain_delta.t).method == "t(8)"


def test_labels_of_one_arm_alone_are_refused():
    control = [JudgedItem("a", "yes", "yes"), JudgedItem("b", "no", "no")]
    treatment = [JudgedItem("a", "yes"), JudgedItem("b", "no")]
    with pytest.raises(
        UsageError, match="the treatment: no labels by people; a correction needs labels from"
    ):
        corrected_difference(control, treatment)
    with pytest.raises(UsageError, match="the control: no labels by people"):
        corrected_difference(treatment, control)
    with pytest.raises(UsageError, match="these items: no labels by people"):
        corrected_rate(treatment)


def test_a_rate_and_its_interval_stay_within_0_and_1_and_a_difference_within_1():
    """A task in four is all no; two labels that stand for more uses than there are push the rate beyond 1."""
    judge = [JudgedItem(f"t{n % 4}", "yes" if n % 4 else "no") for n in range(40)]
    seen = [i._replace(person="yes", weight=25.0) if n < 2 else i for n, i in enumerate(judge)]
    for made in (judged_rate(judge), corrected_rate(seen)):
        ends = there(made.interval)
        assert 0 <= ends.low < there(made.value) <= ends.high == 1
    nothing = [item._replace(judge="no") for item in judge]
    ends = there(judged_difference(nothing, judge).interval)
    assert -1 <= ends.low < 0 < ends.high == 1


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "labels"), [(12, 80), (30, 100)])
def test_intervals_cover(tasks, labels):
    """Over 400 made-up studies; the judge sees more in the treatment than there is, and says so wrongly.

    The standard error of a coverage of 0.95 is 0.011 here.
    """
    rng = np.random.default_rng(1)
    rate = true_rate(0.6)
    difference = rate - true_rate(0.0)
    covered = {"difference": 0, "rate": 0, "judge alone": 0}
    for study in range(400):
        levels = rng.normal(0.5, 1, tasks)
        arms = [
            judged_arm(rng, levels),
            judged_arm(rng, levels, lift=0.6, sensitivity=0.9, false_yes=0.3),
        ]
        control, treatment = labelled(arms, labels, seed=study)
        covered["difference"] += holds(corrected_difference(control, treatment), difference)
        covered["rate"] += holds(corrected_rate(treatment), rate)
        covered["judge alone"] += holds(judged_difference(control, treatment), difference)
    assert 0.93 <= covered["difference"] / 400 <= 0.98
    assert 0.92 <= covered["rate"] / 400 <= 0.98
    assert covered["judge alone"] / 400 < 0.85, "what the correction is for"


def holds(made, truth):
    return there(made.interval).low <= truth <= there(made.interval).high

import numpy as np
import pytest

from skilljuror.measures.stats.intervals import wilson_interval
from skilljuror.measures.stats.judge_accuracy import (
    CheckedItem,
    judge_accuracy,
    rogan_gladen,
    weighted_share,
)
from tests.support.judged_worlds import there


def test_equal_weights_give_wilson():
    made = there(weighted_share([True] * 9 + [False], [2.5] * 10))
    plain = there(wilson_interval(9, 10))
    assert (made.value, made.items) == (0.9, 10)
    assert made.effective == pytest.approx(10)
    assert (made.interval.low, made.interval.high) == pytest.approx((plain.low, plain.high))
    sure = there(weighted_share([True] * 8, [1.0] * 8)).interval
    assert (sure.low, sure.high) == pytest.approx((0.6756, 1.0), abs=1e-4)
    assert weighted_share([], []) is None


def test_a_sample_by_the_judges_answers_is_weighed():
    """10 of 100 yes and all 10 no were looked at. Unweighted, half of what people call yes would be missed."""
    items = [
        *[CheckedItem("yes", "yes", 10.0)] * 9,
        CheckedItem("yes", "no", 10.0),
        *[CheckedItem("no", "yes", 1.0)] * 9,
        CheckedItem("no", "no", 1.0),
        CheckedItem("unknown", "unknown", 1.0),
    ]
    made = judge_accuracy(items)
    assert there(made.sensitivity).value == pytest.approx(90 / 99)
    assert there(made.specificity).value == pytest.approx(1 / 11)
    assert there(made.precision).value == pytest.approx(0.9)
    assert made.undecided == 1
    assert there(made.sensitivity).items == 18 > there(made.sensitivity).effective


def test_unknown_is_no_yes():
    made = judge_accuracy([CheckedItem("unknown", "yes"), CheckedItem("unknown", "no")])
    assert (there(made.sensitivity).value, there(made.specificity).value, made.precision) == (
        0.0,
        1.0,
        None,
    )


def test_the_corrected_share():
    """0.9 * p + 0.2 * (1 - p) = 0.55 at p = 0.5."""
    sensitivity = weighted_share([True] * 90 + [False] * 10, [1.0] * 100)
    specificity = weighted_share([True] * 80 + [False] * 20, [1.0] * 100)
    made = rogan_gladen(550, 1000, sensitivity, specificity)
    assert made.value == pytest.approx(0.5)
    assert there(made.interval).low < 0.5 < there(made.interval).high
    assert rogan_gladen(100, 1000, sensitivity, specificity).value == 0.0, (
        "fewer than its false yes"
    )


def test_the_interval_of_the_corrected_share_is_that_of_the_paper():
    """Lang and Reiczigel 2014, worked by hand at z = 1.96 for 180 of 1,000 apparent yes, 45 of 50 true
    yes and 92 of 100 true no found: z² = 3.8415, Se' = 46/52, Sp' = 93/102, AP' = 181.92/1003.84."""
    sensitivity = weighted_share([True] * 45 + [False] * 5, [1.0] * 50)
    specificity = weighted_share([True] * 92 + [False] * 8, [1.0] * 100)
    z2, se, sp, ap = 3.841459, 46 / 52, 93 / 102, (180 + 3.841459 / 2) / (1000 + 3.841459)
    share = (ap + sp - 1) / (se + sp - 1)
    var_se, var_sp = se * (1 - se) / 52, sp * (1 - sp) / 102
    middle = share + 2 * z2 * (share * var_se - (1 - share) * var_sp)
    variance = ap * (1 - ap) / 1003.841459 + share**2 * var_se + (1 - share) ** 2 * var_sp
    half = (z2 * variance) ** 0.5 / (se + sp - 1)
    found = there(rogan_gladen(180, 1000, sensitivity, specificity).interval)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-6)


def test_a_judge_that_tells_nothing_corrects_nothing():
    coin = weighted_share([True, False], [1.0, 1.0])
    assert rogan_gladen(5, 10, coin, coin).value is None
    assert rogan_gladen(5, 10, None, coin).value is None
    assert rogan_gladen(0, 0, coin, coin).value is None


@pytest.mark.slow
def test_the_interval_of_the_corrected_share_covers():
    rng, share, right, clear, covered = np.random.default_rng(2), 0.7, 0.85, 0.8, 0
    for _ in range(2000):
        yes = rng.binomial(400, share * right + (1 - share) * (1 - clear))
        sensitivity, specificity = (
            weighted_share([True] * hits + [False] * (40 - hits), [1.0] * 40)
            for hits in rng.binomial(40, [right, clear])
        )
        found = there(rogan_gladen(yes, 400, sensitivity, specificity).interval)
        covered += found.low <= share <= found.high
    assert 0.935 <= covered / 2000 <= 0.99

"""Agreement, accuracy of a judge, and the sample that people label."""

from collections import Counter

import pytest

from skilljuror.measures.agreement import (
    agreement,
    judge_accuracy,
    krippendorff_alpha,
    stratified_sample,
    weighted_share,
)
from skilljuror.measures.rates import wilson_interval
from tests.support.judged_worlds import there
from tests.support.published_figures import half_width


def test_kappa_by_hand():
    first = ["yes"] * 20 + ["yes"] * 5 + ["no"] * 10 + ["no"] * 15
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    made = agreement(first, second)
    assert made.observed == pytest.approx(0.7)
    assert made.kappa == pytest.approx(0.4)
    assert made.confusion == (
        ("no", "no", 15),
        ("no", "yes", 10),
        ("yes", "no", 5),
        ("yes", "yes", 20),
    )


def test_rare_labels_collapse_kappa_and_not_ac1():
    first = ["yes"] * 95 + ["no"] * 5
    second = ["yes"] * 90 + ["no"] * 5 + ["yes"] * 5
    made = agreement(first, second)
    assert made.kappa is not None
    assert made.ac1 is not None
    assert made.kappa < 0 < 0.85 < made.ac1


def test_intervals_hold_the_estimates_and_repeat():
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    made = agreement(first, second, seed=4)
    for value, interval in (
        (made.observed, made.observed_interval),
        (made.kappa, made.kappa_interval),
        (made.ac1, made.ac1_interval),
    ):
        assert there(interval).low < there(value) < there(interval).high
    assert agreement(first, second, seed=4) == made
    assert agreement(first, second, seed=5).kappa_interval != made.kappa_interval
    # 50 items with agreement 0.7: sqrt(0.7 * 0.3 / 50) = 0.065
    assert half_width(there(made.observed_interval)) == pytest.approx(1.96 * 0.065, rel=0.1)


def test_items_of_a_cluster_count_as_one_where_they_are_alike():
    """Ten items a task that agree or not together say no more than one: sqrt(10) times the width."""
    tasks = [f"t{n // 10}" for n in range(400)]
    first = ["yes" if n % 20 < 10 else "no" for n in range(400)]
    second = [label if n // 10 % 4 else "unknown" for n, label in enumerate(first)]
    apart, together = agreement(first, second), agreement(first, second, tasks)
    assert (apart.kappa, apart.clusters, together.clusters) == (together.kappa, 400, 40)
    wide, narrow = there(together.observed_interval), there(apart.observed_interval)
    assert half_width(wide) / half_width(narrow) == pytest.approx(10**0.5, rel=0.1)


def test_weights_undo_a_lopsided_sample():
    """Every no was asked about and one yes in nine: weighted, the agreement is that of all items."""
    first = ["yes"] * 90 + ["no"] * 10
    second = ["yes"] * 81 + ["no"] * 9 + ["no"] * 5 + ["yes"] * 5
    everything = agreement(first, second)
    sample = ["yes"] * 10 + ["no"] * 10, ["yes"] * 9 + ["no"] + ["no"] * 5 + ["yes"] * 5
    weighted = agreement(*sample, weights=[9.0] * 10 + [1.0] * 10)
    assert weighted.kappa == pytest.approx(everything.kappa)
    assert weighted.ac1 == pytest.approx(everything.ac1)
    assert there(agreement(*sample).kappa) > 0.35 > there(weighted.kappa)


def test_alpha_of_the_published_example():
    """Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, C: four observers, twelve units."""
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [
        [label if label != "." else None for label in unit] for unit in zip(*observers, strict=True)
    ]
    made = krippendorff_alpha(units)
    assert (made.items, made.labels) == (11, 40)
    assert made.alpha == pytest.approx(0.743, abs=0.0005)
    assert there(made.interval).low < there(made.alpha) < there(made.interval).high


def test_alpha_without_a_pair_or_without_a_difference():
    alone = krippendorff_alpha([["yes", None], [None, "no"]])
    assert (alone.alpha, alone.items, alone.interval) == (None, 0, None)
    same = krippendorff_alpha([["yes", "yes"], ["yes", "yes"]])
    assert (same.alpha, same.items) == (None, 2)


def test_equal_weights_give_wilson():
    made = there(weighted_share([True] * 9 + [False], [2.5] * 10))
    plain = there(wilson_interval(9, 10))
    assert (made.value, made.tasks) == (0.9, 10)
    ends = there(made.interval)
    assert (ends.low, ends.high) == pytest.approx((plain.low, plain.high))
    sure = there(there(weighted_share([True] * 8, [1.0] * 8)).interval)
    assert (sure.low, sure.high) == pytest.approx((0.6756, 1.0), abs=1e-4)
    assert weighted_share([], []) is None


def test_a_sample_by_the_judges_answers_is_weighed():
    """10 of 100 yes and all 10 no were looked at. Unweighted, half of what people call yes would be missed."""
    items = [
        *[("yes", "yes", 10.0)] * 9,
        ("yes", "no", 10.0),
        *[("no", "yes", 1.0)] * 9,
        ("no", "no", 1.0),
        ("unknown", "unknown", 1.0),
    ]
    made = judge_accuracy(items)
    assert there(made.sensitivity).value == pytest.approx(90 / 99)
    assert there(made.specificity).value == pytest.approx(1 / 11)
    assert there(made.precision).value == pytest.approx(0.9)
    assert made.undecided == 1
    assert there(made.sensitivity).tasks == 18


STRATA = {f"e{n:03}": ("pd" if n % 2 else "flat", "no" if n < 5 else "yes") for n in range(100)}


def test_every_stratum_gives_by_the_square_root_of_its_size():
    drawn = stratified_sample(STRATA, 20)
    assert Counter(one.stratum for one in drawn) == {
        ("flat", "no"): 2, ("flat", "yes"): 8, ("pd", "no"): 2, ("pd", "yes"): 8,
    }  # fmt: skip
    chances = {one.stratum: one.probability for one in drawn}
    assert chances == {
        ("flat", "no"): 2 / 3, ("flat", "yes"): 8 / 47, ("pd", "no"): 1.0, ("pd", "yes"): 8 / 48,
    }  # fmt: skip


def test_whoever_stops_early_has_a_sample_of_both_arms():
    drawn = stratified_sample(STRATA, 40)
    assert {one.stratum for one in drawn[:14]} == set(STRATA.values())
    assert [one.item for one in stratified_sample(STRATA, 12)] == [one.item for one in drawn[:12]]


def test_the_first_of_each_stratum_and_its_size_are_enough():
    whole, totals = stratified_sample(STRATA, 20), Counter(STRATA.values())
    alone = {one.item: one.stratum for one in stratified_sample(STRATA, len(STRATA))}
    first = {
        item: stratum
        for n, (item, stratum) in enumerate(alone.items())
        if [*alone.values()][:n].count(stratum) < 20
    }
    assert len(first) < len(STRATA)
    assert stratified_sample(first, 20, 0, dict(totals)) == whole


def test_items_are_drawn_alike():
    """8 of 47 items of a stratum are drawn each time: no place is favoured."""
    times = Counter(
        one.item
        for seed in range(300)
        for one in stratified_sample(STRATA, 20, seed)
        if one.stratum == ("flat", "yes")
    )
    assert sum(times.values()) == 2400
    assert len(times) == 47
    assert 25 < min(times.values()) < max(times.values()) < 80  # 51.1 on the mean, sd 6.5

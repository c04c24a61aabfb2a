import pytest

from skilljuror.measures.stats.agreement import agreement, krippendorff_alpha
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


def test_edges():
    assert agreement([], []).observed is None
    alone = agreement(["yes"], ["yes"])
    assert (alone.observed, alone.kappa, alone.ac1) == (1.0, None, 1.0)


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

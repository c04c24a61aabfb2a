import pytest

from skilljuror.stats.agreement import agreement


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

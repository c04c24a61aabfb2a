import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.models.measure import UptakeLabel
from skilljuror.stats.uptake import (
    distributed_rate,
    pooled_parts,
    shares,
    steps_per_trial,
    uptake_summary,
)
from tests.support.published_figures import UPTAKE, within

UNKNOWN: list[list[UptakeLabel]] = [
    ["yes", "yes", "no"], ["yes", "unknown"], [], ["no", "yes", "yes", "yes", "unknown"],
]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "events", "yes", "no", "unknown", "rate", "mean", "took"), UPTAKE
)
def test_published_uptake(count, events, yes, no, unknown, rate, mean, took):
    counted: list[tuple[UptakeLabel, int]] = [("yes", yes), ("no", no), ("unknown", unknown)]
    labels = [label for label, times in counted for _ in range(times)]
    summary = uptake_summary([labels, *[[]] * (count - 1)])
    assert summary.events == events
    assert summary.rate is not None
    assert summary.mean_events is not None
    assert summary.mean_yes is not None
    assert within(100 * summary.rate, rate)
    assert within(summary.mean_events, mean)
    assert within(summary.mean_yes, took)


def test_unknown_is_in_no_rate_and_in_every_mean():
    summary = uptake_summary(UNKNOWN)
    assert (summary.yes, summary.no, summary.unknown) == (6, 2, 2)
    assert (summary.rate, summary.mean_events, summary.mean_yes) == (0.75, 2.5, 1.5)
    assert summary.incidence == ((1, 3), (2, 2), (5, 0))


def test_nothing_decided_is_null():
    assert uptake_summary([["unknown"]]).rate is None
    assert uptake_summary([], missing=2).mean_events is None


@given(st.lists(st.lists(st.sampled_from(["yes", "no", "unknown"]), max_size=6), max_size=6))
def test_incidence_falls_and_sums_to_the_uptake(labels):
    summary = uptake_summary(labels, at_least=range(1, 7))
    counts = [count for _, count in summary.incidence]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == summary.yes


# Per trial: Skill steps in each third.
THIRDS = [[2, 0, 0], [1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 1]]


def test_distributed_of_exposed_and_of_all():
    made = distributed_rate([sum(part > 0 for part in trial) for trial in THIRDS])
    assert (made.of_exposed, made.of_all) == (0.6, 0.5)
    assert distributed_rate([0]).of_exposed is None
    assert distributed_rate([]).of_all is None


def test_thirds_are_pooled_over_trials():
    assert pooled_parts(THIRDS) == pytest.approx((5 / 12, 5 / 12, 2 / 12))
    assert steps_per_trial(THIRDS) == pytest.approx((5 / 6, 5 / 6, 2 / 6))
    assert pooled_parts([[0, 0]]) is None


def test_shares_macro_and_pooled():
    made = shares([(2, 10), (3, 10), (0, 10), (1, 1), (2, 3), (4, 40), (0, 0)])
    assert made.macro == pytest.approx(0.37777777777777777)
    assert made.pooled == pytest.approx(0.16216216216216217)
    assert (made.trials, made.dropped) == (6, 1)
    assert shares([(0, 0)]).macro is None

"""One-way analysis of variance against scipy's, and how often it cries wolf."""

from statistics import fmean, stdev

import numpy as np
import pytest

from benchmarks.intervals import no_effect
from skilljuror.measures.stats.variance import Group, anova


def summed(values):
    return Group(len(values), fmean(values), stdev(values) if len(values) > 1 else 0.0)


@pytest.mark.parametrize(
    "groups", [[[1, 2, 4], [0, 3]], [[1, 2, 4], [0, 3], [9]], [[0, 1], [0, 1]]]
)
def test_it_is_that_of_scipy(groups):
    from scipy.stats import f_oneway

    assert anova(list(map(summed, groups))) == pytest.approx(tuple(f_oneway(*groups)))


@pytest.mark.parametrize("groups", [[], [[1, 2]], [[1], [2]], [[1, 1], [2, 2]]])
def test_what_cannot_be_told_apart_is_none(groups):
    assert anova(list(map(summed, groups))) is None


def test_without_an_effect_it_is_below_5_percent_in_at_most_7_of_100_studies():
    """Three kinds of eight tasks, five trials each; binomial error 1.1 points."""
    draw, below = np.random.default_rng(3), []
    for _ in range(400):
        before, after = no_effect(draw, 24)
        deltas = (draw.binomial(5, after) - draw.binomial(5, before)) / 5
        found = anova([summed(deltas[part : part + 8].tolist()) for part in (0, 8, 16)])
        below.append(found is not None and found[1] < 0.05)
    assert 0.01 < fmean(below) < 0.075

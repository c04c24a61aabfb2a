"""Use per strict pass: by hand, and what has none."""

import math

import pytest

from skilljuror.stats.intervals import t_quantile
from skilljuror.stats.yields import per_pass

TWO = {"a": (6.0, 2), "b": (2.0, 2)}


def test_two_tasks_by_hand():
    """8 / 4; without a 1, without b 3: se² = 1/2 · 2 · (log 3 / 2)²."""
    found = per_pass(TWO)
    reach = t_quantile(0.975, 1) * math.log(3) / 2
    assert found.value == pytest.approx(2.0)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((
        2 * math.exp(-reach),
        2 * math.exp(reach),
    ))


def test_a_ratio_is_paired_by_task():
    """Twice the use in every task: the ratio is certain, however the tasks differ."""
    twice = {task: (2 * use, passes) for task, (use, passes) in TWO.items()}
    found = per_pass(twice, TWO)
    assert found.value == pytest.approx(2.0)
    assert found.interval is None
    more = per_pass(twice | {"b": (8.0, 2)}, TWO)
    assert more.value == pytest.approx(2.5)
    assert more.interval is not None


@pytest.mark.parametrize(
    ("sums", "value"),
    [
        ({"a": (6.0, 2)}, 3.0),  # one task
        ({"a": (6.0, 2), "b": (2.0, 0)}, 4.0),  # all passes in one task
        ({"a": (0.3, 2), "b": (0.0, 2), "c": (0.0, 1)}, 0.06),  # all use in one task
        ({"a": (0.1, 1), "b": (0.1, 1), "c": (0.1, 1)}, 0.1),  # no spread
        ({"a": (6.0, 0)}, None),
        ({"a": (0.0, 2)}, None),
    ],
)
def test_without_an_interval(sums, value):
    found = per_pass(sums)
    assert found.interval is None
    assert found.value == (value and pytest.approx(value))

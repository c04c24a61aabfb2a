import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.stats.missing import sensitivity
from skilljuror.stats.paired import paired_delta

PLANNED = {"a": 2, "b": 2}


def test_bounds_by_hand():
    found = sensitivity({"a": [0, 0], "b": [1]}, {"a": [1, 1], "b": [1, 0]}, PLANNED)
    assert (found.as_failures, found.worst, found.best) == (50.0, 25.0, 50.0)
    assert (found.missing, found.verdict) == (1, "robust")


def test_a_task_that_one_arm_lacks_makes_the_sign_open():
    found = sensitivity({"a": [0, 1], "b": [0, 1]}, {"a": [1, 1]}, PLANNED)
    assert (found.worst, found.best) == (0.0, 50.0)
    assert found.verdict == "inconclusive: unmatched"


def test_nothing_missing():
    arms = {"a": [0, 1], "b": [1, 1]}, {"a": [1, 1], "b": [0, 1]}
    found = sensitivity(*arms, PLANNED)
    assert found.verdict == "complete"
    assert found.as_failures == found.worst == found.best == paired_delta(*arms).delta


arms = st.dictionaries(st.sampled_from("ab"), st.lists(st.integers(0, 1), max_size=2))


@given(arms, arms)
def test_the_failure_case_lies_between_the_bounds(control, treatment):
    found = sensitivity(control, treatment, PLANNED)
    assert found.worst is not None
    assert found.best is not None
    assert found.as_failures is not None
    assert found.worst <= found.as_failures <= found.best
    assert found.best - found.worst == pytest.approx(25 * found.missing)

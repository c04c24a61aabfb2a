import pytest

from skilljuror.base.results import TrialContext
from skilljuror.measures.metrics.outcome import measure
from tests.support.metric_contexts import record


def outcome(**fields):
    return {row.metric: row for row in measure(TrialContext("t", record=record(**fields)))}


@pytest.mark.parametrize(
    ("reward", "strict", "broad"),
    [(1.0, 1, 1), (0.9999, 0, 1), (0.5, 0, 1), (0.0, 0, 0), (None, 0, 0)],
)
def test_strict_is_exactly_one_and_broad_is_above_zero(reward, strict, broad):
    rows = outcome(reward=reward)
    assert (rows["strict_pass"].value, rows["broad_pass"].value) == (strict, broad)


@pytest.mark.parametrize("status", ["timeout", "unscored", "error"])
def test_a_missing_reward_is_null_and_says_why(status):
    rows = outcome(reward=None, status=status)
    assert (rows["reward"].value, rows["reward"].reason) == (None, status)
    assert rows["scored"].value == 0


def test_a_verified_reward_after_a_timeout_keeps_both_facts():
    rows = outcome(reward=1.0, status="timeout", exception="AgentTimeoutError")
    assert rows["strict_pass"].value == 1
    assert rows["runtime_success"].value == 0
    assert rows["strict_pass_and_runtime"].value == 0

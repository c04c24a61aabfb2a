"""A run under construction: whether it ends with an answer, and its totals."""

import pytest

from skilljuror.base.trajectory import Message
from skilljuror.logs.assembly.builders import MAIN, TrajectoryBuilder, total_usage
from skilljuror.logs.assembly.token_usage import usage_of_response


def draft(calls: int, *after: str) -> TrajectoryBuilder:
    """A run of one step with some answered calls, and messages of these kinds after it."""
    run = TrajectoryBuilder()
    step = run.add_step(MAIN, 1)
    for number in range(calls):
        run.add_call(step, str(number), "bash", {}, 1)
    for kind in after:
        run.messages.append(Message(MAIN, kind, "text", 2, 1))  # type: ignore[arg-type]
    return run


@pytest.mark.parametrize(
    ("calls", "after", "answered"),
    [
        (0, (), True),
        (1, (), False),
        (0, ("prompt",), False),
        (1, ("other",), True),
        (0, ("skill_listing",), True),
        (1, ("skill_body",), False),
        (0, ("prompt", "other"), True),
    ],
    ids=[
        "answered",
        "calling",
        "prompted",
        "calling, then a note",
        "answered, then a list",
        "calling, then a skill",
        "prompted, then a note",
    ],
)
def test_who_waits(calls, after, answered):
    assert draft(calls, *after).ends_with_answer() is answered


def test_a_log_without_a_step_is_no_answer():
    assert not TrajectoryBuilder().ends_with_answer()


def test_no_usage_is_none():
    assert usage_of_response({}) is None
    assert total_usage([None, None]) is None

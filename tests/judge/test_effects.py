"""What came of an agent's calls, as the log tells it."""

import pytest

from skilljuror.judge.effects import NEAR, QUOTE, effects
from tests.support.judge_cases import CaseBuilder

READ = {"read": "SKILL.md", "shows": "Compare by wall_time_of_zone."}
WRITE = {"write": "clock.py", "text": "wall_time_of_zone(t)"}


def came_of(*steps):
    built = CaseBuilder({"run": list(steps)})
    found = effects("t", built.trajectory, built.events)
    return [(one.step, one.effect, one.effect_step, one.quote) for one in found]


def test_what_each_call_came_to():
    assert came_of(
        {"run": "ls", "prints": "before the first use"}, READ, {**WRITE, "prints": "ok"},
        {"run": "python clock.py", "prints": "12:00\n13:00\n"},
        {"run": "python nothing.py", "prints": "Traceback\nNameError: x\n", "ok": False},
        {"run": "true", "prints": ""},
    ) == [
        (3, "wrote", 3, "clock.py"),
        (4, "worked", 4, "12:00"),
        (5, "failed", 5, "NameError: x"),
        (6, "worked", 6, None),
    ]  # fmt: skip


def test_an_error_is_gone_once_the_same_command_works():
    failing = {"run": "pytest  -q", "prints": "1 failed", "ok": False}
    assert came_of(failing, READ, WRITE, {"run": "pytest -q", "prints": "3 passed"}) == [
        (3, "error_gone", 4, "3 passed"),
        (4, "worked", 4, "3 passed"),
    ]


@pytest.mark.parametrize("again", [{"run": "ls", "prints": "a"}, {"run": "pytest -q", "ok": False}])
def test_an_error_that_stays_or_is_not_tried_again_is_not_gone(again):
    failing = {"run": "pytest -q", "prints": "1 failed", "ok": False}
    assert came_of(failing, READ, WRITE, {"prints": "x", **again})[0][1] == "wrote"


def test_only_what_is_near_a_success_may_have_mended_it():
    failing = {"run": "make", "prints": "no", "ok": False}
    others = [{"run": f"ls {n}", "prints": "a"} for n in range(NEAR)]
    found = came_of(failing, READ, WRITE, *others, {"run": "make", "prints": "built"})
    assert [effect for _, effect, *_ in found] == ["wrote"] + NEAR * ["error_gone"] + ["worked"]


def test_what_the_log_does_not_tell_is_left_out():
    assert came_of(READ, {"run": "ls", "prints": "a", "ok": None}) == []
    assert came_of({"run": "ls", "prints": "a"}) == []


def test_a_quote_is_short():
    ((*_, quote),) = came_of(READ, {"run": "cat x", "prints": "y" * 9_000})
    assert len(quote) == QUOTE

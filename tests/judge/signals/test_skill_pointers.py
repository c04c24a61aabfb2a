"""Which resource led to which Skill."""

import pytest

from skilljuror.base.trajectory import Step
from skilljuror.judge.replay.timeline import AgentAction
from skilljuror.judge.signals.skill_pointers import LED_WITHIN, SkillPointers

LINE = "Then go on with `pack-provisions`."


def opening(step):
    return AgentAction(Step(agent="main", index=step, line=step), None, "cat pack-provisions")


def led(*, before=(), shown=LINE, own="plan-voyage", name="pack-provisions", step=4):
    pointers = SkillPointers([name, "plan-voyage"])
    pointers.said(before)
    pointers.shown((0,), {own}, [shown], 3)
    pointers.opened(name, opening(step), 9)
    return {i: one.source for i, one in pointers.led.items()}


def test_a_resource_leads_to_the_skill_that_it_names():
    assert led() == {0: LINE}


@pytest.mark.parametrize(
    "more",
    [
        {"before": ["pack-provisions comes next"]},
        {"shown": "Then go on."},
        {"shown": "Then go on with pack-provisions-fast."},
        {"own": "pack-provisions"},
        {"step": 4 + LED_WITHIN},
        {"name": "merge", "shown": "Then merge it."},
    ],
)
def test_what_does_not_lead_there(more):
    assert led(**more) == {}


def test_the_first_resource_that_names_it_leads_to_it():
    pointers = SkillPointers(["pack-provisions"])
    pointers.shown((0,), {"a"}, [LINE], 1)
    pointers.shown((1,), {"b"}, [LINE], 2)
    pointers.opened("pack-provisions", opening(3), 9)
    pointers.opened("pack-provisions", opening(4), 10)
    assert list(pointers.led) == [0]

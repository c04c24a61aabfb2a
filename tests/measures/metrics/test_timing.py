import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.base.results import TrialContext
from skilljuror.measures.metrics.timing import BINS, THIRDS, measure, part_of
from tests.support.metric_contexts import event, run, trajectory

# Steps, Skill positions, their thirds, their bins, distributed.
VECTORS = [
    (10, (0, 1), (0, 0), (1, 3), 0),
    (10, (0, 4, 9), (0, 1, 2), (1, 9, 19), 1),
    (10, (), (), (), None),
    (1, (0,), (1,), (10,), 0),
    (3, (0, 1), (0, 1), (3, 10), 1),
    (40, (0, 13, 26, 39), (0, 1, 1, 2), (0, 6, 13, 19), 1),
]


def timing(context):
    return {(row.metric, row.key): row for row in measure(context)}


@pytest.mark.parametrize(("steps", "skill", "thirds", "bins", "distributed"), VECTORS)
def test_thirds_and_bins(steps, skill, thirds, bins, distributed):
    assert tuple(part_of(i, steps, THIRDS) for i in skill) == thirds
    rows = timing(run(steps, skill))
    by_bin = [rows["skill_steps_in_bin", f"{i:02}"].value for i in range(BINS)]
    assert by_bin == [bins.count(i) for i in range(BINS)]
    by_third = [rows["skill_steps_in_third", str(i)].value for i in range(THIRDS)]
    assert by_third == [thirds.count(i) for i in range(THIRDS)]
    assert rows["distributed", ""].value == distributed


@settings(deadline=None)
@given(st.integers(1, 500), st.integers(1, 60), st.data())
def test_parts_are_ordered_symmetric_and_in_range(steps, parts, data):
    position = data.draw(st.integers(0, steps - 1))
    part = part_of(position, steps, parts)
    assert 0 <= part < parts
    assert position == 0 or part_of(position - 1, steps, parts) <= part
    midpoint_on_edge = (parts * (2 * position + 1)) % (2 * steps) == 0
    assert part_of(steps - 1 - position, steps, parts) == parts - 1 - part + midpoint_on_edge


def test_first_step_and_its_midpoint():
    rows = timing(run(10, (4, 9)))
    assert rows["first_skill_step", ""].value == 5
    assert rows["first_skill_position", ""].value == pytest.approx(0.45)


def test_never_is_censored_and_step_zero_is_told_apart():
    assert timing(run(5))["first_skill_step", ""].reason == "never"
    assert timing(run(0))["first_skill_step", ""].reason == "no_steps"
    before = TrialContext("t", trajectory=run(5).trajectory, events=(event(0, "activate"),))
    assert timing(before)["first_skill_step", ""].reason == "before_first_step"
    assert timing(before)["distributed", ""].reason == "not_exposed"


def test_short_runs_are_flagged():
    assert timing(run(2))["fewer_than_three_steps", ""].value == 1
    assert timing(run(3))["fewer_than_three_steps", ""].value == 0


def test_an_event_at_a_step_that_the_log_lacks_has_no_position():
    context = TrialContext("t", trajectory=trajectory(), events=(event(7),))
    assert timing(context)["exposed", ""].value == 0

"""What a model is shown of a run: what was really shown, and what the same agent did from then on."""

from msgspec.structs import replace

from skilljuror.base.trajectory import Resource, SkillManifest
from skilljuror.judge.by_model.excerpts import OUTPUT, excerpt_of
from tests.support.judge_cases import CaseBuilder
from tests.support.model_judging import FOLLOWED, RULE, RUN, excerpt


def test_an_event_comes_with_what_it_showed_and_with_its_call():
    (event,) = excerpt().events
    assert (event.shown, event.step, event.reached) == (RULE, 1, 1)
    assert event.call == "read skills/csv/references/rules.md"
    assert [step.index for step in excerpt().steps] == [1, 2, 3]
    assert FOLLOWED in excerpt().steps[1].calls[0].text


def test_only_what_the_resource_says_is_its_own_where_one_command_shows_two():
    built = CaseBuilder({
        "run": [{"read": "a.md", "shows": "Of the first.\nOf the second."}, *RUN[1:]]
    })
    (first,) = built.events
    second = replace(first, ordinal=1, resource="b.md")
    texts = (("a.md", "Of the first.\n"), ("b.md", "Of the second.\n"))
    manifest = SkillManifest(tuple(Resource("csv", path, "support", text) for path, text in texts))
    both = excerpt_of(
        built.trajectory, (first, second), manifest, {first.event, second.event}
    ).events
    assert [event.shown for event in both] == ["Of the first.", "Of the second."]


def test_what_the_harness_put_there_is_known_from_the_first_step_on():
    whole = excerpt(*RUN[1:], injected={"activate": "SKILL.md", "shows": RULE})
    (event,) = whole.events
    assert (event.shown, event.step, event.reached, event.call) == (RULE, 0, 0, "")
    assert [step.index for step in whole.steps] == [1, 2]


def test_another_agents_steps_and_steps_before_the_access_are_left_out():
    built = CaseBuilder({"prompt": "Balance it.", "run": [{"run": "ls", "prints": "a"}, *RUN]})
    *own, last = built.trajectory.steps
    run = replace(built.trajectory, steps=(*own, replace(last, agent="sub-1")))
    whole = excerpt_of(run, tuple(built.events), None, {built.events[0].event})
    assert [(step.agent, step.index) for step in whole.steps] == [("main", 2), ("main", 3)]
    assert whole.task == "Balance it."


def test_of_results_only_the_beginning_is_kept():
    whole = excerpt(*RUN[:2], {"run": "cat big", "prints": "x" * 10_000})
    assert whole.steps[-1].calls[0].output == "x" * OUTPUT


def test_events_that_are_not_asked_about_are_left_out():
    built = CaseBuilder({"run": [RUN[0], *RUN]})
    asked = {built.events[1].event}
    whole = excerpt_of(built.trajectory, tuple(built.events), None, asked)
    assert {event.event for event in whole.events} == asked
    assert whole.steps[0].index == 2

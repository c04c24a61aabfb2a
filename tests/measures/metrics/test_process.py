import pytest

from skilljuror.base.results import TrialContext
from skilljuror.measures.metrics.process import measure, step_texts
from tests.support.metric_contexts import call, event, run, step, trajectory


def process(context):
    return {(row.metric, row.key): row for row in measure(context)}


def of_events(*events, steps=3):
    run_ = trajectory([step(i + 1) for i in range(steps)])
    return process(TrialContext("t", trajectory=run_, events=events))


def test_share_of_skill_related_steps():
    rows = process(run(10, skill=(0, 4, 9)))
    assert rows["skill_steps", ""].value == 3
    assert rows["skill_step_share", ""].value == pytest.approx(0.3)


def test_no_skill_is_zero_and_no_step_is_null():
    assert process(run(4))["skill_step_share", ""].value == 0
    assert process(run(0))["skill_step_share", ""].reason == "no_steps"


@pytest.mark.parametrize("kind", ["edit", "write", "mention"])
def test_authoring_and_naming_are_no_use(kind):
    rows = of_events(event(1, kind))
    assert rows["skill_steps", ""].value == rows["fanout", ""].value == 0
    assert rows["events", kind].value == 1
    assert rows["resource_events", ""].value == 0


def test_step_zero_is_no_step_but_counts_for_fanout():
    rows = of_events(event(0, "activate", via="injected"))
    assert rows["skill_steps", ""].value == 0
    assert rows["fanout", ""].value == 1


def test_a_listing_makes_a_step_skill_related_and_adds_no_resource():
    rows = of_events(event(2, "list", resource=".", resource_class="data"))
    assert (rows["skill_steps", ""].value, rows["fanout", ""].value) == (1, 0)


def test_one_resource_however_often_and_another_of_a_plugin():
    rows = of_events(event(1), event(2), event(3, "activate"))
    assert rows["fanout", ""].value == 1
    rows = of_events(event(1), event(3, "activate", skill="plugin:csv"))
    assert rows["fanout", ""].value == 2
    assert rows["fanout_support", ""].value == 0


SUPPORT = {"resource": "references/x.md", "resource_class": "support"}
CODE = {"resource": "scripts/run.py", "resource_class": "code"}


@pytest.mark.parametrize(
    ("kind", "fields", "flags"),
    [
        ("read", SUPPORT, (1, 0, 0)),
        ("search", SUPPORT | {"content_exposed": "partial"}, (1, 0, 0)),
        ("read", SUPPORT | {"content_exposed": "none"}, (0, 0, 0)),
        ("read", {}, (0, 0, 0)),
        ("exec", CODE | {"content_exposed": "none", "ok": False}, (0, 1, 0)),
        ("import", CODE | {"content_exposed": "none"}, (0, 0, 1)),
        ("read", CODE, (0, 0, 1)),
        ("list", CODE, (0, 0, 0)),
        ("exec", CODE | {"phantom": True}, (0, 0, 0)),
    ],
)
def test_support_script_and_helper_are_independent_flags(kind, fields, flags):
    rows = of_events(event(1, kind, **fields))
    assert tuple(rows[n, ""].value for n in ("support_read", "script_exec", "helper_use")) == flags


def test_sub_agents_stand_under_their_own_key():
    steps = [step(1), step(2), step(1, agent="sub-1")]
    context = TrialContext("t", trajectory=trajectory(steps), events=(event(1, agent="sub-1"),))
    rows = process(context)
    assert (rows["skill_steps", ""].value, rows["skill_steps", "sub"].value) == (0, 1)
    assert (rows["events", "read"].value, rows["events", "sub:read"].value) == (0, 1)


def test_skills_of_the_agent_program_are_left_out():
    assert of_events(event(1, bundled=True))["resource_events", ""].value == 0


def test_phantoms_and_failures_are_counted_apart():
    rows = of_events(event(1, phantom=True, ok=False, content_exposed="none"))
    assert rows["fanout", ""].value == 0
    assert rows["phantom_events", ""].value == rows["failed_events", ""].value == 1


def test_text_share_counts_words_arguments_and_results_in_bytes():
    steps = [step(1, text="", calls=(call("cat SKILL.md", "é" * 10),)), step(2, text="x" * 33)]
    context = TrialContext("t", trajectory=trajectory(steps), events=(event(1),))
    assert step_texts(steps[0]) == ["", "cat SKILL.md", "é" * 10]
    assert process(context)["skill_text_share", ""].value == pytest.approx(0.5)


def test_token_share_needs_every_step_counted():
    partial = TrialContext("t", trajectory=run(2).trajectory, step_tokens={("main", 1): 5})
    full = TrialContext(
        "t", trajectory=run(2).trajectory, events=(event(1),),
        step_tokens={("main", 1): 5, ("main", 2): 15},
    )  # fmt: skip
    assert process(partial)["skill_token_share", ""].reason == "not_counted"
    assert process(full)["skill_token_share", ""].value == 0.25


SUMS = ("step_tokens", "skill_step_tokens", "skill_token_share")


def test_the_token_share_is_made_of_two_sums_of_one_scope():
    steps = [step(1), step(2), step(1, agent="sub-1"), step(1, agent="sub-2")]
    counts = {("main", 1): 30, ("main", 2): 10, ("sub-1", 1): 7, ("sub-2", 1): 13}
    events = (event(2), event(0, "activate", via="injected"), event(1, agent="sub-2"))
    rows = process(
        TrialContext("t", trajectory=trajectory(steps), events=events, step_tokens=counts)
    )
    assert [rows[name, ""].value for name in SUMS] == [40, 10, 0.25]
    assert [rows[name, "sub"].value for name in SUMS] == [20, 13, 0.65]


@pytest.mark.parametrize(
    ("steps", "counts", "reason"),
    [
        (0, {}, "no_steps"),
        (2, {("main", 1): 5}, "not_counted"),
        (2, {("main", 1): 0, ("main", 2): 0}, "no_text"),
    ],
)
def test_the_sums_are_null_where_the_share_is(steps, counts, reason):
    rows = process(TrialContext("t", trajectory=run(steps).trajectory, step_tokens=counts))
    assert {(rows[name, ""].value, rows[name, ""].reason) for name in SUMS} == {(None, reason)}


def test_without_a_log_nothing_is_known():
    rows = process(TrialContext("t"))
    assert {rows[name, ""].reason for name in SUMS} == {"no_trajectory"}

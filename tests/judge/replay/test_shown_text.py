from skilljuror.base.trajectory import Message, Resource, SkillManifest, Step
from skilljuror.judge.replay.shown_text import ShownText
from tests.support.judge_cases import CaseBuilder
from tests.support.metric_contexts import call, event, trajectory

ROOT = "---\nname: csv\n---\nCall load_quarterly_sheet."
LIMITS = "Cap at 48213.5 units.\nNever more."


def manifest():
    return SkillManifest((
        Resource("csv", "SKILL.md", "root", ROOT),
        Resource("csv", "references/limits.md", "support", LIMITS),
    ))


def one_command(events, output):
    """One call that shows everything, at step 1."""
    step = Step(agent="main", index=1, line=1, calls=(call("cat all", output),))
    return ShownText(trajectory([step]), events, manifest()).portions((0, 0), output)


def both(**fields):
    return (
        event(1, resource="SKILL.md", **fields),
        event(1, resource="references/limits.md", resource_class="support", **fields),
    )


def test_lines_are_told_apart_by_the_manifest():
    portions = one_command(both(), f"{ROOT}\n{LIMITS}\nexit 0")
    shown = {portion.events: portion.lines for portion in portions}
    assert shown[0,] == tuple(ROOT.splitlines())
    assert shown[1,] == tuple(LIMITS.splitlines())
    assert shown[()] == ("exit 0",)


def test_lines_are_told_apart_by_count():
    events = (
        event(1, resource="a.md", lines=((1, 2),)),
        event(1, resource="b.md", lines=((1, 1),)),
    )
    portions = one_command(events, "one\ntwo\nthree")
    assert [portion.lines for portion in portions] == [("one", "two"), ("three",)]


def test_lines_that_cannot_be_told_apart_are_shared():
    events = (event(1, resource="a.md"), event(1, resource="b.md"))
    (portion,) = one_command(events, "one\ntwo")
    assert portion.events == (0, 1)


def test_a_run_keeps_what_no_resource_claims():
    runs = event(1, "exec", resource="scripts/x.py", resource_class="code")
    shown = {p.events: p.lines for p in one_command((both()[0], runs), f"{ROOT}\nmean 48.2")}
    assert shown[1,] == ("mean 48.2",)


def test_a_position_without_events_is_nobodys():
    (portion,) = one_command((), "one")
    assert portion.events == ()


def test_a_skill_call_shows_its_body_message():
    step = Step(agent="main", index=1, line=1, calls=(call("x", "Launching skill: csv"),))
    body = Message(agent="main", kind="skill_body", text=ROOT, line=9, step=1, call_id="c")
    run = trajectory([step], messages=(body,))
    shown = ShownText(run, (event(1, "activate", call_id="c"),), manifest())
    assert shown.events_at == {(0, 0): (0,), (-1, 0): (0,)}


def test_a_slash_command_is_found_at_its_own_place():
    body = Message(agent="main", kind="skill_body", text=ROOT, line=9, step=0, command_line=7)
    shown = ShownText(
        trajectory([], messages=(body,)), (event(0, "activate", line=7, via="slash"),), None
    )
    assert shown.events_at == {(-1, 0): (0,)}


def test_two_agents_never_share_a_line():
    built = CaseBuilder({"run": [{"read": "SKILL.md", "shows": ROOT}]})
    other = event(1, agent="sub-1", line=built.events[0].line)
    assert ShownText(built.trajectory, (other,), None).events_at == {}

"""What an agent was shown and did, in its order, and who owns it."""

from skilljuror.base.trajectory import (
    Compaction,
    Message,
    Resource,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
)
from skilljuror.judge.shown import (
    AgentAction,
    ContextText,
    ShownText,
    call_text,
    timeline,
)
from tests.support.metric_contexts import call, event, trajectory


def shell(command, output=None, action="shell", **fields):
    result = None if output is None else ToolResult(text=output, line=1)
    return ToolCall(
        call_id=None, name="x", action=action, line=1, command=command, result=result, **fields
    )


def order(run, agent="main"):
    """The timeline as short strings."""
    named = {AgentAction: "wrote", ContextText: "read", Compaction: "compacted"}
    return [
        f"{named[type(one)]} {getattr(one, 'text', '')}".strip() for one in timeline(run, agent)
    ]


def test_words_calls_results_messages():
    steps = [
        Step("main", 1, 1, text="plan", calls=(shell("a", "A"), shell("b", "B"))),
        Step("main", 2, 5, text="end"),
    ]
    messages = (
        Message("main", "prompt", "task", 0, 0),
        Message("main", "skill_body", "body", 4, 1),
    )
    run = trajectory(steps, messages=messages)
    assert order(run) == [
        "read task", "wrote plan", "wrote a", "wrote b", "read A", "read B", "read body", "wrote end",
    ]  # fmt: skip


def test_a_compaction_lies_between_results_and_summary():
    messages = (Message("main", "summary", "so far", 4, 1),)
    run = trajectory(
        [Step("main", 1, 1, text="x")], messages=messages, compactions=(Compaction("main", 1, 3),)
    )
    assert order(run) == ["wrote x", "compacted", "read so far"]


def test_what_a_poll_brings_belongs_to_the_command():
    steps = [
        Step("main", 1, 1, calls=(shell("cat SKILL.md", "still running"),)),
        Step("main", 2, 2, calls=(shell("cat SKILL.md", "body", action="poll"),)),
    ]
    run = trajectory(steps)
    assert order(run) == ["wrote cat SKILL.md", "read still running", "read body"]
    assert {getattr(entry, "position", None) for entry in timeline(run, "main")} == {(0, 0)}


def test_agents_have_runs_of_their_own():
    run = trajectory([Step("main", 1, 1, text="m"), Step("sub-1", 1, 2, text="s")])
    assert order(run) == ["wrote m"]
    assert order(run, "sub-1") == ["wrote s"]


def test_every_piece_of_a_call_once_however_deep():
    deep: dict[str, object] = {"leaf": "deepest"}
    for _ in range(5000):
        deep = {"in": [deep]}
    call = shell("run me", arguments={"command": "run me", "why": deep})
    assert call_text(call) == "run me\ndeepest"


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

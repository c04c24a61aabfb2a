from skilljuror.base.trajectory import Compaction, Message, Step, ToolCall, ToolResult
from skilljuror.judge.replay.timeline import (
    AgentAction,
    ContextText,
    call_text,
    timeline,
)
from tests.support.metric_contexts import trajectory


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


def test_a_message_of_a_step_that_the_log_lacks_comes_last():
    run = trajectory(
        [Step("main", 1, 1, text="x")], messages=(Message("main", "other", "y", 1, 9),)
    )
    assert order(run) == ["wrote x", "read y"]


def test_every_piece_of_a_call_once_however_deep():
    deep: dict[str, object] = {"leaf": "deepest"}
    for _ in range(5000):
        deep = {"in": [deep]}
    call = shell("run me", arguments={"command": "run me", "why": deep})
    assert call_text(call) == "run me\ndeepest"

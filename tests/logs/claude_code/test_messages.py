"""Messages of Claude Code: steps, results, prompts and commands."""

import json
from typing import Any

import pytest

from skilljuror.base.trajectory import Usage
from tests.support import goldens
from tests.support.claude_logs import (
    SESSION,
    Row,
    assistant,
    parsed,
    results_by_call,
    row,
    runs,
    tool_result,
    tool_use,
    user,
    write_lines,
)


def test_an_answer_before_its_call_is_its_answer(tmp_path):
    run = parsed(tmp_path, user(1, "hi"), user(2, [tool_result("c1", "early")]), user(3, [tool_result("c9")]),
                 assistant(4, tool_use("c1"), tool_use("c2")), user(5, [tool_result("c2", "late")]))  # fmt: skip
    assert results_by_call(run) == {"c1": "early", "c2": "late"}
    assert run.skipped == {"user/tool_result without call": 1}


def test_messages_without_an_id_are_steps_of_their_own(tmp_path):
    rows = [
        assistant(2, tool_use("c1")),
        assistant(3, tool_use("c2")),
        assistant(4, tool_use("c3")),
    ]
    for one in rows:
        del one["message"]["id"]
    assert len(parsed(tmp_path, user(1, "hi"), *rows).steps) == 3


def test_messages_without_an_id_on_one_line_are_steps_of_their_own(tmp_path):
    path = write_lines(tmp_path / "projects" / "-w" / f"{SESSION}.jsonl", user(1, "hi"))
    rows = [assistant(2, tool_use("c2")), assistant(3, tool_use("c3"))]
    for one in rows:
        del one["message"]["id"]
    path.write_text(path.read_text("utf-8") + "".join(map(json.dumps, rows)) + "\n", "utf-8")
    (run,) = runs(path)
    assert [step.line for step in run.steps] == [2, 2]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_class_that_one_record_of_a_message_leaves_out_is_not_lost(tmp_path, reverse):
    usages = [
        {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500, "output_tokens": 1},
        {"input_tokens": 3, "cache_creation_input_tokens": None, "output_tokens": 90},
    ]  # fmt: skip
    if reverse:
        usages.reverse()
    rows = [
        assistant(n, tool_use(f"c{n}"), id="msg_a", usage=usage)
        for n, usage in enumerate(usages, 2)
    ]
    run = parsed(tmp_path, user(1, "hi"), *rows)
    assert run.usage == Usage(input=3, cache_write=40, cache_read=500, output=90)


@pytest.mark.parametrize(
    "value",
    ["12", -1, 2**70, 1.5, True, [], {}, None],
    ids=["text", "below zero", "too big", "no whole number", "boolean", "list", "object", "null"],
)
def test_a_count_that_is_none_is_unknown_and_not_zero(tmp_path, value):
    run = parsed(tmp_path, user(1, "hi"), assistant(2, tool_use("c1"), usage={"input_tokens": value, "output_tokens": 7}))  # fmt: skip
    assert run.usage == Usage(output=7)


def test_what_the_harness_kept_of_one_result_is_not_told_of_another(tmp_path):
    kept = {"type": "text", "file": {"filePath": "/w/a", "content": "alpha", "startLine": 1, "totalLines": 1}}  # fmt: skip
    calls = tool_use("c1", "Read", file_path="/w/a"), tool_use("c2", "Read", file_path="/w/b")
    both = user(
        3, [tool_result("c1", "1\talpha"), tool_result("c2", "1\tbeta")], toolUseResult=kept
    )
    run = parsed(tmp_path, user(1, "hi"), assistant(2, *calls), both)
    assert [one.result and one.result.clean for one in run.steps[0].calls] == ["alpha", "beta"]


@pytest.mark.parametrize(
    ("more", "kind"),
    [({}, "prompt"), ({"isCompactSummary": True}, "summary")],
    ids=["prompt", "summary"],
)
def test_a_text_that_quotes_a_command_is_none(tmp_path, more, kind):
    quoted = "Why does <command-name>/tides</command-name> stand in my log?"
    run = parsed(tmp_path, user(1, quoted, **more), assistant(2, {"type": "text", "text": "ok"}))
    assert [(one.kind, one.skill) for one in run.messages] == [(kind, None)]


@pytest.mark.parametrize("head", ["", "\n  ", "<command-message>tides</command-message>\n"])
def test_a_slash_command_is_one(tmp_path, head):
    run = parsed(tmp_path, user(1, f"{head}<command-name>/sea:tides</command-name>\n<command-args></command-args>"))  # fmt: skip
    assert [(one.kind, one.skill) for one in run.messages] == [("slash", "sea:tides")]


def test_claude_tells_thinking_tokens_only_where_the_log_does():
    (new,) = goldens.trajectories("claude-session/skill-call")
    (old,) = goldens.trajectories("claude-session/slash-and-compaction")
    assert new.usage is not None
    assert old.usage is not None
    assert (new.usage.reasoning, old.usage.reasoning) == (12, None)


def queued(number: int, prompt: Any, **more: Any) -> Row:
    """A record of what was said to the agent while it worked."""
    held = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt}
    return row(number, "attachment", attachment={**held, **more})


def queue(operation: str, **more: Any) -> Row:
    return {"type": "queue-operation", "operation": operation, "sessionId": SESSION, **more}


def test_what_is_typed_while_a_tool_runs_is_a_prompt(tmp_path):
    run = parsed(
        tmp_path,
        user(1, "Fire it."),
        assistant(2, tool_use("c1")),
        queue("enqueue", content="Hold 12 minutes."),
        queued(3, "Hold 12 minutes."),
        queue("remove"),
        queue("enqueue", content="At cone 6."),
        queue("enqueue", content="Cool slowly."),
        queue("remove"),
        queue("popAll"),
        queue("remove"),
        queued(4, [{"type": "text", "text": "No lustre."}]),
        queued(5, "<task-notification>done</task-notification>", commandMode="task-notification"),
        queued(6, "I am another agent.", origin={"kind": "peer"}),
        user(7, [tool_result("c1")]),
        assistant(8, {"type": "text", "text": "Fired."}),
    )
    said = {
        kind: [one.text for one in run.messages if one.kind == kind] for kind in ("prompt", "other")
    }
    assert said["prompt"] == ["Fire it.", "Hold 12 minutes.", "At cone 6.", "No lustre."]
    assert len(said["other"]) == 2
    assert {one.step for one in run.messages} == {0, 1}


def test_tokens_of_an_advising_model_belong_to_the_run(tmp_path):
    advice = {
        "type": "advisor_message",
        "model": "claude-y",
        "input_tokens": 70,
        "output_tokens": 7,
    }
    usage = {"input_tokens": 9, "output_tokens": 1, "iterations": [{"type": "message"}, advice]}
    parts = [{"type": "text", "text": text} for text in ("So", "be it.")]
    run = parsed(
        tmp_path, user(1, "Go."), *(assistant(n, part, id="m", usage=usage) for n, part in enumerate(parts, 2))
    )  # fmt: skip
    assert run.usage is not None
    assert (run.usage.input, run.usage.output) == (79, 8)
    assert [(step.agent, step.model) for step in run.steps] == [
        ("main", "claude-x"),
        ("advisor", "claude-y"),
    ]

"""Claude Code: odd orders and shapes of sessions and streams."""

import json
from typing import Any

import pytest

from skilljuror.base.trajectory import Usage
from skilljuror.logs.assembly import CallBuilder, TrajectoryBuilder
from skilljuror.logs.claude_code import read_result as claude_result
from tests.support import places
from tests.support.claude_logs import (
    SESSION,
    SNAPSHOT,
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


@pytest.mark.parametrize("reverse", [False, True])
def test_a_class_that_one_record_of_a_message_leaves_out_is_not_lost(tmp_path, reverse):
    usages = [
        {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500, "output_tokens": 1,
         "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 30}},
        {"input_tokens": 3, "cache_creation_input_tokens": None, "output_tokens": 90},
    ]  # fmt: skip
    if reverse:
        usages.reverse()
    rows = [
        assistant(n, tool_use(f"c{n}"), id="msg_a", usage=usage)
        for n, usage in enumerate(usages, 2)
    ]
    run = parsed(tmp_path, user(1, "hi"), *rows)
    assert run.usage == Usage(input=3, cache_write=40, cache_read=500, output=90, hour_write=30)


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


def test_a_record_behind_bookkeeping_on_one_line_is_read(tmp_path):
    rows = [assistant(2, tool_use("c1")), user(3, [tool_result("c1")])]
    path = write_lines(tmp_path / "projects" / "-w" / f"{SESSION}.jsonl", SNAPSHOT, user(1, "hi"))
    snapshot = json.dumps(SNAPSHOT, separators=(",", ":"))
    with path.open("a", encoding="utf-8") as log:
        log.writelines(f"{snapshot}{json.dumps(one)}\n" for one in rows)
    (run,) = runs(path)
    assert results_by_call(run) == {"c1": "done"}
    assert run.skipped == {"file-history-snapshot": 3}
    assert run.warnings == ()


def progress(number: int, kind: str, **data: Any) -> Row:
    """A record of progress."""
    return row(number, "progress", data={"type": kind, **data})


def test_the_main_model_is_that_of_the_main_agent(tmp_path):
    warm = assistant(2, {"type": "text", "text": "ready"}, isSidechain=True)
    warm["message"]["model"] = "claude-small"
    run = parsed(tmp_path, user(1, "hi"), warm, assistant(3, {"type": "text", "text": "ok"}))
    assert [(step.agent, step.model) for step in run.steps] == [("sidechain", "claude-small"), ("main", "claude-x")]  # fmt: skip
    assert run.model == "claude-x"


def attached(number: int, path: str) -> Row:
    file = {"filePath": path, "content": "text", "startLine": 1, "totalLines": 1}
    held = {"type": "file", "filename": path, "content": {"type": "text", "file": file}}
    return row(number, "attachment", attachment=held)


def test_a_file_named_in_a_later_prompt_is_not_put_back_by_the_compaction(tmp_path):
    run = parsed(
        tmp_path, user(1, "@a"), attached(2, "/w/a"), assistant(3, {"type": "text", "text": "ok"}),
        row(4, "system", subtype="compact_boundary"), user(5, "Summary", isCompactSummary=True),
        user(6, "<command-name>/compact</command-name>"), attached(7, "/w/b"),
        user(8, "@c"), attached(9, "/w/c"),
    )  # fmt: skip
    files = {one.path: one.kind for one in run.messages if one.path}
    assert files == {"/w/a": "other", "/w/b": "reinjected", "/w/c": "other"}


def failed(number: int) -> Row:
    one = assistant(number, {"type": "text", "text": "API Error: 500"}, isApiErrorMessage=True)
    one["message"]["model"] = "<synthetic>"
    return one


def test_a_prompt_after_an_error_of_the_api_waits_for_an_answer(tmp_path):
    assert parsed(tmp_path, user(1, "hi"), failed(2)).complete
    assert not parsed(tmp_path, user(1, "hi"), failed(2), user(3, "Again")).complete


def test_a_nested_record_that_comes_again_counts_as_repeated(tmp_path):
    nested = {"type": "user", "uuid": "n1", "timestamp": "2026-03-02T10:02:00Z",
              "message": {"role": "user", "content": "go"}}  # fmt: skip
    rows = [progress(n, "agent_progress", agentId="a1", message=nested) for n in (2, 3)]
    run = parsed(tmp_path, user(1, "hi"), *rows, assistant(4, {"type": "text", "text": "ok"}))
    assert run.skipped == {"repeated record": 1}
    assert [(one.agent, one.text) for one in run.messages] == [("main", "hi"), ("a1", "go")]


def stated(*usages: tuple[int, int], extra: int = 0) -> list[Row]:
    """A stream of one answer per prompt: (prompt tokens of the answer, those that the result tells)."""
    rows: list[Row] = []
    for number, (seen, total) in enumerate(usages, 1):
        message = {"id": f"msg_{number}", "model": "claude-x", "content": [{"type": "text", "text": "ok"}],
                   "usage": {"input_tokens": 3, "cache_read_input_tokens": seen - 3, "output_tokens": 1}}  # fmt: skip
        model = {"inputTokens": 3 * number, "cacheReadInputTokens": total - 3 * number,
                 "cacheCreationInputTokens": 0, "outputTokens": 10 * number, "costUSD": 0.5 * number}  # fmt: skip
        rows += [
            {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x"},
            {"type": "assistant", "session_id": "s", "message": message},
            {"type": "result", "subtype": "success", "session_id": "s", "modelUsage": {"claude-x": model}},
        ]  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("usages", "prompt"),
    [
        (((9000, 9000), (10_000, 19_000), (11_000, 30_000)), 30_000),
        (((9000, 9200), (10_000, 19_500)), 19_500),
        (((9000, 9000), (10_000, 10_000)), 19_000),
        (((9000, 9000), (10_000, 10_000), (11_000, 21_000)), 30_000),
        (((9000, 9000), (3000, 3000)), 12_000),
    ],
    ids=[
        "three running totals",
        "side requests",
        "resumed once",
        "resumed, then running",
        "smaller than before",
    ],
)
def test_a_process_states_its_running_total_and_a_new_one_begins_anew(tmp_path, usages, prompt):
    (run,) = runs(write_lines(tmp_path / "stdout.jsonl", *stated(*usages)))
    assert run.usage is not None
    assert (run.usage.input or 0) + (run.usage.cache_read or 0) == prompt


def test_the_summary_in_a_stream_is_one(tmp_path):
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x"}
    texts = [{"type": "user", "isSynthetic": True, "message": {"content": text}} for text in ("Note", "So far", "Note")]  # fmt: skip
    boundary = {"type": "system", "subtype": "compact_boundary"}
    (run,) = runs(write_lines(tmp_path / "stdout.jsonl", init, texts[0], boundary, *texts[1:]))
    assert [one.kind for one in run.messages] == ["other", "summary", "other"]


REAL = places.CORPUS / "claude-session-jsonl"


@pytest.mark.shared
@pytest.mark.skipif(not REAL.is_dir(), reason="the corpus of real logs is not beside the checkout")
def test_real_streams_offer_one_skill_of_the_task():
    found = [run for run in runs(REAL) if run.format == "claude-stream"]
    named = {one.name for run in found for one in run.offered or () if not one.bundled}
    assert len(found) > 10
    assert named == {"csv-report"}


def test_a_command_that_goes_on_after_a_while_has_no_status_yet(tmp_path):
    kept = {"stdout": "one", "stderr": "", "interrupted": False, "backgroundTaskId": "b7"}
    notice = "one\nCommand was manually backgrounded by user with ID: b7"
    more = tool_result(
        "c2", "<status>completed</status>\n<exit_code>3</exit_code>\n<output>two</output>"
    )
    rows = [
        user(1, "hi"), assistant(2, tool_use("c1", command="cat a; make")),
        user(3, [tool_result("c1", notice)], toolUseResult=kept),
        assistant(4, tool_use("c2", "TaskOutput", task_id="b7")), user(5, [more]),
    ]  # fmt: skip
    (started,) = parsed(tmp_path / "cut", *rows[:3]).steps[0].calls
    assert started.result is not None
    assert (started.result.ok, started.result.exit_code, started.result.text) == (
        None,
        None,
        notice,
    )
    first, then = (step.calls[0] for step in parsed(tmp_path / "whole", *rows).steps)
    assert first.result is not None
    assert (first.result.ok, first.result.exit_code) == (False, 3)
    assert then.command == "cat a; make"
    assert then.result is not None
    assert then.result.clean == "two"


@pytest.mark.parametrize(
    ("text", "clean", "exit_code"),
    [
        ("Exit code 3\none\ntwo", "one\ntwo", 3),
        ("Exit code 1", "", 1),
        ("Exit code 10 is what it should give", None, None),
        ("The user doesn't want to proceed with this tool use.", None, None),
    ],
)
def test_claude_puts_the_exit_code_before_the_output(text, clean, exit_code):
    call = CallBuilder("c", "Bash", {"command": "x"}, 1)
    result = claude_result(TrajectoryBuilder(), call, {"content": text, "is_error": True}, None)
    assert (result.clean, result.exit_code, result.ok) == (clean, exit_code, False)

"""Codex rollouts: facts that come in several spellings or orders."""

import json

from skilljuror.logs.codex.messages import SKILL_LIST_CUT
from skilljuror.store.rows import trajectory_row
from tests.support.parsed_logs import calls_of, read_one


def codex(tmp_path, *payloads):
    records = [("session_meta", {"id": "t1", "cwd": "/w"}), *payloads]
    stamp = "2026-03-01T09:00:00.000Z"
    rows = [{"timestamp": stamp, "type": kind, "payload": held} for kind, held in records]
    path = tmp_path / "rollout-t1.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return read_one(path, "codex-rollout")


CALL = (
    "response_item",
    {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
)
OUTPUT = (
    "response_item",
    {
        "type": "function_call_output", "call_id": "c1",
        "output": "Chunk ID: a1\nWall time: 9.0 seconds\nProcess exited with code 0\nOutput:\nx",
    },
)  # fmt: skip
ENDED = (
    "event_msg",
    {
        "type": "item_completed",
        "item": {
            "type": "CommandExecution", "id": "c1", "exit_code": 3,
            "duration": {"secs": 1, "nanos": 500_000_000},
        },
    },
)  # fmt: skip


def test_codex_takes_a_command_s_end_from_its_event_whichever_comes_first(tmp_path):
    for order in ((CALL, ENDED, OUTPUT), (CALL, OUTPUT, ENDED)):
        (call,) = calls_of(codex(tmp_path, *order), "shell")
        assert call.result is not None
        assert (call.result.exit_code, call.result.seconds) == (3, 1.5)
        assert call.result.text.endswith("x")


def test_an_input_count_that_leaves_its_cache_out_is_handed_on(tmp_path):
    info = {
        "total_token_usage": {"input_tokens": 30, "cached_input_tokens": 500, "output_tokens": 7}
    }
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
    counted = {"type": "token_count", "info": info}
    run = codex(tmp_path, ("response_item", said), ("event_msg", counted))
    assert run.usage is not None
    assert (run.usage.input, run.usage.cache_read) == (-470, 500)
    row = trajectory_row(run, None)
    assert (row.input, row.cache_read, row.output) == (None, 500, 7)


def test_codex_counts_the_lines_of_its_own_reader_from_one(tmp_path):
    arguments = json.dumps({"file_path": "/w/a.md", "offset": 5, "limit": 2})
    asked = {"type": "function_call", "name": "read_file", "call_id": "c1", "arguments": arguments}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "L5: five\nL6: "}
    (call,) = calls_of(codex(tmp_path, ("response_item", asked), ("response_item", answer)), "read")
    assert (call.start, call.count) == (5, 2)
    assert call.result is not None
    assert (call.result.clean, call.result.first_line, call.result.ok) == ("five\n", 5, True)


def test_a_list_of_skills_that_was_cut_says_so(tmp_path):
    said = "Skill descriptions were shortened to fit the skills context budget."
    run = codex(tmp_path, CALL, ("event_msg", {"type": "warning", "message": said}))
    assert [one.partition(": ")[2] for one in run.warnings] == [SKILL_LIST_CUT]


def test_a_stream_says_so_too(tmp_path):
    said = "Exceeded skills context budget. All skill descriptions were removed."
    item = {"id": "item_0", "type": "error", "message": said}
    log = tmp_path / "codex.jsonl"
    records = [
        {"type": "thread.started", "thread_id": "t1"}, {"type": "turn.started"},
        {"type": "item.completed", "item": item},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "ok"}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}},
    ]  # fmt: skip
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    assert read_one(log, "codex-exec").warnings == (f"line 3: {SKILL_LIST_CUT}",)

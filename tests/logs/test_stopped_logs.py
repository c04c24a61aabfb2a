"""A log whose writer was stopped is not complete, even where its last line is whole."""

import json
from pathlib import Path

import pytest

from skilljuror.base.trajectory import Trajectory
from skilljuror.logs.assembly import MAIN
from skilljuror.logs.base import Source
from skilljuror.logs.read import read
from tests.support import goldens

SESSIONS = ("claude-session", "codex-rollout", "copilot-cli")
"""Formats of one record per line that do not end with a record of the whole run."""
KILLED = {"claude-session/slash-and-compaction", "codex-rollout/killed"}
"""Goldens that end while a call waits."""
CASES = [
    case
    for case in goldens.cases()
    if case.split("/")[0] in SESSIONS and goldens.raw(case).is_file()
]


def parsed(path: Path, format: str) -> Trajectory:
    (run,) = read(Source(path), format)
    return run


def open_lines(run: Trajectory) -> set[int]:
    """Lines after which a call of the main agent still waits for its first result."""
    found: set[int] = set()
    for call in (call for step in run.steps_of(MAIN) for call in step.calls):
        if call.result is not None:
            found |= set(range(call.line, call.result.line))
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_log_cut_between_a_call_and_its_result_is_not_complete(case, tmp_path):
    format, original = case.split("/")[0], goldens.raw(case)
    lines = original.read_bytes().splitlines(keepends=True)
    waiting = sorted(open_lines(parsed(original, format)))
    assert waiting
    for line in waiting:
        cut = tmp_path / original.name
        cut.write_bytes(b"".join(lines[:line]))
        assert not parsed(cut, format).complete, line


@pytest.mark.parametrize("case", CASES)
def test_only_stopped_goldens_are_incomplete(case):
    (run,) = goldens.trajectories(case)
    assert run.complete == (case not in KILLED)


def codex(tmp_path: Path, *ends: str) -> Trajectory:
    """A thread that stops inside a call, with these turn events after it."""
    lines = goldens.raw("codex-rollout/killed").read_text("utf-8").splitlines()
    stamp = "2026-03-01T09:01:00.000Z"
    lines += [
        json.dumps({"timestamp": stamp, "type": "event_msg", "payload": {"type": end}})
        for end in ends
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return parsed(path, "codex-rollout")


def test_a_turn_that_was_ended_is_complete_whatever_waited(tmp_path):
    assert not codex(tmp_path).complete
    assert codex(tmp_path, "task_complete").complete
    assert codex(tmp_path, "turn_aborted").complete


def test_an_error_of_the_api_ends_a_claude_session(tmp_path):
    original = goldens.raw("claude-session/slash-and-compaction")
    row = {
        "type": "assistant", "uuid": "e1", "sessionId": "s", "isSidechain": False,
        "isApiErrorMessage": True, "message": {"model": "<synthetic>", "content": "API Error: 500"},
    }  # fmt: skip
    ended = tmp_path / "raw.jsonl"
    ended.write_text(original.read_text("utf-8") + json.dumps(row) + "\n", encoding="utf-8")
    assert not parsed(original, "claude-session").complete
    assert parsed(ended, "claude-session").complete

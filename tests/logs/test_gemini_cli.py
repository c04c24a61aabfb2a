"""Gemini CLI: sub-agents, and tool results as the model saw them."""

import json

import pytest

from skilljuror.logs.assembly import REWOUND, CallBuilder, TrajectoryBuilder
from skilljuror.logs.base import Source
from skilljuror.logs.gemini_cli import read_result as gemini_result
from skilljuror.logs.read import read
from tests.support.parsed_logs import calls_of, read_one


def gemini(tmp_path, *agent_ids: str | None):
    """A chat with one call per id (None: it names no chat) and the chats `a` and `b`."""
    given = []
    for number, agent in enumerate(agent_ids):
        named = {"agentId": agent} if agent else {}
        given.append({"id": f"g{number}", "name": "invoke_agent", "args": {}, **named})
    head = {"sessionId": "main", "projectHash": "0"}
    rows = [head, {"id": "m", "type": "gemini", "content": "", "toolCalls": given}]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    children = []
    for name in ("a", "b"):
        rows = [{**head, "sessionId": name}, {"id": name, "type": "gemini", "content": "hello"}]
        children.append(tmp_path / f"{name}.jsonl")
        children[-1].write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return read_one(path, "gemini-chat", children)


def test_gemini_calls_are_joined_to_the_chat_they_name(tmp_path):
    for named, expected in (
        (("b", "a"), ["b", "a"]),
        ((None, None), ["a", "b"]),
        ((None, "a"), ["b", "a"]),
    ):
        calls = calls_of(gemini(tmp_path, *named), "agent")
        assert [call.agent for call in calls] == expected


def test_a_rewound_session_says_so(tmp_path):
    log = tmp_path / "session.jsonl"
    head = {"sessionId": "s", "projectHash": "p"}
    answer = {"id": "a", "type": "gemini", "content": "Done."}
    log.write_text("\n".join(map(json.dumps, [head, answer, {"$rewindTo": "a"}])), encoding="utf-8")
    (run,) = read(Source(log), "gemini-chat")
    assert run.warnings == (f"line 3: {REWOUND}",)


OLDER_FRAME = "Command: cat a\ncat b\nDirectory: (root)\nOutput: one\ntwo\nError: (none)\nExit Code: 4\nSignal: (none)\nProcess Group PGID: 9"


def test_repeats_the_command_in_older_versions():
    call = CallBuilder("c", "run_shell_command", {"command": "cat a\ncat b"}, 1)
    result = gemini_result(TrajectoryBuilder(), call, OLDER_FRAME, False)
    assert (result.clean, result.exit_code, result.ok) == ("one\ntwo", 4, False)


@pytest.mark.parametrize(
    "notice",
    [
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 5-6 of 31 total lines.\nAction: To read more, use offset.\n\n--- FILE CONTENT (truncated) ---\n",
        "[File content truncated: showing lines 5-6 of 31 total lines. Use offset/limit parameters to view more.]\n",
    ],
)
def test_says_which_lines_of_a_long_file_it_shows(notice):
    call = CallBuilder("c", "read_file", {"absolute_path": "a", "offset": 4}, 1)
    result = gemini_result(TrajectoryBuilder(), call, f"{notice}one\ntwo", False)
    assert (result.clean, result.first_line, result.total_lines) == ("one\ntwo", 5, 31)


def call(name, **arguments) -> CallBuilder:
    return CallBuilder("c", name, arguments, 1)


@pytest.mark.parametrize(
    ("shown", "code", "ok", "clean"),
    [
        ("<untrusted_context>\nOutput: a\nb\nExit Code: 7\nProcess Group PGID: 1\n</untrusted_context>", 7, False, "a\nb"),
        ("<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 1\n</untrusted_context>", 0, True, ""),
        ("just text", None, None, None),
    ],
)  # fmt: skip
def test_shell(shown, code, ok, clean):
    result = gemini_result(
        TrajectoryBuilder(), call("run_shell_command", command="x"), shown, False
    )
    assert (result.exit_code, result.ok, result.clean) == (code, ok, clean)

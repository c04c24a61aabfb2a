"""Gemini chats: which call started which sub-agent."""

import json

from skilljuror.logs.assembly.builders import REWOUND
from skilljuror.logs.base import Source
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

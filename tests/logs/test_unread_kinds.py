"""Logs of programs that no format reads: none of ours claims them, and each has its name and reason."""

import json

import pytest

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs import FORMATS
from skilljuror.logs.base import Parser, Source
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import claims, read
from tests.support.claude_logs import SESSION, assistant, row, tool_result, tool_use, user
from tests.support.parsed_logs import write_json

TIME = "2026-03-02T10:00:00.000Z"
CLAUDE = [user(1, "Read."), assistant(2, tool_use("c")), user(3, [tool_result("c", "text")])]


def codex(type, payload):
    return {"timestamp": TIME, "type": type, "payload": payload}


ANSWER = {"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "text"}}}
INIT = {"type": "system", "subtype": "init", "session_id": SESSION, "cwd": "/w", "model": "m"}
SAID = {"type": "assistant", "session_id": SESSION, "message": {"content": [{"type": "text"}]}}
LINES = {
    "iFlow session": [
        one | {"sessionId": f"session-{SESSION}"}
        for one in [*CLAUDE[:2], user(3, [tool_result("c", ANSWER)])]
    ],
    "TraeX session": [
        codex("session_meta", {"id": "t", "cwd": "/w", "model_provider": "traex"}),
        codex("response_item", {"type": "message", "role": "user", "content": [{"text": "Read."}]}),
    ],
    "Qwen Code stream": [INIT | {"tools": [], "qwen_code_version": "0.9.0"}, SAID],
    "Cursor stream": [INIT | {"apiKeySource": "login", "permissionMode": "default"}, SAID],
}
DOCUMENTS = [
    ("Qwen Code chat", {"sessionId": "s", "projectHash": "h", "messages": [
        {"type": "user", "content": "Read."}, {"type": "qwen", "content": "", "toolCalls": []},
    ]}),
]  # fmt: skip


def in_lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def logs(tmp_path):
    """Path of a log -> its kind."""
    told = {write_json(tmp_path / f"{kind}.jsonl", in_lines(LINES[kind])): kind for kind in LINES}
    for number, (kind, value) in enumerate(DOCUMENTS):
        told[write_json(tmp_path / f"document{number}.json", value)] = kind
    return told


def test_each_kind_is_named_with_its_reason_and_no_format_of_ours_claims_it(logs, tmp_path):
    found = {one.source.path: (one.format, one.problem) for one in discover([tmp_path])}
    assert found == {path: (None, f"{kind}: unsupported log format") for path, kind in logs.items()}


def test_what_resembles_them_keeps_its_reader(tmp_path):
    ours = {
        "claude-session": CLAUDE,
        "claude-stream": [INIT | {"tools": [], "apiKeySource": "none"}, SAID],
        "codex-rollout": [codex("session_meta", {"id": "t", "model_provider": "openai"})],
        "gemini-chat": [
            {
                "sessionId": "s",
                "projectHash": "h",
                "messages": [{"type": "user", "content": "qwen"}],
            }
        ],
    }
    for format, records in ours.items():
        assert claims(Source(tmp_path, in_lines(records).encode())) == [format]


class Plugin(Parser):
    def sniff(self, source):
        return True

    def parse(self, source):
        return iter(())


def test_a_format_of_another_package_may_claim_one(tmp_path):
    path = write_json(tmp_path / "log.jsonl", in_lines(LINES["iFlow session"]))
    plugin = f"{__name__}:Plugin"
    assert [one.format for one in discover([path], formats=(*FORMATS, plugin))] == [plugin]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("codex-rollout", in_lines([codex("session_meta", {"id": "t"}), codex("turn", {})])),
        ("claude-session", in_lines([row(1, "user", message={"role": "user", "content": []})])),
        ("gemini-chat", json.dumps({"sessionId": "s", "projectHash": "h", "messages": [{}]})),
    ],
)
def test_a_log_of_which_nothing_is_read_is_an_error(tmp_path, format, text):
    (found,) = discover([write_json(tmp_path / "log.jsonl", text)])
    assert found.format == format
    with pytest.raises(TrajectoryError, match=f"has no message, step or call in {format} format"):
        list(read(found.source, format))

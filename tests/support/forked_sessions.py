"""Sessions that another session continues with a copy of their records, in the form of each agent.

Each writes two steps: one that reads a Skill's file (1,000 tokens in, 10 out) and an answer (1,100 in,
20 out). A fork repeats both and adds one of 500 in and 5 out.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]

TEXT = "---\nname: kiln\ndescription: Fire clay.\n---\n\nCone 6 is 1222 C.\nHold for ten minutes.\n"
SKILL = "/w/.agents/skills/kiln/SKILL.md"
EARLIER, LATER = "01a10000-0000-7000-8000-00000000000a", "01a20000-0000-7000-8000-00000000000b"
"""Ids of two threads; the first characters are their time."""


class Written(NamedTuple):
    """Logs of a session and of its fork."""

    first: Path
    fork: Path


def write_lines(path: Path, rows: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def codex_meta(id: str, **more: Any) -> Row:
    return {"type": "session_meta", "payload": {"id": id, "cwd": "/w", **more}}


def codex_turn(id: str, said: str, answer: str, *used: tuple[int, int], read: bool = False) -> list[Row]:  # fmt: skip
    """A turn; `used` are the totals of tokens in and out before it and after each response."""
    rows: list[tuple[str, Row]] = [
        ("event_msg", {"type": "task_started", "turn_id": id}),
        ("turn_context", {"turn_id": id, "model": "gpt-5.5"}),
        ("response_item", _message("user", said)),
    ]
    if read:
        call = {"name": "exec_command", "arguments": json.dumps({"cmd": f"cat {SKILL}"})}
        shown = f"Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{TEXT}"
        rows += [
            ("response_item", {"type": "function_call", "call_id": "c1", **call}),
            ("response_item", {"type": "function_call_output", "call_id": "c1", "output": shown}),
            ("event_msg", _tokens(*used[:2])),
        ]
    rows += [
        ("response_item", _message("assistant", answer)),
        ("event_msg", _tokens(*used[-2:])),
        ("event_msg", {"type": "task_complete", "turn_id": id}),
    ]
    return [{"type": kind, "payload": payload} for kind, payload in rows]


def _message(role: str, text: str) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _tokens(before: tuple[int, int], after: tuple[int, int]) -> Row:
    last = after[0] - before[0], after[1] - before[1]
    total, response = (
        {"input_tokens": given, "cached_input_tokens": 0, "output_tokens": made}
        for given, made in (after, last)
    )
    return {
        "type": "token_count",
        "info": {"total_token_usage": total, "last_token_usage": response},
    }


def dated(rows: list[Row], hour: int) -> list[Row]:
    return [
        {"timestamp": f"2026-03-02T{hour:02}:00:{n:02}.000Z", **row} for n, row in enumerate(rows)
    ]


FIRST_TURN = codex_turn(
    "01a10000-0001-7000-8000-000000000001", "Fire it.", "Fired.", (0, 0), (1000, 10), (2100, 30),
    read=True,
)  # fmt: skip
OWN_TURN = codex_turn(
    "01a20000-0001-7000-8000-000000000002", "Why?", "Cone 6.", (2100, 30), (2600, 35)
)


def codex_fork(folder: Path, **meta: Any) -> Written:
    """A thread, and a fork whose file copies it, stamped anew."""
    first = [codex_meta(EARLIER), *FIRST_TURN]
    fork = [codex_meta(LATER, forked_from_id=EARLIER, **meta), *first, *OWN_TURN]
    return Written(
        write_lines(folder / f"rollout-1-{EARLIER}.jsonl", dated(first, 9)),
        write_lines(folder / f"rollout-2-{LATER}.jsonl", dated(fork, 10)),
    )


def codex_based(folder: Path) -> Written:
    """A fork whose file names its history, and counts on from it."""
    first = [codex_meta(EARLIER), *FIRST_TURN]
    base = {"thread_id": EARLIER, "end_ordinal_exclusive": len(first)}
    fork = [codex_meta(LATER, forked_from_id=EARLIER, history_base=base), *OWN_TURN]
    return Written(
        write_lines(folder / f"rollout-1-{EARLIER}.jsonl", dated(first, 9)),
        write_lines(folder / f"rollout-2-{LATER}.jsonl", dated(fork, 10)),
    )


def claude_rows(session: str, marks: Row) -> list[Row]:
    """The session that is copied."""
    read = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": SKILL}}
    shown = {"type": "tool_result", "tool_use_id": "toolu_1", "content": TEXT}
    rows = [
        _claude("user", "u1", 1, content="Fire it."),
        _claude("assistant", "u2", 2, id="msg_1", content=[read], usage=_used(1000, 10)),
        _claude("user", "u3", 3, content=[shown]),
        _claude("assistant", "u4", 4, id="msg_2", content="Fired.", usage=_used(1100, 20)),
    ]
    return [{**row, "sessionId": session, **marks} for row in rows]


def claude_fork(folder: Path, *, marked: bool = True) -> Written:
    """A session, and its fork under another id; without marks, only the ids of messages tell."""
    marks = {"forkedFrom": {"sessionId": EARLIER}} if marked else {}
    own = [
        _claude("user", "u8", 58, content="Why?"),
        _claude("assistant", "u9", 59, id="msg_9", content="Cone 6.", usage=_used(500, 5)),
    ]
    fork = claude_rows(LATER, marks) + [{**row, "sessionId": LATER} for row in own]
    return Written(
        write_lines(folder / "-w" / f"{EARLIER}.jsonl", claude_rows(EARLIER, {})),
        write_lines(folder / "-w" / f"{LATER}.jsonl", fork),
    )


def claude_resume(folder: Path) -> Written:
    return claude_fork(folder, marked=False)


def _claude(type: str, uuid: str, minute: int, **message: Any) -> Row:
    stamp = f"2026-03-02T09:{minute:02}:00.000Z"
    model = {"model": "gpt-5.5"} if type == "assistant" else {}
    return {
        "type": type, "uuid": uuid, "isSidechain": False, "cwd": "/w", "timestamp": stamp,
        "message": {"role": type, **model, **message},
    }  # fmt: skip


def _used(given: int, made: int) -> Row:
    cache = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {"input_tokens": given, "output_tokens": made, **cache}


def opencode_fork(folder: Path) -> Written:
    """Two exports; copies in the second have ids of their own, and the times of the first."""
    first = list(_opencode("a", (1, 2, 3)))
    fork = [*_opencode("b", (1, 2, 3)), *_opencode("c", (8, 9))]
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "one.json", folder / "two.json"
    for path, messages in zip(paths, (first, fork), strict=True):
        info = {"id": f"ses_{path.stem}", "directory": "/w", "time": {"created": 1_772_440_000_000}}
        path.write_text(json.dumps({"info": info, "messages": messages}), encoding="utf-8")
    return Written(*paths)


def _opencode(letter: str, numbers: tuple[int, ...]) -> Iterator[Row]:
    read = {
        "type": "tool", "tool": "read", "callID": "call_1",
        "state": {"status": "completed", "input": {"filePath": SKILL}, "output": TEXT},
    }  # fmt: skip
    parts: dict[int, tuple[Row, int, int]] = {
        1: ({"type": "text", "text": "Fire it."}, 0, 0),
        2: (read, 1000, 10),
        3: ({"type": "text", "text": "Fired."}, 1100, 20),
        8: ({"type": "text", "text": "Why?"}, 0, 0),
        9: ({"type": "text", "text": "Cone 6."}, 500, 5),
    }
    for number in numbers:
        part, given, made = parts[number]
        info: Row = {
            "id": f"msg_{letter}{number}", "role": "assistant" if made else "user",
            "time": {"created": 1_772_440_000_000 + 60_000 * number},
        }  # fmt: skip
        if made:
            tokens = {"input": given, "output": made, "reasoning": 0}
            info |= {"modelID": "gpt-5.5", "tokens": {**tokens, "cache": {"read": 0, "write": 0}}}
        yield {"info": info, "parts": [part]}


def pi_fork(folder: Path) -> Written:
    """A session, and one that began from it: its header is younger than the entries it copies."""
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": SKILL}}
    shown = {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "content": TEXT}
    said: list[tuple[int, Row]] = [
        (1, {"role": "user", "content": "Fire it."}),
        (2, {"role": "assistant", "content": [call], "usage": _pi(1000, 10)}),
        (3, shown),
        (4, {"role": "assistant", "content": [{"type": "text", "text": "Fired."}], "usage": _pi(1100, 20)}),
    ]  # fmt: skip
    own: list[tuple[int, Row]] = [
        (58, {"role": "user", "content": "Why?"}),
        (59, {"role": "assistant", "content": [{"type": "text", "text": "Cone 6."}], "usage": _pi(500, 5)}),
    ]  # fmt: skip
    first = write_lines(folder / "a.jsonl", [_pi_header(0, EARLIER), *_pi_rows(said)])
    header = _pi_header(50, LATER) | {"parentSession": str(first)}
    return Written(first, write_lines(folder / "b.jsonl", [header, *_pi_rows(said + own)]))


def _pi_header(minute: int, id: str) -> Row:
    stamp = f"2026-03-02T09:{minute:02}:00.000Z"
    return {"type": "session", "version": 3, "id": id, "timestamp": stamp, "cwd": "/w"}


def _pi_rows(said: list[tuple[int, Row]]) -> Iterator[Row]:
    for minute, message in said:
        stamp = f"2026-03-02T09:{minute:02}:00.000Z"
        yield {"type": "message", "timestamp": stamp, "message": message}


def _pi(given: int, made: int) -> Row:
    return {"input": given, "output": made, "cacheRead": 0, "cacheWrite": 0}


FORKS: dict[str, Callable[[Path], Written]] = {
    "codex, copied": codex_fork,
    "codex, named": codex_based,
    "claude, marked": claude_fork,
    "claude, not marked": claude_resume,
    "opencode": opencode_fork,
    "pi": pi_fork,
}

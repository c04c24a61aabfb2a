"""Logs of other programs that are recognised but unsupported.

Some resemble a supported log but contain hardly anything that its parser reads (a Qwen Code session
has Claude Code's envelope).
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from skilljuror.logs.base import Source
from skilljuror.logs.raw_logs.coercion import as_dict, as_list, as_str, nested
from skilljuror.logs.raw_logs.file_head import parse_head

NOT_READ = "unsupported log format"
_V1_EVENT = re.compile(r"[A-Z]\w+(?:Event|Observation)|Condensation\w*")
_SQLITE = b"SQLite format 3\x00"
_TABLE = re.compile(rb'CREATE TABLE\s+[`"\[]?(\w+)')


class UnreadKind(NamedTuple):
    """An unsupported kind of log."""

    name: str
    is_one: Callable[[Source], bool]
    """Whether a source is of this kind, by its first bytes."""
    reason: str = NOT_READ
    """Why it is not read, or how to convert it."""


def unread_kind(source: Source) -> UnreadKind | None:
    """Return the unsupported kind of a file, or None."""
    return next((kind for kind in UNREAD_KINDS if kind.is_one(source)), None)


def _first(is_one: Callable[[dict[str, Any]], bool]) -> Callable[[Source], bool]:
    """Test the first object."""
    return lambda source: is_one(parse_head(source.head).first)


def _any(is_one: Callable[[dict[str, Any]], object], *needles: bytes) -> Callable[[Source], bool]:
    """Test the first records of a file that contains all needles."""
    return lambda source: any(map(is_one, parse_head(source.head).objects(*needles)))


def _is_inspect(source: Source) -> bool:
    return source.head.startswith(b"PK\x03\x04") and source.path.suffix == ".eval"


def _database(*tables: bytes) -> Callable[[Source], bool]:
    """Test a SQLite file for tables."""
    return lambda source: (
        source.head.startswith(_SQLITE) and set(_TABLE.findall(source.head)) >= set(tables)
    )


def _is_opencode_v2(source: Source) -> bool:
    """Whether a database has only OpenCode's new tables; beside the old ones it is read."""
    only_new = not set(_TABLE.findall(source.head)) & {b"message", b"part"}
    return only_new and _database(b"session_v2", b"session_message")(source)


def _is_openhands_v1(first: dict[str, Any]) -> bool:
    """Whether it is an evaluation's row with a history of V1 events."""
    events = map(as_dict, as_list(first.get("history"))[:1])
    return any("id" in one and _V1_EVENT.fullmatch(str(one.get("kind"))) for one in events)


def _is_qwen_chat(first: dict[str, Any]) -> bool:
    """Whether it is an old Qwen Code chat, written like Gemini CLI's."""
    return any(nested(entry, "type") == "qwen" for entry in as_list(first.get("messages")))


def _is_init(record: dict[str, Any]) -> bool:
    """Whether it opens a stream like Claude Code's."""
    return record.get("type") == "system" and record.get("subtype") == "init"


def _is_qwen_stream(record: dict[str, Any]) -> bool:
    return _is_init(record) and "qwen_code_version" in record


def _is_cursor_stream(record: dict[str, Any]) -> bool:
    return _is_init(record) and "apiKeySource" in record and "tools" not in record


def _is_droid_stream(record: dict[str, Any]) -> bool:
    return record.get("type") == "message" and {"role", "text", "session_id"} <= set(record)


def _is_iflow(record: dict[str, Any]) -> bool:
    session = as_str(record.get("sessionId")) or ""
    return "uuid" in record and session.startswith("session-")


def _is_traex(record: dict[str, Any]) -> bool:
    named = as_str(nested(record, "payload", "model_provider"))
    return record.get("type") == "session_meta" and named in {"trae", "traex"}


def _is_kimi_context(record: dict[str, Any]) -> bool:
    return as_str(record.get("role")) in {"_system_prompt", "_checkpoint", "_usage"}


def _is_cursor(first: dict[str, Any]) -> bool:
    speaks = as_str(first.get("role")) in {"user", "assistant"}
    return speaks and isinstance(nested(first, "message", "content"), list)


def _is_swe_agent(first: dict[str, Any]) -> bool:
    history = as_list(first.get("history"))
    names_agent = bool(history) and "agent" in as_dict(history[0])
    return {"trajectory", "environment"} <= set(first) or names_agent


def _is_benchflow(first: dict[str, Any]) -> bool:
    acp = as_str(first.get("phase")) in {"agent", "verifier"} and "type" in first
    return acp or {"request", "response"} <= set(first)


UNREAD_KINDS = (
    UnreadKind("Cursor database", _database(b"ItemTable", b"cursorDiskKV")),
    UnreadKind("Cursor database", _database(b"blobs", b"meta")),
    UnreadKind("OpenCode v2 database", _is_opencode_v2),
    UnreadKind("Inspect .eval log", _is_inspect),
    UnreadKind("OpenHands V1 output", _first(_is_openhands_v1)),
    UnreadKind("Qwen Code chat", _any(_is_qwen_chat, b'"qwen"')),
    UnreadKind("Qwen Code stream", _any(_is_qwen_stream, b'"qwen_code_version"')),
    UnreadKind("Cursor stream", _any(_is_cursor_stream, b'"init"', b'"apiKeySource"')),
    UnreadKind("Factory Droid stream", _any(_is_droid_stream, b'"init"', b'"message"')),
    UnreadKind("iFlow session", _any(_is_iflow, b'"uuid"', b'"session-')),
    UnreadKind("TraeX session", _any(_is_traex, b'"session_meta"', b'"trae')),
    UnreadKind("Kimi context", _first(_is_kimi_context), "read is the wire.jsonl beside it"),
    UnreadKind("Cursor transcript", _first(_is_cursor)),
    UnreadKind("SWE-agent .traj", _first(_is_swe_agent)),
    UnreadKind("BenchFlow log", _first(_is_benchflow)),
)

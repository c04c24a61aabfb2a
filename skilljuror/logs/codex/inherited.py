"""Where a Codex thread's own history begins.

A sub-agent or a fork may start its file with a copy of another thread's records, stamped anew. A
fork with a `history_base` names that history instead of copying it.
"""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from skilljuror.logs.raw_logs.coercion import as_dict, as_int, as_str, nested
from skilljuror.logs.raw_logs.jsonl import JsonLines

COPY_UNSURE = (
    "the log does not say where the history copied from another thread ends; only the last turn"
    " counts, and its tokens are unknown"
)
_TIMED = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4})-7")
"""Time at the start of an id (UUID version 7)."""


def parent_thread(meta: dict[str, Any]) -> str | None:
    """Thread that spawned this one."""
    spawn = as_dict(nested(meta, "source", "subagent", "thread_spawn"))
    return as_str(meta.get("parent_thread_id")) or as_str(spawn.get("parent_thread_id"))


def turn_of(payload: dict[str, Any]) -> str | None:
    """Id of the turn that a record starts or describes."""
    return as_str(payload.get("turn_id"))


def own_start(
    path: Path, meta: dict[str, Any], known: Collection[str], *, copied: bool
) -> tuple[int, bool]:
    """Return the first line of a thread's own history, and whether that is a guess.

    `known` are the turns of the run's other threads, `copied` says that a copy is in the file. Turns
    are copied if another thread has them, or if they are older than the thread by the time in their
    ids. Without either, the last turn is taken as own: a fork is written when its first turn starts.
    """
    ordinal = as_int(meta.get("subagent_history_start_ordinal"))
    copied = copied or bool(meta.get("forked_from_id") and not meta.get("history_base"))
    turns: dict[str, int] = {}
    line = 0
    for line, entry in JsonLines(path):
        payload = as_dict(entry.get("payload"))
        if entry.get("type") == "session_meta":
            copied = copied or payload.get("id") not in {None, meta.get("id")}
        elif ordinal is not None and (as_int(entry.get("ordinal")) or 0) >= ordinal:
            return line, False
        elif entry.get("type") == "turn_context" or payload.get("type") == "task_started":
            turns.setdefault(turn_of(payload) or f"line {line}", line)
    born = _TIMED.match(str(meta.get("id")))
    older = [
        turn
        for turn in turns
        if (copied and turn in known) or (born and _time(turn, born[1]) < born[1])
    ]
    if not (copied or older) and ordinal is None:
        return 0, False
    names, ends = list(turns), [*turns.values(), line + 1]
    if older or ordinal is not None:
        return ends[names.index(older[-1]) + 1 if older else -1], False
    if known or (born and names and _TIMED.match(names[0])):
        return ends[0], False
    return ends[max(0, len(names) - 1)], len(names) != 2


def _time(turn: str, otherwise: str) -> str:
    """Time in a turn's id."""
    found = _TIMED.match(turn)
    return found[1] if found else otherwise

"""Tool results of mini-swe-agent: the templated JSON that the model saw (formats.md §6)."""

from typing import Any

import orjson

from skilljuror.models.trajectory import Result
from skilljuror.parsers.drafts import CallDraft
from skilljuror.parsers.fields import record, string

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def read_result(call: CallDraft, shown: str, line: int, beside: dict[str, Any]) -> Result:
    """The result of a command; `beside` is the message's extra with the plain output."""
    facts = record(_decoded(shown)) or beside
    code = facts.get("returncode")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    clean = facts.get("output", beside.get("raw_output"))
    if _SUBMIT in (call.fields.get("command") or ""):
        return Result(text=shown, line=line, ok=True, clean=string(clean))
    ok = None if exit_code is None else exit_code == 0
    if string(facts.get("exception_info")) and exit_code is None:
        ok = False
    return Result(
        text=shown, line=line, ok=ok, exit_code=exit_code,
        clean=clean if isinstance(clean, str) else None,
    )  # fmt: skip


def _decoded(shown: str) -> Any:
    if not shown.startswith("{"):
        return None
    try:
        return orjson.loads(shown)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None

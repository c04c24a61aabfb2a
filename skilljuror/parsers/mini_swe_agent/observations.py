"""mini-swe-agent without tool calls: a command in a fence, its output in the next user message."""

import re
from typing import Any

import orjson

from skilljuror.models.trajectory import ToolResult
from skilljuror.parsers.assembly.builders import CallBuilder
from skilljuror.parsers.raw_logs.coercion import as_dict, as_list, as_string, text_between_tags

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def read_result(call: CallBuilder, text: str, line: int, beside: dict[str, Any]) -> ToolResult:
    """The result of a command; `beside` is the message's extra with the plain output."""
    facts = as_dict(_decoded(text)) or beside
    code = facts.get("returncode")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    clean = facts.get("output", beside.get("raw_output"))
    if _SUBMIT in (call.fields.get("command") or ""):
        return ToolResult(text=text, line=line, ok=True, clean=as_string(clean))
    ok = None if exit_code is None else exit_code == 0
    if as_string(facts.get("exception_info")) and exit_code is None:
        ok = False
    return ToolResult(
        text=text, line=line, ok=ok, exit_code=exit_code,
        clean=clean if isinstance(clean, str) else None,
    )  # fmt: skip


def _decoded(text: str) -> Any:
    if not text.startswith("{"):
        return None
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None


_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")


def fenced_command(text: str, extra: dict[str, Any]) -> str | None:
    """The one command of a message; None for a message without one, or with several."""
    actions = [
        as_string(as_dict(action).get("command")) for action in as_list(extra.get("actions"))
    ]
    known = [command for command in actions if command]
    found = known or _FENCE.findall(text)
    return found[0] if len(found) == 1 else None


def observation_result(text: str, line: int, extra: dict[str, Any]) -> ToolResult:
    """What the command printed; a message that holds no output says that it was not run."""
    code = _CODE.search(text[:2000])
    given = extra.get("returncode")
    if code is None and not isinstance(given, int):
        return ToolResult(text=text, line=line, ok=False)
    exit_code = int(code[1]) if code else int(given or 0)
    clean = as_string(extra.get("raw_output"))
    return ToolResult(
        text=text, line=line, ok=exit_code == 0, exit_code=exit_code,
        clean=_printed(text) if clean is None else clean,
    )  # fmt: skip


def _printed(text: str) -> str | None:
    """The output in its tags; of a long one the beginning and the end."""
    whole = text_between_tags(text, "output")
    if whole is not None:
        return whole
    head, tail = text_between_tags(text, "output_head"), text_between_tags(text, "output_tail")
    if head is None or tail is None:
        return None
    return f"{head}\n[... elided ...]\n{tail}"

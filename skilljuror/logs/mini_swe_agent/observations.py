"""mini-swe-agent without tool calls: fenced commands, with the output in the next user message."""

import re
from typing import Any

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import CallBuilder
from skilljuror.logs.raw_logs.coercion import as_dict, as_int, as_list, as_str, json_of, nested
from skilljuror.logs.raw_logs.content import text_between_tags

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def read_result(call: CallBuilder, text: str, line: int, extra: dict[str, Any]) -> ToolResult:
    """Result of a command; `extra` is the message's member with the plain output."""
    facts = as_dict(json_of(text) if text.startswith("{") else None) or extra
    exit_code = as_int(facts.get("returncode"))
    clean = facts.get("output", extra.get("raw_output"))
    if _SUBMIT in (call.fields.get("command") or ""):
        return ToolResult(text=text, line=line, ok=True, clean=as_str(clean))
    ok = None if exit_code is None else exit_code == 0
    if as_str(facts.get("exception_info")) and exit_code is None:
        ok = False
    return ToolResult(
        text=text, line=line, ok=ok, exit_code=exit_code,
        clean=clean if isinstance(clean, str) else None,
    )  # fmt: skip


_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")


def fenced_command(text: str, extra: dict[str, Any]) -> str | None:
    """The only command of a message; None for none or several."""
    actions = [as_str(nested(action, "command")) for action in as_list(extra.get("actions"))]
    known = [command for command in actions if command]
    found = known or _FENCE.findall(text)
    return found[0] if len(found) == 1 else None


def observation_result(text: str, line: int, extra: dict[str, Any]) -> ToolResult:
    """Output of a command; a message without output reports that it was not run."""
    code = _CODE.search(text[:2000])
    given = extra.get("returncode")
    if code is None and not isinstance(given, int):
        return ToolResult(text=text, line=line, ok=False)
    exit_code = int(code[1]) if code else int(given or 0)
    clean = as_str(extra.get("raw_output"))
    return ToolResult(
        text=text, line=line, ok=exit_code == 0, exit_code=exit_code,
        clean=_printed(text) if clean is None else clean,
    )  # fmt: skip


def _printed(text: str) -> str | None:
    """Output between its tags; of a long one the start and the end."""
    whole = text_between_tags(text, "output")
    if whole is not None:
        return whole
    head, tail = text_between_tags(text, "output_head"), text_between_tags(text, "output_tail")
    if head is None or tail is None:
        return None
    return f"{head}\n[... elided ...]\n{tail}"

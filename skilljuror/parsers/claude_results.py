"""Tool results of Claude Code: what the model saw, and what the harness knows beside it."""

import re
from typing import Any

from skilljuror.models.trajectory import Result
from skilljuror.parsers.drafts import CallDraft
from skilljuror.parsers.fields import count, number, record, string, text
from skilljuror.parsers.numbered import strip_numbers

_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,5})(?:\n|\Z)")
_REMINDER = "<system-reminder>"


def read_result(call: CallDraft, block: dict[str, Any], beside: Any, line: int) -> Result:
    """The result of a call; `beside` is toolUseResult, which sub-agents and streams may lack."""
    shown = text(block.get("content"))
    facts = record(beside)
    failed = block.get("is_error") is True or shown.startswith("<tool_use_error>")
    if call.fields["action"] == "read":
        return _read_result(shown, facts, line, failed)
    if call.fields["action"] == "shell":
        return _shell_result(shown, facts, line, failed)
    return Result(
        text=shown,
        line=line,
        ok=not failed and facts.get("success") is not False,
        clean=_clean(shown),
        seconds=_seconds(facts),
    )


def _read_result(shown: str, facts: dict[str, Any], line: int, failed: bool) -> Result:
    if facts.get("type") == "file_unchanged":
        return Result(text=shown, line=line, ok=False, unchanged=True)
    if failed:
        return Result(text=shown, line=line, ok=False)
    file = record(facts.get("file"))
    clean = string(file.get("content"))
    first = count(file.get("startLine"))
    if clean is None:
        clean, first = strip_numbers(shown) or (_clean(shown), None)
    return Result(
        text=shown,
        line=line,
        ok=True,
        clean=clean,
        first_line=first,
        total_lines=count(file.get("totalLines")),
    )


def _shell_result(shown: str, facts: dict[str, Any], line: int, failed: bool) -> Result:
    exit_code: int | None = None
    clean = _clean(shown)
    if failed:
        match = _EXIT.match(shown)
        exit_code = int(match[1]) if match else None
        clean = (clean or shown)[match.end() :] if match else clean
    elif not (facts.get("returnCodeInterpretation") or facts.get("backgroundTaskId")):
        exit_code = 0
    interrupted = facts.get("interrupted") is True
    return Result(
        text=shown,
        line=line,
        ok=not (failed or interrupted),
        exit_code=None if interrupted else exit_code,
        clean=clean,
    )


def _clean(shown: str) -> str | None:
    """The text without a reminder the harness put after it; None where there is none."""
    if not shown.rstrip().endswith("</system-reminder>"):
        return None
    at = shown.rfind(_REMINDER)
    return None if at < 0 else shown[:at].removesuffix("\n\n")


def _seconds(facts: dict[str, Any]) -> float | None:
    millis = number(facts.get("totalDurationMs") or facts.get("durationMs"))
    return None if millis is None else millis / 1000

"""Tool outputs of Codex without their frame: exit status and plain text."""

import re

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.line_numbers import strip_line_numbers
from skilljuror.logs.raw_logs.coercion import (
    as_dict,
    as_float,
    as_int,
    as_list,
    as_str,
    json_of,
    nested,
)

_FRAME = re.compile(
    r"Chunk ID: \w+\nWall time: (?P<wall>\d{1,9}(?:\.\d{1,20})?) seconds?\n"
    r"Process (?:exited with code (?P<code>-?\d{1,9})|running with session ID (?P<running>\d+))\n"
    r"(?:Original token count: \d+\n)?Output:\n"
    r"(?:Warning: truncated output \(original token count: \d+\)\n)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
"""Frame around a shell command's output."""
_PATCH_FRAME = re.compile(
    r"(?:Wall time: (?:\d{1,9}(?:\.\d{1,20})?) seconds?\nOutput:\n)?"
    r"(?:Exit code: (?P<code>-?\d{1,9})\n)?Wall time: (?P<wall>\d{1,9}(?:\.\d{1,20})?) seconds?\n"
    r"(?:Total output lines: \d+\n)?Output:\n"
)
"""Frame around the output of apply_patch and of other servers' tools."""
_FAILURES = ("unsupported call: ", "apply_patch verification failed", "write_stdin failed: ",
             "failed to parse function arguments", "exec_command failed", "aborted by user",
             "exec command rejected", "failed in sandbox", "execution error", "sandbox error")  # fmt: skip
_OLDER = '{"output":'
"""Start of a shell output in older versions."""
_PIECES = '[{"type":"text"'
"""Start of an answer from another server's tool."""


def read_output(text: str, line: int) -> tuple[ToolResult, str | None]:
    """Return (result, session id of a command that is still running)."""
    if text.startswith(_OLDER):
        older = _older(text, line)
        if older is not None:
            return older, None
    frame = _FRAME.match(text) or _PATCH_FRAME.match(text)
    if frame is None:
        ok = False if text.startswith(_FAILURES) else None
        return ToolResult(text=text, line=line, ok=ok), None
    wall, code = frame.group("wall", "code")
    exit_code = None if code is None else int(code)
    result = ToolResult(
        text=text,
        line=line,
        exit_code=exit_code,
        ok=None if exit_code is None else exit_code == 0,
        clean=_served(text[frame.end() :]),
        seconds=float(wall),
    )
    return result, frame["running"] if frame.re is _FRAME else None


def without_line_numbers(result: ToolResult) -> ToolResult:
    """Remove the line numbers that a tool prints before a file's lines."""
    found = strip_line_numbers(result.text)
    if found is None:
        return result
    return replace(result, clean=found[0], first_line=found[1], ok=True)


def _older(text: str, line: int) -> ToolResult | None:
    """Read the object with output and exit code of older versions, or None."""
    found = as_dict(json_of(text))
    output, facts = found.get("output"), as_dict(found.get("metadata"))
    if not isinstance(output, str):
        return None
    exit_code = as_int(facts.get("exit_code"))
    return ToolResult(
        text=text,
        line=line,
        exit_code=exit_code,
        ok=None if exit_code is None else exit_code == 0,
        clean=output,
        seconds=as_float(facts.get("duration_seconds")),
    )


def _served(text: str) -> str:
    """Text of an answer in the form of a JSON list of parts."""
    if not text[:60].replace(" ", "").startswith(_PIECES):
        return text
    pieces = json_of(text)
    if pieces is None:
        return text
    return "\n".join(filter(None, (as_str(nested(piece, "text")) for piece in as_list(pieces))))

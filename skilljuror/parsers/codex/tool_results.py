"""The text that Codex puts around a tool's output, read back into an exit status and a clean text."""

import re

import orjson
from msgspec.structs import replace

from skilljuror.models.trajectory import ToolResult
from skilljuror.parsers.assembly.line_numbers import strip_line_numbers
from skilljuror.parsers.raw_logs.coercion import as_dict, as_list, as_number, as_string

_FRAME = re.compile(
    r"Chunk ID: \w+\nWall time: (?P<wall>\d{1,9}(?:\.\d{1,20})?) seconds?\n"
    r"Process (?:exited with code (?P<code>-?\d{1,9})|running with session ID (?P<running>\d+))\n"
    r"(?:Original token count: \d+\n)?Output:\n"
    r"(?:Warning: truncated output \(original token count: \d+\)\n)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
"""The frame around the output of a shell command."""
_PATCH_FRAME = re.compile(
    r"(?:Wall time: (?:\d{1,9}(?:\.\d{1,20})?) seconds?\nOutput:\n)?"
    r"(?:Exit code: (?P<code>-?\d{1,9})\n)?Wall time: (?P<wall>\d{1,9}(?:\.\d{1,20})?) seconds?\n"
    r"(?:Total output lines: \d+\n)?Output:\n"
)
"""The frame around the output of apply_patch and of tools of other servers."""
_FAILURES = ("unsupported call: ", "apply_patch verification failed", "write_stdin failed: ",
             "failed to parse function arguments", "exec_command failed", "aborted by user",
             "exec command rejected", "failed in sandbox", "execution error", "sandbox error")  # fmt: skip
_OLDER = '{"output":'
"""How the output of an older version's shell begins."""
_PIECES = '[{"type":"text"'
"""How the answer of another server's tool begins."""


def read_output(text: str, line: int) -> tuple[ToolResult, str | None]:
    """(the result, the session id of a command that is still running)."""
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
    """The result of a tool that prints a number before every line of a file."""
    found = strip_line_numbers(result.text)
    if found is None:
        return result
    return replace(result, clean=found[0], first_line=found[1], ok=True)


def _older(text: str, line: int) -> ToolResult | None:
    """The object with output and exit code that older versions wrote; None for anything else."""
    try:
        found = as_dict(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None
    output, facts = found.get("output"), as_dict(found.get("metadata"))
    if not isinstance(output, str):
        return None
    code = facts.get("exit_code")
    exit_code = code if isinstance(code, int) else None
    return ToolResult(
        text=text,
        line=line,
        exit_code=exit_code,
        ok=None if exit_code is None else exit_code == 0,
        clean=output,
        seconds=as_number(facts.get("duration_seconds")),
    )


def _served(text: str) -> str:
    """The text of an answer that comes as a JSON list of pieces."""
    if not text[:60].replace(" ", "").startswith(_PIECES):
        return text
    try:
        pieces = as_list(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text
    texts = [as_string(as_dict(piece).get("text")) for piece in pieces]
    return "\n".join(one for one in texts if one is not None)

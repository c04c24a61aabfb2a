"""The text that Codex puts around a tool's output, read back into an exit status and a clean text."""

import re

from skilljuror.models.trajectory import Result

_FRAME = re.compile(
    r"Chunk ID: \w+\nWall time: (?P<wall>\d+(?:\.\d+)?) seconds?\n"
    r"Process (?:exited with code (?P<code>-?\d+)|running with session ID (?P<running>\d+))\n"
    r"(?:Original token count: \d+\n)?Output:\n"
    r"(?:Warning: truncated output \(original token count: \d+\)\n)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
"""The frame around the output of a shell command."""
_PATCH_FRAME = re.compile(
    r"(?:Wall time: (?:\d+(?:\.\d+)?) seconds?\nOutput:\n)?"
    r"(?:Exit code: (?P<code>-?\d+)\n)?Wall time: (?P<wall>\d+(?:\.\d+)?) seconds?\n"
    r"(?:Total output lines: \d+\n)?Output:\n"
)
"""The frame around the output of apply_patch and of tools of other servers."""
_FAILURES = ("unsupported call: ", "apply_patch verification failed", "write_stdin failed: ",
             "failed to parse function arguments", "exec_command failed")  # fmt: skip


def read_output(shown: str, line: int) -> tuple[Result, str | None]:
    """(the result, the session id of a command that is still running)."""
    frame = _FRAME.match(shown) or _PATCH_FRAME.match(shown)
    if frame is None:
        ok = False if shown.startswith(_FAILURES) else None
        return Result(text=shown, line=line, ok=ok), None
    code = frame["code"]
    exit_code = None if code is None else int(code)
    result = Result(
        text=shown,
        line=line,
        exit_code=exit_code,
        ok=None if exit_code is None else exit_code == 0,
        clean=shown[frame.end() :],
        seconds=float(frame["wall"]),
    )
    return result, frame.groupdict().get("running")

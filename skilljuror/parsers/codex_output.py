"""The text that Codex puts around a tool's output, read back into an exit status and a clean text."""

import re

from skilljuror.models.trajectory import Result

_HEADER = re.compile(
    r"(?:Chunk ID: \w+|Wall time: (?P<wall>[\d.]+) seconds?|Process exited with code (?P<exited>-?\d+)"
    r"|Exit code: (?P<code>-?\d+)|Process running with session ID (?P<running>\d+)"
    r"|Original token count: \d+|Total output lines: \d+"
    r"|Warning: truncated output \(original token count: \d+\))?(?:\n|$)"
)
_OUTPUT = "Output:\n"
_FAILURES = ("unsupported call: ", "apply_patch verification failed", "write_stdin failed: ",
             "failed to parse function arguments", "exec_command failed")  # fmt: skip


def read_output(shown: str, line: int) -> tuple[Result, str | None]:
    """(the result, the session id of a command that is still running)."""
    facts: dict[str, str] = {}
    at = _read_headers(shown, facts)
    code = facts.get("exited") or facts.get("code")
    exit_code = None if code is None else int(code)
    result = Result(
        text=shown,
        line=line,
        exit_code=exit_code,
        ok=_ok(shown, exit_code),
        clean=shown[at:] if at else None,
        seconds=float(facts["wall"]) if _is_number(facts.get("wall")) else None,
    )
    return result, facts.get("running")


def _read_headers(shown: str, facts: dict[str, str]) -> int:
    """Where the output proper starts; 0 when the text has no header of Codex."""
    at = body = 0
    while at < len(shown):
        if shown.startswith(_OUTPUT, at):
            at = body = at + len(_OUTPUT)
            if not shown.startswith(("Exit code: ", "Warning: truncated output"), at):
                return body
            continue
        match = _HEADER.match(shown, at)
        if match is None or (match.end() == at):
            return body
        facts.update({key: value for key, value in match.groupdict().items() if value})
        at = match.end()
        if body and shown.startswith(("Total output lines: ", "\n"), at):
            continue
        if body and not shown.startswith(("Wall time: ", _OUTPUT), at):
            return at
    return body


def _is_number(value: str | None) -> bool:
    return value is not None and value.count(".") <= 1 and value != "."


def _ok(shown: str, exit_code: int | None) -> bool | None:
    if exit_code is not None:
        return exit_code == 0
    return False if shown.startswith(_FAILURES) else None

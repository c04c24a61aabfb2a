"""Error messages of programs and shells."""

import re
from collections.abc import Sequence

from skilljuror.events.paths import name_of

_MISSING = re.compile(
    r"no such file or directory|cannot (?:open|access|find|read|stat)|can't (?:open|read|find)|not found"
    r"|does not exist|is a directory|permission denied|not in workspace|FileNotFoundError|ENOENT"
    r"|outside (?:the )?(?:workspace|allowed)",
    re.IGNORECASE,
)
_OF_SHELL = re.compile(r"(?:[\w./+-]{0,200}/)?(?:ba|z|da|k|a)?sh: ")
_OF_PROGRAM = re.compile(
    r"[\w./+-]{1,200}: .{0,300}(?:"
    r"invalid (?:option|argument)|(?:unrecognized|unknown|illegal) option|not permitted|permission denied"
    r"|command not found|no such file or directory|cannot \w|can't \w|is a directory|not a directory"
    r"|syntax error|file exists|timed out|no space left)",
    re.IGNORECASE,
)
_USAGE = re.compile(r"Try '.{1,200} --help'|usage: ", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
_WRONG_CODE = re.compile(r"\w*(?:SyntaxError|IndentationError|TabError): ")
_MOST_MESSAGES = 12
"""Maximum lines of an output that may consist of error messages only."""
_LONGEST_QUOTE = 160


def says_file_missing(text: str) -> bool:
    """Whether a text reports a missing file."""
    return bool(_MISSING.search(text))


def error_line_for(lines: Sequence[str], path: str) -> str | None:
    """Line that reports a path as unreadable."""
    name = name_of(path)
    for line in lines:
        if name in line and _MISSING.search(line[:1000]):
            return line.strip()[:_LONGEST_QUOTE]
    return None


def command_not_found_line(lines: Sequence[str], program: str) -> str | None:
    """Line in which a shell reports an unknown program."""
    for line in lines:
        if "not found" in line and f"{program}: " in line and _OF_SHELL.match(line):
            return line.strip()[:_LONGEST_QUOTE]
    return None


def only_error_messages(lines: Sequence[str], program: str) -> str | None:
    """First line of an output that consists only of errors by shell and programs; `program` may
    print anything under its own name."""
    filled = [line for line in lines if line.strip()]
    if not filled or len(filled) > _MOST_MESSAGES or filled[0][:1] in {" ", "\t"}:
        return None
    if all(line.startswith(f"{program}: ") or _is_error_message(line) for line in filled):
        return filled[0].strip()[:_LONGEST_QUOTE]
    return None


def _is_error_message(line: str) -> bool:
    return bool(_OF_SHELL.match(line) or _OF_PROGRAM.match(line) or _USAGE.match(line))


def traceback_line(lines: Sequence[str]) -> str | None:
    """Last line of a traceback, if inline Python printed nothing before it."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return None
    syntax = filled[0].startswith('  File "<') and _WRONG_CODE.match(filled[-1])
    failed = syntax or filled[0].startswith(_TRACEBACK)
    return filled[-1].strip()[:_LONGEST_QUOTE] if failed else None

"""Text printed by `echo` and `printf`, which separates the outputs of other commands."""

import re
from collections.abc import Sequence

from skilljuror.events.shell.command import Command

_UNKNOWN = "\0"
_DIRECTIVE = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdiqb]|%%")
_OPTION = re.compile(r"-[neE]+\Z")
_IDENTIFYING = 3
"""Minimum known characters of a line that identify it."""


def printed_text(command: Command) -> str:
    """The text; pieces from unknown variables are a NUL."""
    words = [_UNKNOWN if word.glob else word.text for word in command.arguments]
    if command.name == "printf":
        return _formatted(words)
    escapes = False
    while words and _OPTION.match(words[0]):
        escapes = escapes or "e" in words.pop(0)
    text = " ".join(words)
    return _unescaped(text) if escapes else text


def _formatted(words: Sequence[str]) -> str:
    if not words:
        return ""
    given = iter(words[1:])
    found = _DIRECTIVE.sub(
        lambda match: "%" if match[0] == "%%" else next(given, ""), _unescaped(words[0])
    )
    return found if _UNKNOWN not in words[0] else _UNKNOWN


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


def separator_line(text: str) -> str:
    """Last line of a printed text; "" if too little of it is known to find it."""
    last = next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
    return (
        last
        if len(last.replace(_UNKNOWN, "").strip()) >= _IDENTIFYING or _UNKNOWN not in last
        else ""
    )


def lines_matching(mark: str, lines: Sequence[str]) -> list[int]:
    """Lines equal to the mark; unknown pieces match anything."""
    if _UNKNOWN not in mark:
        return [at for at, line in enumerate(lines) if line == mark]
    head, *_, tail = mark.split(_UNKNOWN)
    least = len(head) + len(tail)
    return [
        at
        for at, line in enumerate(lines)
        if line.startswith(head) and line.endswith(tail) and len(line) >= least
    ]

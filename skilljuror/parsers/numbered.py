"""File text as agents show it, with a number before every line, and the way back."""

import re

_LINE = re.compile(r"[ \t]{0,12}(\d{1,9})(?:→|\t|\| ?|: |\. |$)")
"""`  12→text` and `12<tab>text` (Claude Code), `00012| text` and `12: text` (OpenCode), `12. text` (Copilot)."""


def strip_numbers(shown: str) -> tuple[str, int] | None:
    """(text without the numbers, number of its first line), or None when it has no numbers.

    Reads on while the numbers count up by one and stops at the first line that does not
    fit, so that notes of the harness after the file are left out.
    """
    start = expected = None
    kept: list[str] = []
    for line in shown.split("\n"):
        match = _LINE.match(line)
        if match is None:
            break
        number = int(match[1])
        if expected is None:
            start = number
        elif number != expected:
            break
        expected = number + 1
        kept.append(line[match.end() :])
    if start is None:
        return None
    return "\n".join(kept), start

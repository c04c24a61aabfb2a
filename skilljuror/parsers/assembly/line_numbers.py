"""File text as agents show it, with a number before every line, and the way back."""

import re

_LINE = re.compile(r"[ \t]{0,12}L?(\d{1,9})(?:→|\t|\| ?|: |\. |$)")
"""`  12→text` and `12<tab>text` (Claude Code), `00012| text` and `12: text` (OpenCode), `12. text` (Copilot),
`L12: text` (Codex)."""


def strip_line_numbers(text: str) -> tuple[str, int] | None:
    """(text without the numbers, number of its first line), or None when it has no numbers.

    Reads on while the numbers count up by one and stops at the first line that does not
    fit, so that notes of the harness after the file are left out.
    """
    kept: list[str] = []
    first = 0
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match is None or (kept and int(match[1]) != first + len(kept)):
            break
        first = first if kept else int(match[1])
        kept.append(line[match.end() :])
    return ("\n".join(kept), first) if kept else None

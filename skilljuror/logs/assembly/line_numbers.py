"""Line numbers that agents print before each line of a file."""

import re

_LINE = re.compile(r"[ \t]{0,12}L?(\d{1,9})(?:→|\t|\| ?|: |\. |$)")
"""`  12→text` and `12<tab>text` (Claude Code), `00012| text` and `12: text` (OpenCode), `12. text` (Copilot),
`L12: text` (Codex)."""


def strip_line_numbers(text: str) -> tuple[str, int] | None:
    """Return (text without line numbers, its first line number), or None if it has none.

    Stops at the first line that breaks the sequence, so notes of the harness after the file are
    dropped.
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

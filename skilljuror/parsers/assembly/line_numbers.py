"""File text as agents show it, with a number before every line, and the way back."""

import re
from collections.abc import Sequence

_LINE = re.compile(r"[ \t]{0,12}L?(\d{1,9})(?:→|\t|\| ?|: |\. |$)")
"""`  12→text` and `12<tab>text` (Claude Code), `00012| text` and `12: text` (OpenCode), `12. text` (Copilot),
`L12: text` (Codex)."""
_LINES = re.compile(rf"\n{_LINE.pattern}", re.MULTILINE)
_START = 40
"""Characters within which the first number ends."""


def strip_line_numbers(text: str) -> tuple[str, int] | None:
    """(text without the numbers, number of its first line), or None when it has no numbers.

    Reads on while the numbers count up by one and stops at the first line that does not
    fit, so that notes of the harness after the file are left out.
    """
    if _LINES.match(f"\n{text[:_START]}") is None:
        return None
    before, *pieces = _LINES.split(f"\n{text}")
    if before or not pieces:
        return None
    numbers, texts = pieces[::2], pieces[1::2]
    start = int(numbers[0])
    whole = text.count("\n") - texts[-1].count("\n") == len(numbers) - 1
    if whole and numbers == list(map(str, range(start, start + len(numbers)))):
        texts[-1] = texts[-1].partition("\n")[0]
        return "\n".join(texts), start
    return _counted(text.split("\n"), start), start


def _counted(lines: Sequence[str], start: int) -> str:
    """The same line by line: numbers that end early, are padded, or do not count up."""
    kept: list[str] = []
    for number, line in enumerate(lines, start):
        match = _LINE.match(line)
        if match is None or int(match[1]) != number:
            break
        kept.append(line[match.end() :])
    return "\n".join(kept)

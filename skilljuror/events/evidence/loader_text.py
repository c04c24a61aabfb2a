"""Undo what a loader writes into SKILL.md: arguments, folders and outputs of commands."""

import re
from collections.abc import Sequence

_LOADER = re.compile(r"\$ARGUMENTS(?:\[\d{1,3}\])?|\$\d|\$\{CLAUDE_\w{1,40}\}|!`[^`\n]{1,500}`")
_FARTHEST = 50
"""Lines to search for the next known line, after a command printed several."""


def with_placeholders(lines: Sequence[str], known: Sequence[str]) -> list[str]:
    """A loaded text with the placeholders of the known text, where all else of a line is equal."""
    found, at = list(lines), 0
    for line in known:
        if not line:
            continue
        parts = _LOADER.split(line) if "$" in line or "!`" in line else [line]
        if len(parts) == 1:
            near = (
                n for n in range(at, min(at + _FARTHEST, len(found))) if found[n].strip() == line
            )
            at = next(near, at - 1) + 1
            continue
        while at < len(found) and not found[at].strip():
            at += 1
        if at < len(found) and _fits(found[at].strip(), parts):
            found[at] = line
            at += 1
    return found


def _fits(text: str, parts: Sequence[str]) -> bool:
    """Whether a text has these parts in order, with anything between them."""
    first, *inner, last = parts
    if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first + last)):
        return False
    text = text[len(first) : len(text) - len(last)]
    for part in inner:
        _, there, text = text.partition(part)
        if part and not there:
            return False
    return True


def without_arguments(text: str, arguments: str) -> str:
    """A loaded text with `$0`, `$1`, … for the words of the arguments."""
    words = arguments.split()
    if not words:
        return text
    numbers = {word: f"${number}" for number, word in reversed([*enumerate(words)])}
    if len(words) > 1:
        numbers[arguments.strip()] = "$ARGUMENTS"
    longest_first = sorted(numbers, key=len, reverse=True)
    any_of = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<!\w)(?:{any_of})(?!\w)", lambda found: numbers[found[0]], text)

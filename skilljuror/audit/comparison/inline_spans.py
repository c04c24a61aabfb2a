"""Places in a line of Markdown: link targets and code spans."""

import re

from skilljuror.skill.markdown import REMOTE

_INLINE = re.compile(
    r"\]\(\s{0,3}(<[^<>\n]{1,500}>|(?:[^()\s<>\\]|\\.|\([^()\s<>]{0,200}\)){1,500}+)"
    r"(?=\s{0,3}(?:[\"'(][^\n]{0,500})?\))"
)
_DEFINED = re.compile(r"^ {0,3}\[[^\[\]]{1,300}\]:\s{0,3}(<[^<>\n]{1,500}>|[^\s<>]{1,500})")
_TICKS = re.compile(r"`+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def link_target_spans(line: str) -> list[tuple[int, int]]:
    """Return positions of link targets in a line, angle brackets and code spans included."""
    matches = [*_INLINE.finditer(line), *_DEFINED.finditer(line)]
    return sorted(match.span(1) for match in matches)


def code_spans(line: str) -> list[tuple[int, int]]:
    """Return positions of code spans within the line, ticks included."""
    runs = [match.span() for match in _TICKS.finditer(line)] if "`" in line else []
    spans, number = [], 0
    while number < len(runs):
        size = runs[number][1] - runs[number][0]
        closing = (
            other
            for other in range(number + 1, len(runs))
            if runs[other][1] - runs[other][0] == size
        )
        last = next(closing, None)
        if last is not None:
            spans.append((runs[number][0], runs[last][1]))
            number = last
        number += 1
    return spans


def command_spans(line: str) -> list[tuple[int, int]]:
    """Return code spans of several words, as in commands."""
    return [(a, b) for a, b in code_spans(line) if len(line[a:b].strip("`").split()) > 1]


def unescaped_target(target: str) -> str:
    """Return a link target without angle brackets and escapes."""
    inside = target[1:-1] if target.startswith("<") else target
    return _ESCAPED.sub(r"\1", inside)


def leads_out(address: str) -> bool:
    """Whether a link leaves the bundle, or is a placeholder for an address."""
    return address.startswith(("<", "{")) or REMOTE.match(address) is not None

"""Inline Markdown: visible text, sentences and link targets."""

import re
from urllib.parse import unquote

from markdown_it.token import Token

_REMOTE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z`\"'(\[\d])")

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
    return address.startswith(("<", "{")) or _REMOTE.match(address) is not None


def inline_text(token: Token) -> str:
    """Return the text of an inline token without emphasis marks and local link targets.

    Code spans keep their backticks, remote links their address, all links their title. Line breaks are kept,
    so that positions map to lines.
    """
    parts: list[str] = []
    targets: list[str] = []
    position = 0
    for child in token.children or ():
        if child.type == "code_inline":
            span, position = _code_span(child, token.content, position)
            parts.append(span)
        elif child.type == "link_open":
            targets.append("" if child.info == "auto" else "]" + _target(child, "href"))
            parts.append("" if child.info == "auto" else "[")
        elif child.type == "link_close":
            parts.append(targets.pop() if targets else "]")
        else:
            parts.append(_plain(child))
    return "".join(parts)


def _target(token: Token, name: str) -> str:
    address, title = (
        str(token.attrs.get(name, "")),
        fold_whitespace(str(token.attrs.get("title", ""))),
    )
    parts = [unquote(address)] if _REMOTE.match(address) else []
    parts += [f'"{title}"'] if title else []
    return f"({' '.join(parts)})" if parts else ""


def _plain(child: Token) -> str:
    if child.type in {"softbreak", "hardbreak"}:
        return "\n"
    if child.type == "image":
        return f"![{child.content}]" + _target(child, "src")
    return child.content


def _code_span(child: Token, content: str, position: int) -> tuple[str, int]:
    """The span with its backticks and line breaks, and its end in `content`."""
    fence = child.markup or "`"
    start = content.find(fence, position)
    end = content.find(fence, start + len(fence)) if start >= 0 else -1
    if end < 0:
        return f"`{child.content}`", position
    breaks = content.count("\n", start, end)
    return f"`{child.content}`" + "\n" * breaks, end + len(fence)


def fold_whitespace(text: str) -> str:
    """Return the text with single blanks."""
    return " ".join(text.split())


def sentences(text: str) -> list[tuple[int, int, str]]:
    """Return sentences as (first line, last line, folded text), with 0-based lines in the text."""
    spans = []
    line = position = 0
    cuts = [(cut.start(), cut.end()) for cut in _BREAK.finditer(text)]
    for end, following in [*cuts, (len(text), len(text))]:
        sentence = text[position:end]
        breaks = sentence.rstrip().count("\n")
        if sentence.strip():
            lead = sentence[: len(sentence) - len(sentence.lstrip())].count("\n")
            spans.append((line + lead, line + breaks, fold_whitespace(sentence)))
        line += text.count("\n", position, following)
        position = following
    return spans

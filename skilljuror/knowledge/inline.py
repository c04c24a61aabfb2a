"""Normalised text of inline markdown: what a reader sees, with lines kept countable."""

import re
from urllib.parse import unquote

from markdown_it.token import Token

_REMOTE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z`\"'(\[\d])")


def inline_text(token: Token) -> str:
    """Text of an inline token without emphasis marks and local link targets.

    Code spans keep their backticks, remote links their address. Line breaks of the source stay,
    so that a position can be turned into a line.
    """
    parts: list[str] = []
    targets: list[str] = []
    position = 0
    for child in token.children or ():
        if child.type == "code_inline":
            span, position = _code_span(child, token.content, position)
            parts.append(span)
        elif child.type == "link_open":
            targets.append(_address(child))
            parts.append("" if child.info == "auto" else "[")
        elif child.type == "link_close":
            parts.append(targets.pop() if targets else "]")
        else:
            parts.append(_plain(child))
    return "".join(parts)


def _address(link: Token) -> str:
    """What closes a link: its address where it leads out of the bundle."""
    if link.info == "auto":
        return ""
    address = str(link.attrs.get("href", ""))
    return f"]({unquote(address)})" if _REMOTE.match(address) else "]"


def _plain(child: Token) -> str:
    if child.type in {"softbreak", "hardbreak"}:
        return "\n"
    if child.type == "image":
        address = str(child.attrs.get("src", ""))
        return f"![{child.content}]" + (f"({unquote(address)})" if _REMOTE.match(address) else "")
    return child.content


def _code_span(child: Token, content: str, position: int) -> tuple[str, int]:
    """The span with its backticks and its own line breaks, and where it ends in `content`."""
    fence = child.markup or "`"
    start = content.find(fence, position)
    end = content.find(fence, start + len(fence)) if start >= 0 else -1
    if end < 0:
        return f"`{child.content}`", position
    breaks = content.count("\n", start, end)
    return f"`{child.content}`" + "\n" * breaks, end + len(fence)


def folded(text: str) -> str:
    """White space folded to single blanks."""
    return " ".join(text.split())


def sentences(text: str) -> list[tuple[int, int, str]]:
    """Sentences of a text as (first line, last line, folded text), lines 0-based inside it."""
    found = []
    line = position = 0
    cuts = [(cut.start(), cut.end()) for cut in _BREAK.finditer(text)]
    for end, following in [*cuts, (len(text), len(text))]:
        sentence = text[position:end]
        breaks = sentence.rstrip().count("\n")
        if sentence.strip():
            lead = sentence[: len(sentence) - len(sentence.lstrip())].count("\n")
            found.append((line + lead, line + breaks, folded(sentence)))
        line += text.count("\n", position, following)
        position = following
    return found

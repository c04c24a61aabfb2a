"""An index of a Markdown text: the blocks and headings at its lines.

The parser only locates blocks; text is always copied as lines of its source.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, inline, text_join
from markdown_it.token import Token

from skilljuror.skill.markdown.frontmatter import frontmatter_end

_HASHES = re.compile(r"^( {0,3})(#{1,6})")
_NOT_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A top-level heading; lines are 0-based and half-open."""

    start: int
    end: int
    level: int
    title: str  # its inline Markdown, marks included
    setext: bool  # whether it is underlined, so that the next line determines its level


def can_shift(headings: Iterable[Heading], levels: int) -> bool:
    """Whether every heading can move by so many levels; an underlined one cannot."""
    if levels == 0:
        return True
    return all(not heading.setext and 1 <= heading.level + levels <= 6 for heading in headings)


def shift_line(line: str, levels: int) -> str:
    """Return a heading's line with `levels` more (or fewer) hashes; any other line unchanged."""
    match = _HASHES.match(line)
    if match is None:
        return line
    return f"{match[1]}{'#' * (len(match[2]) + levels)}{line[match.end() :]}"


def anchors(titles: Sequence[str]) -> list[str]:
    """Return the anchors of a file's headings as forges make them; repeats get -1, -2, …"""
    seen: dict[str, int] = {}
    names = []
    for title in titles:
        name = _NOT_ANCHOR.sub("", title.replace("`", "").lower()).strip().replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.append(f"{name}-{count}" if count else name)
    return names


def slug(text: str, limit: int = 48, empty: str = "notes") -> str:
    """Return a valid file or skill name of at most `limit` lower-case ASCII letters, digits and single hyphens;
    `empty` if nothing is left."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:limit].rstrip("-") or empty


_PARSER = MarkdownIt("commonmark", {"inline_definitions": True, "store_labels": True}).enable(
    "table"
)
_BLOCKS = MarkdownIt("commonmark", {"inline_definitions": True}).enable("table")
_STRIKING = MarkdownIt("commonmark").enable("strikethrough")
_BLOCKS.core.ruler.disable(["inline", "text_join"])


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block; lines are 0-based and half-open."""

    kind: str  # type of its first token, such as "fence" or "paragraph_open"
    start: int
    end: int
    info: str = ""  # info string of a fence
    markup: str = ""  # the marks that open it, such as three backticks


@dataclass(frozen=True, slots=True)
class LinkDefinition:
    """A link reference definition; lines are 0-based and half-open."""

    label: str  # folded for comparison
    start: int
    end: int


class Passage(NamedTuple):
    """A paragraph; its line is 0-based."""

    line: int
    text: str  # its source, folded to one line
    is_item: bool  # whether it opens a list item


class MarkdownIndex:
    """An index of one Markdown text; all line numbers are 0-based.

    The frontmatter is parsed as blank lines, so that line numbers below it are unchanged.
    """

    def __init__(self, lines: Sequence[str], *, frontmatter_lines: int | None = None) -> None:
        self.lines = tuple(lines)
        self.frontmatter_lines = (
            frontmatter_end(self.lines) if frontmatter_lines is None else frontmatter_lines
        )
        self.env: dict[str, Any] = {}
        body = (_parsable(line) for line in self.lines[self.frontmatter_lines :])
        source = [*[""] * self.frontmatter_lines, *body]
        self.tokens = _BLOCKS.parse("\n".join(source) + "\n", self.env)

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """Top-level headings in order."""
        return tuple(
            Heading(
                token.map[0],
                token.map[1],
                int(token.tag[1]),
                self.tokens[number + 1].content,
                token.markup in {"=", "-"},
            )
            for number, token in enumerate(self.tokens)
            if token.type == "heading_open" and token.level == 0 and token.map
        )

    @cached_property
    def anchor_at(self) -> dict[int, str]:
        """First line of each top-level heading -> its anchor."""
        names = anchors([heading.title for heading in self.headings])
        return {heading.start: name for heading, name in zip(self.headings, names, strict=True)}

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Top-level blocks in order, link reference definitions included."""
        return tuple(
            Block(token.type, *self._line_range(token), token.info.strip(), token.markup)
            for token in self.tokens
            if token.level == 0 and token.nesting >= 0 and token.map
        )

    def _line_range(self, token: Token) -> tuple[int, int]:
        start, end = token.map or (0, 0)
        end = min(end, len(self.lines))
        while end > start + 1 and token.type != "fence" and not self.lines[end - 1].strip():
            end -= 1
        return start, end

    @cached_property
    def definitions(self) -> tuple[LinkDefinition, ...]:
        """Every link reference definition in order; the first of a label counts."""
        return tuple(
            LinkDefinition(str(token.meta["id"]), *(token.map or (0, 0)))
            for token in self.tokens
            if token.type == "definition"
        )

    @cached_property
    def prose_lines(self) -> frozenset[int]:
        """Lines of inline text, without code and HTML blocks."""
        return frozenset(
            line
            for token in self.tokens
            if token.type == "inline" and token.map
            for line in range(*token.map)
        )

    @cached_property
    def link_lines(self) -> frozenset[int]:
        """Lines that can have a link: inline text and link definitions."""
        defining = (range(one.start, one.end) for one in self.definitions)
        return self.prose_lines.union(*defining)

    @cached_property
    def inline_tokens(self) -> list[Token]:
        """The tokens with parsed inline text, computed on demand."""
        if self.env.get("references"):
            return _with_inline(self.tokens, self.env)
        for token in self.tokens:
            if token.type == "inline":
                token.children = _inline_children(token.content)
        return self.tokens

    @cached_property
    def used_labels(self) -> frozenset[str]:
        """Labels of definitions that a link or picture uses, folded for comparison."""
        if not self.env.get("references"):
            return frozenset()
        children = (child for token in self.inline_tokens for child in token.children or ())
        return frozenset(str(child.meta["label"]) for child in children if "label" in child.meta)

    @cached_property
    def rendered_blocks(self) -> tuple[tuple[str, int, int], ...]:
        """Every top-level block as ("kind\\0HTML", start, end); heading levels are folded."""
        blocks: list[tuple[str, int, int]] = []
        tokens = self.inline_tokens
        number = 0
        while number < len(tokens):
            last = _last_of_block(tokens, number)
            token = tokens[number]
            if token.type != "definition" and token.map:
                group = tokens[number : last + 1]
                text = _PARSER.renderer.render(group, _PARSER.options, self.env)
                kind = "heading" if token.type == "heading_open" else token.type
                body = text[4:-6] if kind == "heading" else text
                blocks.append((f"{kind}\0{body}", *self._line_range(token)))
            number = last + 1
        return tuple(blocks)

    def _paragraph_tokens(self) -> Iterator[tuple[int, int, int, str]]:
        """(number of the inline token, first line, end, source) of each paragraph."""
        for number, token in enumerate(self.tokens):
            inside = token.type == "inline" and self.tokens[number - 1].type == "paragraph_open"
            if inside and token.map:
                yield number, token.map[0], token.map[1], token.content

    @cached_property
    def paragraph_at(self) -> dict[int, tuple[int, str]]:
        """Line -> first line and source of its paragraph, in a list or a quote too."""
        return {
            line: (start, source)
            for _, start, end, source in self._paragraph_tokens()
            for line in range(start, end)
        }

    @property
    def first_paragraph(self) -> str | None:
        """The first top-level paragraph, folded to one line."""
        for number, token in enumerate(self.tokens):
            if token.type == "paragraph_open" and token.level == 0:
                return " ".join(self.tokens[number + 1].content.split())
        return None

    def passages_in(self, start: int, end: int) -> Sequence[Passage]:
        """Return the paragraphs that begin within the lines, in lists and quotes too."""
        first = bisect_left(self._passages, start, key=lambda passage: passage.line)
        return self._passages[first : bisect_left(self._passages, end, key=lambda one: one.line)]

    @cached_property
    def _passages(self) -> list[Passage]:
        return [
            Passage(
                start, " ".join(source.split()), self.tokens[number - 2].type == "list_item_open"
            )
            for number, start, _, source in self._paragraph_tokens()
        ]


@lru_cache(maxsize=512)
def markdown_index(lines: tuple[str, ...]) -> MarkdownIndex:
    return MarkdownIndex(lines)


def _with_inline(tokens: list[Token], env: dict[str, Any]) -> list[Token]:
    state = StateCore("", _PARSER, env, tokens)
    inline(state)
    text_join(state)
    return tokens


@lru_cache(maxsize=1 << 14)
def _inline_children(source: str) -> list[Token] | None:
    """Cached inline tokens of a text in a file without link definitions; they are only read."""
    return _with_inline([Token("inline", "", 0, content=source, children=[])], {})[0].children


def _parsable(line: str) -> str:
    """A line for the parser, to which a carriage return must not look like a line end."""
    return line.rstrip("\r").replace("\r", " ").replace("\0", "�") if "\r" in line else line


def _last_of_block(tokens: Sequence[Token], number: int) -> int:
    depth = 0
    for last in range(number, len(tokens)):
        depth += tokens[last].nesting
        if depth == 0:
            return last
    return len(tokens) - 1


CLOSING_LINES = (
    "```", "~~~", "````", "~~~~", "`````", "~~~~~", "-->", "?>", ">", "]]>",
    "</pre>", "</script>", "</style>", "</textarea>",
)  # fmt: skip
"""Lines that close an open block of code or HTML."""


def ends_closed(lines: Sequence[str]) -> bool:
    """Whether a heading after these lines would be a heading."""
    probe = [*lines, "", "# end"]
    headings = MarkdownIndex(probe, frontmatter_lines=0).headings
    return bool(headings) and headings[-1].start == len(probe) - 1


def closing_line(markdown: MarkdownIndex) -> str | None:
    """Return the line that closes an open block at the end: "" if nothing is open, None if no line closes it."""
    last = markdown.blocks[-1] if markdown.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    tail = markdown.lines[last.start :]
    if ends_closed(tail):
        return ""
    own = [last.markup] if last.kind == "fence" else []
    return next((line for line in [*own, *CLOSING_LINES] if ends_closed([*tail, line])), None)


def page_html(lines: Sequence[str]) -> str:
    """Return a page as HTML."""
    env: dict[str, Any] = {}
    tokens = [t for t in _PARSER.parse("\n".join(lines), env) if t.type != "definition"]
    return str(_PARSER.renderer.render(tokens, _PARSER.options, env))


def has_strike_through(source: str) -> bool:
    """Whether a page shows a part of an inline text struck out."""
    return "<s>" in _STRIKING.renderInline(source)


def visible_text(source: str) -> str:
    """Return inline Markdown without marks, on one line."""
    token = _PARSER.parseInline(source)[0]
    return " ".join("".join(_plain(child) for child in token.children or ()).split())


def _plain(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    if token.type in {"text", "text_special"}:
        return token.content
    return token.content if token.type == "code_inline" else ""

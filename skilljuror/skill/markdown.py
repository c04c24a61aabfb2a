"""Markdown and the text files that hold it: lines, frontmatter, blocks, headings, inline text.

markdown-it only locates blocks; text is always copied as lines of its source.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, inline, text_join
from markdown_it.token import Token

from skilljuror.base.skill import Blob

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file: its lines, and the flags that restore its bytes exactly."""

    lines: tuple[str, ...]
    bom: bool = False  # whether it starts with a UTF-8 byte order mark
    crlf: bool = False
    final_newline: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the set flags, sorted."""
        names = {"bom": self.bom, "crlf": self.crlf, "no-final-newline": not self.final_newline}
        return tuple(name for name, on in sorted(names.items()) if on)


def text_with_flags(lines: Iterable[str], flags: Iterable[str]) -> TextFile:
    names = set(flags)
    return TextFile(
        tuple(lines),
        bom="bom" in names,
        crlf="crlf" in names,
        final_newline="no-final-newline" not in names,
    )


def read_text(blob: Blob) -> TextFile | None:
    """Return the lines of a blob, or None if it is not UTF-8 text.

    CRLF is a flag only if every line end is CRLF; otherwise carriage returns stay in the lines.
    """
    content = blob.text
    if content is None:
        return None
    bom = blob.data.startswith(BOM)
    ends = content.count("\n")
    crlf = ends > 0 and content.count("\r\n") == ends
    plain = content.replace("\r\n", "\n") if crlf else content
    final = plain.endswith("\n") or not plain
    lines = plain.split("\n")
    return TextFile(tuple(lines[:-1] if final else lines), bom=bom, crlf=crlf, final_newline=final)


def without_blank_edges(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """Return the range of lines (0-based, half-open) without leading and trailing blank lines."""
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def write_text(text: TextFile) -> bytes:
    """Return the bytes of a text file; the inverse of `read_text`."""
    end = "\r\n" if text.crlf else "\n"
    body = end.join(text.lines) + (end if text.final_newline and text.lines else "")
    return (BOM if text.bom else b"") + body.encode()


MAX_FRONTMATTER = 16_384  # characters


class _Loader(yaml.SafeLoader):
    """YAML without aliases, which could expand a small file without bound."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read in frontmatter")
        return super().compose_node(parent, index)


def frontmatter_end(lines: Sequence[str]) -> int:
    """Return the number of frontmatter lines, both `---` included; 0 if there are none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() == "---":
            return number
    return 0


def parse_frontmatter(lines: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """Return (fields, problem or None); never raises."""
    end = frontmatter_end(lines)
    if not end:
        return {}, "there is no frontmatter"
    source = "\n".join(lines[1 : end - 1])
    if len(source) > MAX_FRONTMATTER:
        return {}, f"the frontmatter is longer than {MAX_FRONTMATTER} characters"
    fields, problem = _parsed(source)
    return {**fields}, problem


@lru_cache(maxsize=256)
def _parsed(source: str) -> tuple[dict[str, Any], str | None]:
    try:
        fields = yaml.load(source, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return {}, "the frontmatter is not YAML: " + " ".join(str(error).split())
    if fields is None:
        return {}, "the frontmatter is empty"
    if not isinstance(fields, dict):
        return {}, "the frontmatter is not a mapping"
    return {str(key): value for key, value in fields.items()}, None


def plain_field(fields: dict[str, Any], name: str) -> str | None:
    """Return a field as one line of text; None if it is missing, empty or not a scalar."""
    value = fields.get(name)
    if value is None or isinstance(value, dict | list):
        return None
    return " ".join(str(value).split()) or None


_NOT_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A top-level heading; lines are 0-based and half-open."""

    start: int
    end: int
    level: int
    title: str  # its inline Markdown, marks included
    setext: bool  # whether it is underlined, so that the next line determines its level


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


PARSER = MarkdownIt("commonmark", {"inline_definitions": True, "store_labels": True}).enable(
    "table"
)
_BLOCKS = MarkdownIt("commonmark", {"inline_definitions": True}).enable("table")
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
                text = PARSER.renderer.render(group, PARSER.options, self.env)
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
    state = StateCore("", PARSER, env, tokens)
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


def visible_text(source: str) -> str:
    """Return inline Markdown without marks, on one line."""
    token = PARSER.parseInline(source)[0]
    return " ".join("".join(_visible(child) for child in token.children or ()).split())


def _visible(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    if token.type in {"text", "text_special"}:
        return token.content
    return token.content if token.type == "code_inline" else ""


REMOTE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?;:])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)\s+(?=[A-Z`\"'(\[\d])")


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
    parts = [unquote(address)] if REMOTE.match(address) else []
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

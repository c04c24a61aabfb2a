"""Units of prose, code, configuration, data and frontmatter."""

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

from skilljuror.base.skill import Blob, UnitKind, is_markdown, resource_class
from skilljuror.skill.generated.embedded_files import embedding_fences
from skilljuror.skill.generated.templates import (
    CONFIGURATION,
    WRITE_OUT,
    marker_path,
    template_of_line,
)
from skilljuror.skill.markdown.block_index import MarkdownIndex, markdown_index
from skilljuror.skill.markdown.inline_text import fold_whitespace, inline_text, sentences

SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal"})
KEYED = frozenset({"json", "yaml", "yml"})
_KEY = re.compile(r"^(\s*)(?:- )?\"?([A-Za-z_][\w.-]*)\"?\s*:(?:\s|$|\{|\[)")
_FIELD = re.compile(r"^[A-Za-z_][\w.-]*\s*:")


class RawUnit(NamedTuple):
    """A unit of one text, without id and file; lines are 1-based in the file."""

    kind: UnitKind
    start: int
    end: int  # inclusive
    headings: tuple[str, ...]  # heading path, outermost first
    text: str  # normalised text
    generated: str | None = None  # template that the line follows
    lead: str = ""  # the sentence that introduces its list, table or code
    depth: int = 0  # level of a heading, or number of lists around an item


def code_units(
    lines: Sequence[str], first: int, headings: tuple[str, ...], language: str = ""
) -> Iterator[RawUnit]:
    """Yield the units of a code block or file that starts at line `first`."""
    indent = min((len(x) - len(x.lstrip(" ")) for x in lines if x.strip()), default=0)
    for number, line in enumerate(lines, first):
        if line.strip():
            body = line[indent:].expandtabs(4)
            lead = len(body) - len(body.lstrip())
            yield RawUnit("code", number, number, headings, " " * lead + fold_whitespace(body))
    if language in SHELLS:
        yield from _commands(lines, first, headings)
    elif language in KEYED:
        yield from _keys(lines, first, headings)


def _commands(lines: Sequence[str], first: int, headings: tuple[str, ...]) -> Iterator[RawUnit]:
    """Whole commands, continuation lines joined, split into words as a shell would."""
    start, command = first, ""
    for number, line in enumerate(lines, first):
        start = start if command else number
        stripped = line.strip().removeprefix("$ ")
        command = f"{command} {stripped.removesuffix(chr(92))}".strip()
        if stripped.endswith("\\"):
            continue
        if command and not command.startswith("#"):
            yield RawUnit("command", start, number, headings, " ".join(_words(command)))
        command = ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def _keys(lines: Sequence[str], first: int, headings: tuple[str, ...]) -> Iterator[RawUnit]:
    path: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first):
        key = _KEY.match(line)
        if key:
            indent = len(key.group(1))
            path = [*[step for step in path if step[0] < indent], (indent, key.group(2))]
            yield RawUnit("schema", number, number, headings, ".".join(name for _, name in path))


def field_units(lines: Iterable[str], first: int) -> Iterator[RawUnit]:
    """Yield frontmatter fields: a key at the margin with its lines."""
    start, parts = first, list[str]()
    for number, line in enumerate(lines, first):
        if line.rstrip() == "---":
            continue
        if parts and _FIELD.match(line):
            yield RawUnit("field", start, number - 1, (), fold_whitespace(" ".join(parts)))
            parts = []
        if not parts:
            start = number
        if parts or line.strip():
            parts.append(line)
    if parts:
        end = start + len("\n".join(parts).rstrip().split("\n")) - 1
        yield RawUnit("field", start, end, (), fold_whitespace(" ".join(parts)))


def file_digest(lines: Sequence[str]) -> str:
    """Return the sha256 of a text file's lines, without final newlines, which a fence cannot keep."""
    return hashlib.sha256("\n".join(lines).rstrip("\n").encode()).hexdigest()


_LISTS_OPEN = frozenset({"bullet_list_open", "ordered_list_open"})
_LISTS_CLOSE = frozenset({"bullet_list_close", "ordered_list_close"})
_INTRODUCED = frozenset({"fence", "code_block", "table_open"})
_ENDS = frozenset({"heading_open", "list_item_open", "hr", *_LISTS_CLOSE})
_TAG_ALONE = re.compile(r"\s*(<[A-Za-z][\w-]*>)\s*(?:\n|$)")


class Leads:
    """Track the introduction of each block of a page.

    A paragraph introduces the list, table or code right below it if it ends in a colon or is completely bold.
    An item introduces its content, a tag on its own line the lines below it.
    """

    def __init__(self) -> None:
        self._open: list[str] = []  # leads of the lists that are open, the innermost last
        self._last = ""  # introduction in the block before

    def of(self, token: Token, following: Sequence[Token]) -> str:
        """Return the lead of the block that begins at `token`, or "". `following` are the tokens after it.

        Call it for every token of a page, in order.
        """
        around = "".join(self._open[-1:])
        lead, self._last = self._last, "" if token.map or token.type in _ENDS else self._last
        if token.type in _LISTS_OPEN:
            self._open.append(lead or around)
        elif token.type in _LISTS_CLOSE:
            self._open.pop()
        elif token.type == "paragraph_open":
            self._last = _introduction(following[0], inside=bool(self._open))
        elif token.type == "inline":
            self._last = lead
        elif token.type == "html_block":
            tag = _TAG_ALONE.match(token.content)
            return tag[1] if tag else around
        return lead or around if token.type in _INTRODUCED else around


def _introduction(inline: Token, *, inside: bool) -> str:
    found = sentences(inline_text(inline))
    last = found[-1][2] if found else ""
    return last if inside or last.endswith(":") or _is_bold(inline) else ""


def _is_bold(inline: Token) -> bool:
    kinds = [child.type for child in inline.children or () if child.type != "text" or child.content]
    edges = kinds[:1] == ["strong_open"] and kinds[-1:] == ["strong_close"]
    return edges and kinds.count("strong_open") == 1


STEP_ARROW = " -> "
LINK_ARROW = " -> "
_COMMENT = "<!--"
_BEFORE = re.compile(r"^\s*(?:(?:>\s?)|(?:[-*+]|\d{1,9}[.)])\s+)*")
"""Quote and list marks before the text of a line."""


def markdown_units(lines: Sequence[str], first: int = 1) -> Iterator[RawUnit]:
    """Yield the units of a Markdown text that starts at line `first` of its file."""
    markdown = markdown_index(tuple(lines))
    if markdown.frontmatter_lines:
        yield from field_units(lines[1 : markdown.frontmatter_lines - 1], first + 1)
    yield from _Walk(markdown, first).units()
    yield from step_units(markdown.inline_tokens, first)


class _Walk:
    def __init__(self, markdown: MarkdownIndex, first: int) -> None:
        self.markdown = markdown
        self.lines = markdown.lines
        self.tokens = markdown.inline_tokens
        self.first = first
        self.path: list[tuple[int, str | None]] = []
        self.lists: list[bool] = []
        self.leads = Leads()
        self.covered = [
            number < markdown.frontmatter_lines or not line.strip()
            for number, line in enumerate(self.lines)
        ]
        self.marker: str | None = None
        self.configures = False
        self.fenced = embedding_fences(markdown)

    @property
    def headings(self) -> tuple[str, ...]:
        """Titles, outermost first; a marker starts a file with its own headings."""
        titles: list[str] = []
        for _, title in self.path:
            titles = [] if title is None else [*titles, title]
        return tuple(titles)

    def units(self) -> Iterator[RawUnit]:
        for index, token in enumerate(self.tokens):
            if token.type in {"bullet_list_open", "ordered_list_open"}:
                self.lists.append(token.type.startswith("ordered"))
            elif token.type in {"bullet_list_close", "ordered_list_close"}:
                self.lists.pop()
            lead = self.leads.of(token, self.tokens[index + 1 : index + 2])
            lead = "" if self.marker else lead
            if token.map and not token.type.endswith("list_open"):
                for unit in self._leaf(index, token):
                    yield unit._replace(lead=unit.lead or lead)
        yield from self._uncovered()

    def _leaf(self, index: int, token: Token) -> Iterator[RawUnit]:
        if token.type in {"heading_open", "paragraph_open"}:
            self._cover(token)
            section = token.type == "heading_open" and token.level == 0
            read = self._heading if section else self._paragraph
            yield from read(token, self.tokens[index + 1])
        elif token.type in {"fence", "code_block"}:
            self._cover(token)
            yield from self._block(token)
        elif token.type in {"html_block", "definition"}:
            self._cover(token)
            if token.type == "definition" and str(token.meta["id"]) in self.markdown.used_labels:
                return
            lead = _COMMENT if token.content.lstrip().startswith(_COMMENT) else ""
            yield from self._raw(range(*_span(token)), lead)
        elif token.type == "table_open":
            self._cover(token)
            yield from self._table(index)
        elif token.type == "hr":
            self._cover(token)

    def _cover(self, token: Token) -> None:
        start, end = _span(token)
        self.covered[start:end] = [True] * len(self.covered[start:end])

    def _heading(self, token: Token, inline: Token) -> Iterator[RawUnit]:
        level = int(token.tag[1])
        start, end = _span(token)
        text = fold_whitespace(inline_text(inline))
        template = template_of_line(f"{'#' * level} {inline.content}")
        self.marker = marker_path(inline.content)
        self.path = [step for step in self.path if step[0] < level]
        yield RawUnit(
            "heading", start + self.first, end - 1 + self.first, self.headings, text, template,
            depth=level,
        )  # fmt: skip
        self.path.append((level, None if template else text))
        yield from link_units(inline, start + self.first, self.headings)

    def _paragraph(self, token: Token, inline: Token) -> Iterator[RawUnit]:
        start, end = _span(token)
        kind: UnitKind = "item" if self.lists else "statement"
        template = template_of_line(" ".join(line.strip() for line in self.lines[start:end]))
        if template != WRITE_OUT:
            self.marker = marker_path(inline.content)
        self.configures = template == CONFIGURATION
        text = inline_text(inline)
        if template:
            last = end - 1 + self.first
            yield RawUnit(
                kind, start + self.first, last, self.headings, fold_whitespace(text), template
            )
            return
        for low, high, sentence in sentences(text):
            first, last = start + low, min(start + high, end - 1)
            yield RawUnit(
                kind, first + self.first, last + self.first, self.headings, sentence,
                depth=len(self.lists),
            )  # fmt: skip
        yield from link_units(inline, start + self.first, self.headings)

    def _block(self, token: Token) -> Iterator[RawUnit]:
        start = _span(token)[0] + self.first + (token.type == "fence")
        words = token.info.split()
        language = words[0].lower() if words else ""
        content = self._inside(token)
        path, self.marker = self.marker, None
        if path is not None and is_markdown(path) and _span(token)[0] not in self.fenced:
            path = None
        configures, self.configures = self.configures, False
        if path is not None:
            yield from file_units(path, content, start)
        elif configures:
            yield from field_units(content, start)
        else:
            yield from code_units(content, start, self.headings, language)

    def _inside(self, token: Token) -> Sequence[str]:
        """The lines of a code block, from the source if they have no prefix there."""
        lines = token.content.removesuffix("\n").split("\n")
        start = _span(token)[0] + 1
        plain = token.type == "fence" and token.level == 0 and self.lines[start - 1][:1] in "`~"
        return self.lines[start : start + len(lines)] if plain and token.content else lines

    def _table(self, index: int) -> Iterator[RawUnit]:
        header: list[str] = []
        table = self.tokens[index]
        for line, inlines in _rows(self.tokens, index):
            cells = [fold_whitespace(inline_text(inline)) for inline in inlines]
            shown = [f"{h}: {c}" if h else c for h, c in zip(header, cells, strict=False)]
            shown += _spare_cells(self.lines[line], len(cells), nested=table.level > 0)
            number = line + self.first
            yield RawUnit("row", number, number, self.headings, " | ".join(shown or cells))
            header = header or cells
            for inline in inlines:
                yield from link_units(inline, number, self.headings)

    def _raw(self, numbers: Iterable[int], lead: str = "") -> Iterator[RawUnit]:
        """Lines as written; `lead` marks those of a comment."""
        for number in numbers:
            text = fold_whitespace(self.lines[number]) if number < len(self.lines) else ""
            if re.search(r"\w", text):
                line = number + self.first
                text = text if not lead or text.startswith(lead) else f"{lead} {text}"
                yield RawUnit("statement", line, line, self.headings, text)

    def _uncovered(self) -> Iterator[RawUnit]:
        """Lines without a token, such as link reference definitions."""
        self.path = []
        yield from self._raw(n for n, covered in enumerate(self.covered) if not covered)


def _span(token: Token) -> tuple[int, int]:
    start, end = token.map or (0, 0)
    return start, end


def file_units(path: str, lines: Sequence[str], first: int) -> Iterator[RawUnit]:
    """Yield the units of a file: its digest and its lines; for data, no lines."""
    if is_markdown(path):
        yield from markdown_units(lines, first)
        return
    if not any(line.strip() for line in lines):
        return
    last = first + len(lines) - 1
    yield RawUnit("file", first, last, (), f"{path} {file_digest(lines)}")
    if resource_class(path, Blob("\n".join(lines).encode())) == "data":
        return
    yield from code_units(lines, first, (), PurePosixPath(path).suffix.lower().removeprefix("."))


def _rows(tokens: Sequence[Token], index: int) -> Iterator[tuple[int, list[Token]]]:
    """Cells of the rows of the table at `index`, each row with its 0-based line."""
    cells: list[Token] = []
    line = 0
    for token in tokens[index:]:
        if token.type == "tr_open":
            cells, line = [], _span(token)[0]
        elif token.type == "inline":
            cells.append(token)
        elif token.type == "tr_close":
            yield line, cells
        elif token.type == "table_close":
            return


def _spare_cells(line: str, count: int, *, nested: bool) -> list[str]:
    """The cells of a table row beyond its columns, which only the source shows."""
    text = (_BEFORE.sub("", line) if nested else line).strip().removeprefix("|")
    if text.count("|") < count:
        return []
    cells = [fold_whitespace(cell) for cell in escapedSplit(text.removesuffix("|"))]
    return cells[count:] if any(cells[count:]) else []


def link_units(inline: Token, line: int, headings: tuple[str, ...]) -> Iterator[RawUnit]:
    """Yield links and images of one inline token as "label -> address"; an image's label starts with "!"."""
    children = inline.children or []
    for index, child in enumerate(children):
        if child.type in {"softbreak", "hardbreak"}:
            line += 1
        elif child.type == "link_open":
            label = "".join(_until_close(children[index + 1 :]))
            address = str(child.attrs.get("href", ""))
            yield RawUnit(
                "link", line, line, headings, f"{fold_whitespace(label)}{LINK_ARROW}{address}"
            )
        elif child.type == "image":
            address = str(child.attrs.get("src", ""))
            label = f"!{fold_whitespace(child.content)}"
            yield RawUnit("link", line, line, headings, f"{label}{LINK_ARROW}{address}")


def _until_close(children: Sequence[Token]) -> Iterator[str]:
    for child in children:
        if child.type == "link_close":
            return
        yield child.content or " "


class _Steps:
    def __init__(self, start: int) -> None:
        self.last: tuple[int, str] | None = None
        self.count = start - 1


def step_units(tokens: Sequence[Token], first: int) -> Iterator[RawUnit]:
    """Yield adjacent items of ordered lists as "this -> that".

    A list that continues the count after a code block or paragraph belongs to the same procedure; a heading
    ends it.
    """
    open_lists: list[_Steps | None] = []
    resumable: dict[int, _Steps] = {}
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            resumable.clear()
        elif token.type == "ordered_list_open":
            open_lists.append(
                _resumed(resumable, len(open_lists), int(token.attrs.get("start", 1)))
            )
        elif token.type == "bullet_list_open":
            open_lists.append(None)
        elif token.type in {"ordered_list_close", "bullet_list_close"}:
            closed = open_lists.pop()
            if closed:
                resumable[len(open_lists)] = closed
        elif token.type == "list_item_open" and open_lists and open_lists[-1]:
            yield from _step(open_lists[-1], _first_inline(tokens, index), first)


def _resumed(resumable: dict[int, _Steps], depth: int, start: int) -> _Steps:
    before = resumable.get(depth)
    return before if before and start == before.count + 1 else _Steps(start)


def _first_inline(tokens: Sequence[Token], index: int) -> Token | None:
    for token in tokens[index + 1 :]:
        if token.type == "inline":
            return token
        if token.type == "list_item_close":
            return None
    return None


def _step(state: _Steps, inline: Token | None, first: int) -> Iterator[RawUnit]:
    state.count += 1
    first_sentences = sentences(inline_text(inline)) if inline else []
    if not inline or not first_sentences:
        return
    line = _span(inline)[0] + first
    name = first_sentences[0][2]
    if state.last:
        start, before = state.last
        end = line + first_sentences[0][1]
        yield RawUnit("step", start, end, (), f"{before}{STEP_ARROW}{name}")
    state.last = (line, name)

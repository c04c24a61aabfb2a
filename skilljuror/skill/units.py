"""The knowledge units of a bundle: prose, code, configuration, data and frontmatter. (transforms §5.1)"""

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any, NamedTuple, ParamSpec, TypeVar

from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token
from msgspec import Struct

from skilljuror.base.skill import (
    Blob,
    Bundle,
    Skill,
    Unit,
    UnitKind,
    is_markdown,
    resource_class,
)
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.generated import (
    CONFIGURATION,
    WRITE_OUT,
    embedding_fences,
    marker_path,
    template_of_line,
)
from skilljuror.skill.markdown import (
    MarkdownIndex,
    fold_whitespace,
    inline_text,
    markdown_index,
    read_text,
    sentences,
)

STEP_ARROW = " -> "
LINK_ARROW = " -> "
SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal"})
KEYED = frozenset({"json", "yaml", "yml"})
_NO_CRITICALS = frozenset({"file", "schema", "step"})
_KEY = re.compile(r"^(\s*)(?:- )?\"?([A-Za-z_][\w.-]*)\"?\s*:(?:\s|$|\{|\[)")
_FIELD = re.compile(r"^[A-Za-z_][\w.-]*\s*:")
_LEAVES = frozenset({
    "heading_open", "paragraph_open", "fence", "code_block", "html_block", "definition", "table_open", "hr",
})  # fmt: skip
"""Blocks that are read whole."""
_COMMENT = "<!--"
_BEFORE = re.compile(r"^\s*(?:(?:>\s?)|(?:[-*+]|\d{1,9}[.)])\s+)*")
"""Quote and list marks before the text of a line."""
_TAG_ALONE = re.compile(r"\s*(<[A-Za-z][\w-]*>)\s*(?:\n|$)")

Answer = TypeVar("Answer")
Bundles = ParamSpec("Bundles")
_BundleKey = tuple[str, tuple[tuple[str, Blob], ...], tuple[Skill, ...]]


def cached_by_bundles(function: Callable[Bundles, Answer]) -> Callable[Bundles, Answer]:
    """Cache the last four results of a function of bundles, by names, files and skills."""

    @lru_cache(maxsize=4)
    def by_key(*keys: _BundleKey) -> Answer:
        return function(*(Bundle(name, dict(files), skills) for name, files, skills in keys))  # type: ignore[call-arg, arg-type]

    def key_of(bundle: Any) -> _BundleKey:
        return bundle.name, tuple(bundle.files.items()), bundle.skills

    def cached(*bundles: Bundles.args, **_: Bundles.kwargs) -> Answer:
        return by_key(*map(key_of, bundles))

    return cached


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


def units_of(bundle: Bundle) -> list[Unit]:
    """Return the units of a bundle, by file in bytewise path order, then by line.

    Markdown gives headings, sentences, list items, table rows, code lines, commands, steps, links and
    frontmatter fields; other text gives lines, and one unit "path digest" per file. A fenced file below its
    marker gives the same units as the file itself, at the lines of the fence. Data gives only its file unit,
    an empty file gives nothing.
    """
    return list(_units(tuple(sorted(bundle.files.items(), key=lambda file: file[0].encode()))))


@lru_cache(maxsize=8)
def _units(files: tuple[tuple[str, Blob], ...]) -> tuple[Unit, ...]:
    counts: Counter[str] = Counter()
    units = []
    for path, blob in files:
        for unit in _raw_units(path, blob):
            stem = f"{unit.kind}:{_digest(unit.text)}"
            counts[stem] += 1
            tokens = () if unit.kind in _NO_CRITICALS else critical_tokens(unit.text)
            units.append(Unit(
                f"{stem}:{counts[stem]}", unit.kind, path, unit.start, unit.end, unit.headings, unit.text,
                tokens, unit.generated, unit.lead, unit.depth,
            ))  # fmt: skip
    return tuple(units)


@lru_cache(maxsize=1 << 16)
def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


@lru_cache(maxsize=512)
def _raw_units(path: str, blob: Blob) -> tuple[RawUnit, ...]:
    text = read_text(blob)
    if text is None:
        lines = blob.data.count(b"\n") + 1
        return (RawUnit("file", 1, lines, (), f"{path} {blob.sha256}"),)
    return tuple(sorted(file_units(path, text.lines, 1), key=lambda unit: (unit.start, unit.end)))


def file_units(path: str, lines: Sequence[str], first: int) -> Iterator[RawUnit]:
    """Yield the units of a file that starts at line `first`: those of its Markdown, or its digest and its lines;
    for data, no lines."""
    if is_markdown(path):
        markdown = markdown_index(tuple(lines))
        if markdown.frontmatter_lines:
            yield from field_units(lines[1 : markdown.frontmatter_lines - 1], first + 1)
        yield from _Page(markdown, first).units()
    elif any(line.strip() for line in lines):
        # Without final newlines, which a fence cannot keep.
        text = "\n".join(lines).rstrip("\n")
        digest = hashlib.sha256(text.encode()).hexdigest()
        yield RawUnit("file", first, first + len(lines) - 1, (), f"{path} {digest}")
        if resource_class(path, Blob("\n".join(lines).encode())) != "data":
            language = PurePosixPath(path).suffix.lower().removeprefix(".")
            yield from code_units(lines, first, (), language)


def code_units(
    lines: Sequence[str], first: int, headings: tuple[str, ...], language: str = ""
) -> Iterator[RawUnit]:
    """Yield the units of a code block or file that starts at line `first`."""
    indent = min((len(x) - len(x.lstrip(" ")) for x in lines if x.strip()), default=0)
    for number, line in enumerate(lines, first):
        if line.strip():
            body = line[indent:].expandtabs(4)
            margin = " " * (len(body) - len(body.lstrip()))
            yield RawUnit("code", number, number, headings, margin + fold_whitespace(body))
    if language in SHELLS:
        yield from _commands(lines, first, headings)
    elif language in KEYED:
        path: list[tuple[int, str]] = []
        for number, line in enumerate(lines, first):
            key = _KEY.match(line)
            if key:
                indent = len(key[1])
                path = [*[step for step in path if step[0] < indent], (indent, key[2])]
                keys = ".".join(name for _, name in path)
                yield RawUnit("schema", number, number, headings, keys)


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
            try:
                words = shlex.split(command, comments=True)
            except ValueError:
                words = command.split()
            yield RawUnit("command", start, number, headings, " ".join(words))
        command = ""


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


class _List(Struct):
    """A list of a page."""

    lead: str
    """What introduces it."""
    ordered: bool
    count: int
    """Items so far; a list that starts at 3 has two before it."""
    last: tuple[int, str] | None = None
    """Line and first sentence of its last item."""


class _Page:
    """One walk over the tokens of a Markdown text.

    A paragraph introduces the list, table or code right below it if it ends in a colon or is completely bold.
    An item introduces its content, a tag on its own line the lines below it.
    """

    def __init__(self, markdown: MarkdownIndex, first: int) -> None:
        self.markdown = markdown
        self.lines = markdown.lines
        self.tokens = markdown.inline_tokens
        self.first = first
        self.path: list[tuple[int, str | None]] = []
        """Level and title of the open headings; a marker has no title."""
        self.lists: list[_List] = []
        """The lists that are open, the innermost last."""
        self.ended: dict[int, _List] = {}
        """Number of lists around -> the last ordered list, which another may continue."""
        self.introduction = ""
        """Introduction in the block before."""
        self.covered = [
            number < markdown.frontmatter_lines or not line.strip()
            for number, line in enumerate(self.lines)
        ]
        self.marker: str | None = None
        """Path of the file that the next block holds."""
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
        """Yield the units: those of blocks, lines without a token (such as link definitions), and steps."""
        steps = list[RawUnit]()
        for index, token in enumerate(self.tokens):
            lead = self._lead(token, index)
            lead = "" if self.marker else lead
            if token.type == "list_item_open":
                steps += self._step(index)
            elif token.map and not token.type.endswith("list_open"):
                for unit in self._block_units(index, token):
                    yield unit._replace(lead=unit.lead or lead)
        self.path = []
        yield from self._lines_as_written(
            n for n, covered in enumerate(self.covered) if not covered
        )
        yield from steps

    def _lead(self, token: Token, index: int) -> str:
        """What introduces the block that begins at a token, or ""."""
        kind = token.type
        around = self.lists[-1].lead if self.lists else ""
        ends = kind in {"heading_open", "list_item_open", "hr"} or kind.endswith("_list_close")
        lead, self.introduction = self.introduction, "" if token.map or ends else self.introduction
        if kind.endswith("_list_open"):
            opened = _List(
                lead or around, kind.startswith("ordered"), int(token.attrs.get("start", 1)) - 1
            )
            before = self.ended.get(len(self.lists))
            if opened.ordered and before and before.count == opened.count:
                opened.last = before.last
            self.lists.append(opened)
        elif kind.endswith("_list_close"):
            closed = self.lists.pop()
            if closed.ordered:
                self.ended[len(self.lists)] = closed
        elif kind == "heading_open":
            self.ended.clear()
        elif kind == "paragraph_open":
            inline = self.tokens[index + 1]
            parts = sentences(inline_text(inline))
            last = parts[-1][2] if parts else ""
            if self.lists or last.endswith(":") or _is_bold(inline):
                self.introduction = last
        elif kind == "inline":
            self.introduction = lead
        elif kind == "html_block":
            tag = _TAG_ALONE.match(token.content)
            return tag[1] if tag else around
        return lead or around if kind in {"fence", "code_block", "table_open"} else around

    def _step(self, index: int) -> Iterator[RawUnit]:
        """Adjacent items of ordered lists as "this -> that".

        A list that continues the count after a code block or paragraph belongs to the same procedure; a heading
        ends it.
        """
        procedure = self.lists[-1]
        if not procedure.ordered:
            return
        procedure.count += 1
        following = (t for t in self.tokens[index + 1 :] if t.type in {"inline", "list_item_close"})
        inline = next(following)
        parts = sentences(inline_text(inline)) if inline.type == "inline" else []
        if parts:
            line = _span(inline)[0] + self.first
            _, last_line, name = parts[0]
            if procedure.last:
                start, before = procedure.last
                yield RawUnit("step", start, line + last_line, (), f"{before}{STEP_ARROW}{name}")
            procedure.last = line, name

    def _block_units(self, index: int, token: Token) -> Iterator[RawUnit]:
        kind, (start, end) = token.type, _span(token)
        if kind in _LEAVES:
            self.covered[start:end] = [True] * len(self.covered[start:end])
        if kind == "heading_open" and token.level == 0:
            yield from self._heading(token, self.tokens[index + 1])
        elif kind in {"heading_open", "paragraph_open"}:
            yield from self._paragraph(token, self.tokens[index + 1])
        elif kind in {"fence", "code_block"}:
            yield from self._code(token)
        elif kind == "html_block":
            lead = _COMMENT if token.content.lstrip().startswith(_COMMENT) else ""
            yield from self._lines_as_written(range(start, end), lead)
        elif kind == "definition" and str(token.meta["id"]) not in self.markdown.used_labels:
            yield from self._lines_as_written(range(start, end))
        elif kind == "table_open":
            yield from self._table(index)

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
        yield from self._links(inline, start + self.first)

    def _paragraph(self, token: Token, inline: Token) -> Iterator[RawUnit]:
        start, end = _span(token)
        kind: UnitKind = "item" if self.lists else "statement"
        template = template_of_line(" ".join(line.strip() for line in self.lines[start:end]))
        if template != WRITE_OUT:
            self.marker = marker_path(inline.content)
        self.configures = template == CONFIGURATION
        text = inline_text(inline)
        if template:
            last, text = end - 1 + self.first, fold_whitespace(text)
            yield RawUnit(kind, start + self.first, last, self.headings, text, template)
            return
        for low, high, sentence in sentences(text):
            first, last = start + low, min(start + high, end - 1)
            yield RawUnit(
                kind, first + self.first, last + self.first, self.headings, sentence,
                depth=len(self.lists),
            )  # fmt: skip
        yield from self._links(inline, start + self.first)

    def _code(self, token: Token) -> Iterator[RawUnit]:
        line = _span(token)[0]
        start = line + self.first + (token.type == "fence")
        words = token.info.split()
        content: Sequence[str] = token.content.removesuffix("\n").split("\n")
        # From the source if its lines have no prefix there.
        plain = token.type == "fence" and token.level == 0 and self.lines[line][:1] in "`~"
        if plain and token.content:
            content = self.lines[line + 1 : line + 1 + len(content)]
        path, self.marker = self.marker, None
        configures, self.configures = self.configures, False
        if path is not None and (not is_markdown(path) or line in self.fenced):
            yield from file_units(path, content, start)
        elif configures:
            yield from field_units(content, start)
        else:
            yield from code_units(content, start, self.headings, words[0].lower() if words else "")

    def _table(self, index: int) -> Iterator[RawUnit]:
        header: list[str] = []
        inlines: list[Token] = []
        line, nested = 0, self.tokens[index].level > 0
        for token in self.tokens[index:]:
            if token.type == "tr_open":
                inlines, line = [], _span(token)[0]
            elif token.type == "inline":
                inlines.append(token)
            elif token.type == "table_close":
                return
            if token.type != "tr_close":
                continue
            cells = [fold_whitespace(inline_text(inline)) for inline in inlines]
            shown = [f"{h}: {c}" if h else c for h, c in zip(header, cells, strict=False)]
            shown += _spare_cells(self.lines[line], len(cells), nested=nested)
            number = line + self.first
            yield RawUnit("row", number, number, self.headings, " | ".join(shown or cells))
            header = header or cells
            for inline in inlines:
                yield from self._links(inline, number)

    def _lines_as_written(self, numbers: Iterable[int], lead: str = "") -> Iterator[RawUnit]:
        """Lines as written; `lead` marks those of a comment."""
        for number in numbers:
            text = fold_whitespace(self.lines[number]) if number < len(self.lines) else ""
            if re.search(r"\w", text):
                line = number + self.first
                text = text if not lead or text.startswith(lead) else f"{lead} {text}"
                yield RawUnit("statement", line, line, self.headings, text)

    def _links(self, inline: Token, line: int) -> Iterator[RawUnit]:
        """Links and images of an inline token as "label -> address"; an image's label starts with "!"."""
        children = inline.children or []
        for index, child in enumerate(children):
            if child.type in {"softbreak", "hardbreak"}:
                line += 1
            elif child.type == "link_open":
                label = takewhile(lambda inner: inner.type != "link_close", children[index + 1 :])
                text = fold_whitespace("".join(inner.content or " " for inner in label))
                text += f"{LINK_ARROW}{child.attrs.get('href', '')}"
                yield RawUnit("link", line, line, self.headings, text)
            elif child.type == "image":
                text = f"!{fold_whitespace(child.content)}{LINK_ARROW}{child.attrs.get('src', '')}"
                yield RawUnit("link", line, line, self.headings, text)


def _is_bold(inline: Token) -> bool:
    kinds = [child.type for child in inline.children or () if child.type != "text" or child.content]
    edges = kinds[:1] == ["strong_open"] and kinds[-1:] == ["strong_close"]
    return edges and kinds.count("strong_open") == 1


def _spare_cells(line: str, count: int, *, nested: bool) -> list[str]:
    """The cells of a table row beyond its columns, which only the source shows."""
    text = (_BEFORE.sub("", line) if nested else line).strip().removeprefix("|")
    if text.count("|") < count:
        return []
    cells = [fold_whitespace(cell) for cell in escapedSplit(text.removesuffix("|"))]
    return cells[count:] if any(cells[count:]) else []


def _span(token: Token) -> tuple[int, int]:
    start, end = token.map or (0, 0)
    return start, end

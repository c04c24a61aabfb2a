"""Rows name the file that they link, and no two rows say the same.

A row is a place of a page that leads to a file, generated or not: a list item, a table row, a sentence, or a section
whose heading names a file. It is recognised by the files that it names or links, not by its wording. Whether a row
describes its file is a question of meaning: the rubric asks it.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from posixpath import dirname, join, normpath
from typing import ClassVar
from urllib.parse import unquote

from markdown_it.token import Token

from skilljuror.audit.comparison.inline_spans import leads_out
from skilljuror.audit.comparison.normalised_text import (
    moved_name,
    without_number,
    without_upward_steps,
)
from skilljuror.audit.gates.findings import Observation, differential, gate_result
from skilljuror.base.build import GateResult
from skilljuror.base.skill import Bundle, is_markdown
from skilljuror.skill.markdown import fold_whitespace, markdown_index, read_text

_NAME = re.compile(
    r"(?<![\w@/.-])(?:\.{1,2}/)*(?:[\w@+.-]{1,200}/){0,32}[\w@+.-]{1,200}\.[A-Za-z]\w{0,8}\b"
)
_BREAK = re.compile(r"(?<=[.!?])(?<!\d\.)\s+(?=[A-Z`\"'(\[])")


@dataclass(frozen=True, slots=True)
class FileRow:
    """A place that leads to files."""

    page: str
    start: int  # first line, 1-based
    end: int  # last line, inclusive
    text: str  # its text, white space folded, names and links included
    files: tuple[str, ...]  # paths of the files that it leads to, in the order of mention
    crossed: tuple[tuple[str, str], ...] = ()
    """(file in a label, target of its link) if they differ."""
    headings: tuple[str, ...] = ()  # titles above it, outermost first


@dataclass(slots=True)
class _Place:
    kind: str
    start: int
    end: int
    text: str
    links: tuple[tuple[str, str], ...]  # (label, address)
    depth: int  # depth of its list, 0 for none; the level of a heading
    headings: tuple[str, ...] = ()


class FileNames:
    """Resolve the file names on a page."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._ends: dict[str, str | None] = {}
        self._paths = set(paths)
        for path in sorted(self._paths):
            end = path.casefold()
            while end:
                self._ends[end] = None if end in self._ends else path
                end = end.partition("/")[2]

    def file(self, name: str, page: str) -> str | None:
        """Return the path of a name on a page: relative to the page, or the only one with this end, ignoring case;
        else None."""
        near = normpath(join(dirname(page), name))
        if near in self._paths:
            return near
        return self._ends.get(without_upward_steps(name).casefold())


def rows_of(bundle: Bundle, page: str) -> tuple[FileRow, ...]:
    """Return the rows of a Markdown file of a bundle, in reading order."""
    return tuple(row for row in places_of(bundle, page) if row.files)


def places_of(bundle: Bundle, page: str) -> tuple[FileRow, ...]:
    """Return the rows, and the places that lead to no file."""
    text = read_text(bundle.files[page])
    if text is None or not is_markdown(page):
        return ()
    return _rows(text.lines, page, tuple(bundle.files))


@lru_cache(maxsize=1024)
def _rows(lines: tuple[str, ...], page: str, paths: tuple[str, ...]) -> tuple[FileRow, ...]:
    return tuple(_found(list(_places(lines)), _names(paths), page))


@lru_cache(maxsize=8)
def _names(paths: tuple[str, ...]) -> FileNames:
    return FileNames(paths)


def without_names(text: str) -> str:
    return _NAME.sub(" ", text)


def routes(bundle: Bundle) -> dict[str, str]:
    """Return file -> the page whose rows lead to it: a root, or a file that a root leads to, and so on."""
    found: dict[str, str] = {}
    pages = [skill.path for skill in bundle.skills]
    seen = set(pages)
    for page in pages:
        named = (path for row in rows_of(bundle, page) for path in row.files)
        new = [path for path in dict.fromkeys(named) if path not in seen]
        seen.update(new)
        found |= dict.fromkeys(new, page)
        pages += filter(is_markdown, new)
    return found


def _found(places: Sequence[_Place], names: FileNames, page: str) -> Iterator[FileRow]:
    skip = 0
    for number, place in enumerate(places):
        if number < skip:
            continue
        if place.kind == "heading" or place.depth:
            last = _reach(places, number)
            own = _row([place], names, page)
            if not own.files:
                yield own
            else:
                group = [
                    p for p in places[number:last] if p is place or not _row([p], names, page).files
                ]
                yield _row(group, names, page)
                skip = number + 1 if len(group) < last - number else last
        elif place.kind == "paragraph":
            yield from _sentence_rows(place, names, page)
        else:
            yield _row([place], names, page)


def _reach(places: Sequence[_Place], number: int) -> int:
    """Number behind the last place of an item or a section."""
    first, last = places[number], number + 1
    while last < len(places):
        other = places[last]
        if first.kind == "heading":
            if other.kind == "heading":
                break
        elif other.kind != "item" or other.depth <= first.depth:
            break
        last += 1
    return last


def _sentence_rows(place: _Place, names: FileNames, page: str) -> Iterator[FileRow]:
    for sentence in _BREAK.split(place.text):
        inside = tuple(link for link in place.links if link[0] and link[0] in sentence)
        yield _row(
            [_Place("sentence", place.start, place.end, sentence, inside, 0, place.headings)],
            names,
            page,
        )


def _row(places: Sequence[_Place], names: FileNames, page: str) -> FileRow:
    files: dict[str, None] = {}
    crossed: list[tuple[str, str]] = []
    for place in places:
        for label, address in place.links:
            target = _linked(address, names, page)
            shown = [names.file(name, page) for name in _NAME.findall(label)]
            if target and shown and shown[0] and target not in shown:
                crossed.append((shown[0], target))
            if target:
                files[target] = None
        named = (names.file(name, page) for name in _NAME.findall(place.text))
        files |= dict.fromkeys(filter(None, named))
    files.pop(page, None)
    first, last = places[0], places[-1]
    text = " ".join(place.text for place in places)
    return FileRow(page, first.start, last.end, text, tuple(files), tuple(crossed), first.headings)


def _linked(address: str, names: FileNames, page: str) -> str | None:
    path = unquote(address).partition("#")[0].partition("?")[0]
    return names.file(path, page) if path and not leads_out(address) else None


def _places(lines: tuple[str, ...]) -> Iterator[_Place]:
    depth, row = 0, 0
    cells: list[Token] = []
    titles: list[tuple[int, str]] = []
    tokens = markdown_index(lines).inline_tokens
    for number, token in enumerate(tokens):
        if token.type == "list_item_open":
            depth += 1
        elif token.type == "list_item_close":
            depth -= 1
        elif token.type == "tr_open":
            cells, row = [], token.map[0] if token.map else row
        elif token.type == "tr_close":
            yield _table_place(cells, row, tuple(title for _, title in titles))
            cells = []
        elif token.type == "inline":
            before = tokens[number - 1]
            if before.type in {"td_open", "th_open"}:
                cells.append(token)
                continue
            place = _place(token, before, depth)
            if place.kind == "heading":
                titles = [one for one in titles if one[0] < place.depth]
            place.headings = tuple(title for _, title in titles)
            if place.kind == "heading":
                titles.append((place.depth, place.text))
            yield place


def _place(token: Token, before: Token, depth: int) -> _Place:
    start, end = token.map or (0, 0)
    heading = before.type == "heading_open" and not depth
    kind = "heading" if heading else "item" if depth else "paragraph"
    level = int(before.tag[1]) if heading else depth
    return _Place(kind, start + 1, max(end, start + 1), _visible(token), _links(token), level)


def _table_place(cells: Sequence[Token], row: int, headings: tuple[str, ...]) -> _Place:
    text = " | ".join(_visible(cell) for cell in cells)
    links = tuple(link for cell in cells for link in _links(cell))
    return _Place("row", row + 1, row + 1, text, links, 0, headings)


def _visible(token: Token) -> str:
    """The text of a token as shown: labels, not addresses."""
    parts = (
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in token.children or ()
    )
    return fold_whitespace("".join(parts))


def _links(token: Token) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    label: list[str] | None = None
    address = ""
    for child in token.children or ():
        if child.type == "link_open":
            label, address = [], str(child.attrs.get("href", ""))
        elif child.type == "link_close" and label is not None:
            found.append((fold_whitespace("".join(label)), address))
            label = None
        elif label is not None:
            label.append(child.content or " ")
    return tuple(found)


# ---- the gate -------------------------------------------------------------------------------------


class RoutingGate:
    """Check that the label and link of each row agree, and that rows can be told apart."""

    name: ClassVar[str] = "routing"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair; misleading rows of the parent are inherited."""
        seen, parent_rows = list(_observations(variant)), _ParentRows(parent)
        inherited = [*_observations(parent), *filter(parent_rows.include, seen)]
        pages = set(routes(variant).values())
        checked = {"row": sum(len(rows_of(variant, page)) for page in pages)}
        findings = differential(inherited, seen)
        return gate_result(self.name, (parent, variant), policy, findings, checked)


def _observations(bundle: Bundle) -> Iterator[Observation]:
    for page in dict.fromkeys(routes(bundle).values()):
        for row in rows_of(bundle, page):
            for label, target in row.crossed:
                key = (moved_name(label), moved_name(target))
                message = f"the link's label names {label!r}, but its address is {target!r}"
                yield Observation("routing.crossed", key, page, row.start, row.text, message)
        yield from _same_cues(bundle, page)


def _same_cues(bundle: Bundle, page: str) -> Iterator[Observation]:
    """Rows in the same words for files whose names differ in a number alone."""
    first: dict[tuple[str, str], str] = {}
    for row in rows_of(bundle, page):
        path, words = row.files[0], without_names(row.text)
        named = without_number(path), words
        other = first.setdefault(named, path)
        if path != other and named[0] in {path, other} and any(map(str.isalpha, words)):
            message = f"the rows about {other!r} and {path!r} say the same"
            key = _row_key(row, path)
            yield Observation("routing.same-cue", key, page, row.start, row.text, message)


def _row_key(row: FileRow, path: str) -> tuple[str, str]:
    """(file, words of a row about it), independent of the folders of page and file."""
    return moved_name(path), without_names(row.text)


class _ParentRows:
    """The rows of a parent, which a variant may keep however it divides the files. Text that leads
    to no file in the parent, as on a flat page, may lead to any file in the variant."""

    def __init__(self, parent: Bundle) -> None:
        self._keys: set[Hashable] = set()
        self._plain: set[str] = set()
        for page in filter(is_markdown, parent.files):
            for place in places_of(parent, page):
                self._keys.update(_row_key(place, path) for path in place.files[:1])
                if not place.files:
                    self._plain.add(without_names(place.text))

    def include(self, observation: Observation) -> bool:
        """Whether the parent has the vague or misleading row in the same words, leading nowhere or to the same file."""
        if observation.rule == "routing.crossed":
            return False
        text = without_names(observation.text or "")
        return observation.key in self._keys or text in self._plain

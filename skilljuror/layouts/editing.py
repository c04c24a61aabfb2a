"""Build the pieces of an output file together with its lines."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from posixpath import dirname, join, normpath, relpath
from urllib.parse import quote, unquote

from skilljuror.audit.comparison.inline_spans import code_spans, link_target_spans, unescaped_target
from skilljuror.audit.plans.render import BundleTexts, copies_of, piece_lines
from skilljuror.base.skill import Copy, Generated, PlannedFile
from skilljuror.skill.generated import fill_template
from skilljuror.skill.markdown import MarkdownIndex, markdown_index


class PageBuilder:
    """The pieces of one output file, in order, and its lines as rendered."""

    def __init__(self, path: str, parent_texts: BundleTexts) -> None:
        self.path = path
        self.parent_texts = parent_texts
        self.pieces: list[Copy | Generated] = []
        self.lines: list[str] = []

    def generate(self, template: str, **params: str) -> None:
        self.pieces.append(Generated(template, params))
        self.lines.append(fill_template(template, params))

    def gap(self) -> None:
        """Add a blank line, unless the page is empty or ends with one."""
        if self.lines and self.lines[-1].strip():
            self.generate("blank")

    def copy(self, source: str, start: int, end: int, shift: int = 0) -> None:
        """Add lines `start..end` (1-based, inclusive) of a parent file; nothing if end < start."""
        self.pieces.append(piece := Copy(source, start, end, shift))
        self.lines += piece_lines(piece, self.parent_texts)

    def insert(self, place: int, generated: Sequence[Generated]) -> None:
        """Insert generated lines before piece number `place`, with blank lines around them."""
        pieces = [Generated("blank", {}), *generated, Generated("blank", {})]
        line = sum(piece.size for piece in self.pieces[:place])
        self.pieces[place:place] = pieces
        self.lines[line:line] = [fill_template(one.template, one.params) for one in pieces]

    def anchor_at(self) -> dict[int, str]:
        """Return the line of each heading of the page -> its anchor."""
        return markdown_index(tuple(self.lines)).anchor_at

    def copied_headings(self) -> Iterator[tuple[str, int, str]]:
        """Yield (parent file, 0-based line in it, anchor on the page) of each copied heading."""
        copied = {
            first + n: (piece.source, piece.start - 1 + n)
            for piece, first in copies_of(self.planned())
            for n in range(piece.size)
        }
        for line, anchor in self.anchor_at().items():
            if line in copied:
                yield (*copied[line], anchor)

    def is_fenced(self, piece: Copy) -> bool:
        """Whether a piece is inside a generated fence."""
        place = next(number for number, one in enumerate(self.pieces) if one is piece)
        before = self.pieces[place - 1] if place else None
        return isinstance(before, Generated) and before.template == "fence-open"

    def planned(self, *, executable: bool = False) -> PlannedFile:
        """Return the finished file, with LF line ends and a final newline; for transforms of other
        packages."""
        return PlannedFile(self.path, tuple(self.pieces), executable)


_SCHEME = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|//)")

TargetRewrite = Callable[[str], str | None]  # a link target -> its replacement, or None to leave it


def rewrite_links(line: str, rewrite: TargetRewrite) -> str:
    """Return the line with the local link targets replaced as `rewrite` says."""
    parts, place = [], 0
    for start, end in link_spans(line):
        target = line[start:end]
        new = rewrite(unescaped_target(target))
        if new is not None:
            parts += [line[place:start], f"<{new}>" if target.startswith("<") else new]
            place = end
    return "".join([*parts, line[place:]])


def link_spans(line: str) -> list[tuple[int, int]]:
    if "](" not in line and "]:" not in line:
        return []
    code = code_spans(line)
    return [
        (first, last)
        for first, last in link_target_spans(line)
        if not any(start <= first < end for start, end in code)
    ]


def linked_paths(line: str, source: str) -> list[str]:
    """Return the bundle paths of the local links of a line in `source`."""
    targets = [unescaped_target(line[start:end]) for start, end in link_spans(line)]
    paths = [split_target(target)[0] for target in targets if is_local(target)]
    return [resolve_from(source, path) for path in paths if path]


def is_local(target: str) -> bool:
    return bool(target) and not _SCHEME.match(target) and not target.startswith(("/", "<", "{"))


def split_target(target: str) -> tuple[str, str]:
    """Return (path, anchor) of a local target, unquoted."""
    path, _, anchor = target.partition("#")
    return unquote(path), unquote(anchor)


def resolve_from(source: str, path: str) -> str:
    """Return the bundle path of a relative link in `source`."""
    return normpath(join(dirname(source), path))


def link_between(source: str, target: str, anchor: str = "") -> str:
    """Return a relative link from one file to another."""
    same_page = source == target and bool(anchor)
    path = "" if same_page else quote(relpath(target, dirname(source) or "."))
    return f"{path}#{quote(anchor, safe='-_')}" if anchor else path


_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_FOOTNOTE = re.compile(r"^ {0,3}\[(\^[^\[\]\s]+)\]:")


class LabelScope:
    """Labels of the texts on one page; a text fits if its labels do not collide."""

    def __init__(self) -> None:
        self.defined: set[str] = set()
        self.used: set[str] = set()
        self.empty = True

    def fits(self, lines: Sequence[str]) -> bool:
        """Whether the text can join without a label that matches another text's."""
        defined, used = defined_labels(lines), used_labels(lines)
        return not (defined & (self.used | self.defined)) and not (used & self.defined)

    def add(self, lines: Sequence[str]) -> None:
        self.defined |= defined_labels(lines)
        self.used |= used_labels(lines)
        self.empty = False


def folded_label(label: str) -> str:
    """Return a label as it is compared: white space folded, case folded both ways."""
    return " ".join(label.split()).lower().upper()


def defined_labels(lines: Sequence[str]) -> set[str]:
    """Return labels of link references and footnotes that the text defines."""
    if not any("]:" in line for line in lines):
        return set()
    markdown = markdown_index(tuple(lines))
    return set(_first_places(markdown))


def used_labels(lines: Sequence[str]) -> set[str]:
    """Return everything in square brackets, code included: a superset of the labels used."""
    return {folded_label(label) for label in _BRACKETS.findall("\n".join(lines))}


def _definitions(markdown: MarkdownIndex) -> Iterator[tuple[str, int, int]]:
    """(label, first line, end) of every definition, then of every other footnote."""
    links = [
        (definition.label, definition.start, definition.end) for definition in markdown.definitions
    ]
    yield from links
    known = {label for label, _, _ in links}
    for block in markdown.blocks:
        if block.kind == "paragraph_open":
            note = _FOOTNOTE.match(markdown.lines[block.start])
            if note and folded_label(note[1]) not in known:
                yield folded_label(note[1]), block.start, block.end


@lru_cache(maxsize=4)
def _first_places(markdown: MarkdownIndex) -> dict[str, tuple[int, tuple[int, int]]]:
    places: dict[str, tuple[int, tuple[int, int]]] = {}
    for label, start, end in _definitions(markdown):
        places.setdefault(label, (len(places), (start, end)))
    return places


RelocatedLine = Callable[[int, str], str]
"""(0-based line of the flat file, page) -> the line as corrected for that page."""


def supply_definitions(page: PageBuilder, flat: MarkdownIndex, line: RelocatedLine) -> None:
    """Add definitions that the page's labels had in the flat file and lost by moving.

    They go to its end; if the page has another definition of the label, to its start, since the first one
    counts.
    """
    wanted = _lost(page, flat)
    if not wanted:
        return
    own = defined_labels(page.lines)
    last = [place for label, place in wanted if label not in own]
    first = [place for label, place in wanted if label in own]
    if last:
        page.gap()
        for start, end in last:
            for text in _texts(flat, start, end, page.path, line):
                page.generate("definition", line=text)
    if first:
        texts = [text for place in first for text in _texts(flat, *place, page.path, line)]
        page.insert(_opening(page), [Generated("definition", {"line": text}) for text in texts])


def _lost(page: PageBuilder, flat: MarkdownIndex) -> list[tuple[str, tuple[int, int]]]:
    """Labels used on the page whose first definition in the flat file is not on it."""
    used = used_labels(page.lines)
    copied = {
        number
        for piece in page.pieces
        if isinstance(piece, Copy)
        for number in range(piece.start - 1, piece.end)
    }
    places = _first_places(flat)
    ranked = sorted((*places[label], label) for label in used & places.keys())
    return [(label, place) for _, place, label in ranked if place[0] not in copied]


def _texts(flat: MarkdownIndex, start: int, end: int, page: str, line: RelocatedLine) -> list[str]:
    """The lines of a definition, without the marks of a quote or list around it."""
    return [_bare(line(number, page)) for number in range(start, min(end, len(flat.lines)))]


def _bare(text: str) -> str:
    place = text.find("[")
    lead = text[:place] if place > 0 else ""
    return text[place:] if lead and not lead.strip(" >-*+0123456789.)") else text.strip()


def _opening(page: PageBuilder) -> int:
    first = page.pieces[0] if page.pieces else None
    skip = (
        page.parent_texts.markdown(first.source).frontmatter_lines if isinstance(first, Copy) else 0
    )
    whole = isinstance(first, Copy) and skip > 0 and (first.start, first.end) == (1, skip)
    if isinstance(first, Generated) or not whole:
        return 0
    return 1

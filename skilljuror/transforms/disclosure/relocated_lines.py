"""What changes inside copied lines when text moves: links, mentions and stale absolute paths."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from skilljuror.knowledge.markdown.headings import anchors
from skilljuror.knowledge.markdown.block_index import markdown_index
from skilljuror.models.plan import Copy, Generated, PlannedFile, Substitution, SubstitutionKind
from skilljuror.transforms.disclosure.file_layout import Layout
from skilljuror.transforms.editing.links import (
    is_local,
    link_between,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.transforms.disclosure.path_mentions import Names
from skilljuror.transforms.editing.page_builder import Page


class Moves:
    """Rewrites the pages of one layout."""

    def __init__(self, layout: Layout, pages: Sequence[Page]) -> None:
        self.layout = layout
        self.flat = layout.flat
        self.pages = pages
        markdown = self.flat.markdown
        names = anchors([one.title for one in markdown.headings])
        self._lines: dict[str, list[int]] = defaultdict(list)
        """Anchor in the flat file -> 0-based lines of its headings."""
        for one, name in zip(markdown.headings, names, strict=True):
            self._lines[name].append(one.start)
        self._carried = {
            file.heading.start: (layout.placed[file.path], "") for file in self.flat.embedded
        }
        self._found: dict[str, tuple[str, str] | None] = {}
        self._read: dict[str, list[tuple[int, str]]] = {}
        self._defining = {
            line for one in markdown.definitions for line in range(one.start, one.end)
        }
        self._names = Names(layout)

    def planned(self, page: Page) -> PlannedFile:
        """The finished page."""
        pieces = [
            piece if isinstance(piece, Generated) else self._rewritten(piece, page)
            for piece in page.pieces
        ]
        return PlannedFile(page.path, tuple(pieces))

    def line(self, number: int, page: str) -> str:
        """A line (0-based) of the flat file as it should stand on a page."""
        return self._after(number, page)[0]

    def _rewritten(self, piece: Copy, page: Page) -> Copy:
        changes = tuple(self._changes(piece, page.path))
        if not changes:
            return piece
        return Copy(piece.source, piece.start, piece.end, piece.shift, changes)

    def _changes(self, piece: Copy, page: str) -> Iterator[Substitution]:
        for number in range(max(piece.start, self.flat.markdown.frontmatter_lines + 1), piece.end + 1):
            after, kind = self._after(number - 1, page)
            before = self.flat.lines[number - 1]
            if after != before:
                yield Substitution(number, before, after, kind)

    def _after(self, line: int, page: str) -> tuple[str, SubstitutionKind]:
        before = self.flat.lines[line]
        kind: SubstitutionKind = "link"
        text, unit = before, self.flat.unit_at(line)
        if line in self.flat.markdown.prose_lines or line in self._defining:
            text = rewrite_links(before, lambda target: self._target(target, page, unit))
        renamed = self._names.renamed(text, unit)
        kind = kind if renamed == text else "mention"
        fresh = self._names.freshened(renamed)
        return fresh, (kind if fresh == renamed else "stale-path")

    def _target(self, target: str, page: str, unit: str) -> str | None:
        if not is_local(target):
            return None
        path, anchor = split_target(target)
        if not path:
            place = self._place(anchor)
            new = link_between(page, *place) if place else target
        else:
            places = (self.flat.path, f"{self.layout.folder}/{unit or '.'}/SKILL.md")
            wanted = (resolve_from(place, path) for place in places)
            known = next(filter(self.layout.has, wanted), None)
            new = link_between(page, known, anchor) if known else target
        return None if new == target else new

    def _place(self, anchor: str) -> tuple[str, str] | None:
        """(file, anchor there) of an anchor in the flat file; only pages that hold its heading are
        read. Of a heading that stands on several pages the last one counts."""
        if anchor not in self._found:
            place = None
            for line in self._lines.get(anchor, ()):
                place = self._carried.get(line, place)
            for page in self.pages if anchor in self._lines else ():
                place = self._on_page(page, anchor) or place
            self._found[anchor] = place
        return self._found[anchor]

    def _on_page(self, page: Page, anchor: str) -> tuple[str, str] | None:
        lines = set(self._lines[anchor])
        copies = [piece for piece in page.pieces if isinstance(piece, Copy)]
        if not any(piece.start <= line + 1 <= piece.end for piece in copies for line in lines):
            return None
        if page.path not in self._read:
            self._read[page.path] = list(_page_anchors(page))
        names = [name for line, name in self._read[page.path] if line in lines]
        return (page.path, names[-1]) if names else None


def _page_anchors(page: Page) -> Iterator[tuple[int, str]]:
    """(0-based line of the flat file, anchor on the page) of each copied heading."""
    markdown = markdown_index(tuple(page.lines))
    names = anchors([one.title for one in markdown.headings])
    by_line = {one.start: name for one, name in zip(markdown.headings, names, strict=True)}
    place = 0
    for piece in page.pieces:
        if isinstance(piece, Generated):
            place += 1
            continue
        for number in range(piece.start - 1, piece.end):
            if place in by_line:
                yield number, by_line[place]
            place += 1

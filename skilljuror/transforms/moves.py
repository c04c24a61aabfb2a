"""What changes inside copied lines when text moves: links, mentions and stale absolute paths."""

from collections.abc import Iterator, Sequence

from skilljuror.knowledge.headings import anchors
from skilljuror.knowledge.markdown import document_of
from skilljuror.models.plan import Copy, Generated, PlannedFile, Substitution, SubstitutionKind
from skilljuror.transforms.layout import Layout
from skilljuror.transforms.links import (
    is_local,
    link_between,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.transforms.names import Names
from skilljuror.transforms.page import Page


class Moves:
    """Rewrites the pages of one layout."""

    def __init__(self, layout: Layout, pages: Sequence[Page]) -> None:
        self.layout = layout
        self.flat = layout.flat
        self.pages = pages
        self._anchors = self._find_anchors()
        document = self.flat.document
        self._defining = {
            line for one in document.definitions for line in range(one.start, one.end)
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
        for number in range(max(piece.start, self.flat.document.skip + 1), piece.end + 1):
            after, kind = self._after(number - 1, page)
            before = self.flat.lines[number - 1]
            if after != before:
                yield Substitution(number, before, after, kind)

    def _after(self, line: int, page: str) -> tuple[str, SubstitutionKind]:
        before = self.flat.lines[line]
        kind: SubstitutionKind = "link"
        text = before
        if line in self.flat.document.prose or line in self._defining:
            text = rewrite_links(before, lambda target: self._target(target, page))
        renamed = self._names.renamed(text, self.flat.unit_at(line))
        kind = kind if renamed == text else "mention"
        fresh = self._names.freshened(renamed)
        return fresh, (kind if fresh == renamed else "stale-path")

    def _target(self, target: str, page: str) -> str | None:
        if not is_local(target):
            return None
        path, anchor = split_target(target)
        if not path:
            place = self._anchors.get(anchor)
            new = link_between(page, *place) if place else target
        else:
            wanted = resolve_from(self.flat.path, path)
            known = self.layout.has(wanted)
            new = link_between(page, wanted, anchor) if known else target
        return None if new == target else new

    def _find_anchors(self) -> dict[str, tuple[str, str]]:
        """Anchor in the flat file -> (file, anchor there)."""
        document = self.flat.document
        names = anchors([one.title for one in document.headings])
        by_line = {one.start: name for one, name in zip(document.headings, names, strict=True)}
        found: dict[str, tuple[str, str]] = {}
        for file in self.flat.embedded:
            found[by_line[file.heading.start]] = (self.layout.placed[file.path], "")
        for page in self.pages:
            for line, name in _page_anchors(page):
                if line in by_line:
                    found[by_line[line]] = (page.path, name)
        return found


def _page_anchors(page: Page) -> Iterator[tuple[int, str]]:
    """(0-based line of the flat file, anchor on the page) of each copied heading."""
    document = document_of(tuple(page.lines))
    names = anchors([one.title for one in document.headings])
    by_line = {one.start: name for one, name in zip(document.headings, names, strict=True)}
    place = 0
    for piece in page.pieces:
        if isinstance(piece, Generated):
            place += 1
            continue
        for number in range(piece.start - 1, piece.end):
            if place in by_line:
                yield number, by_line[place]
            place += 1

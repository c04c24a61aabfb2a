"""Links of a flat page: what pointed at an embedded file points at its section."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from skilljuror.knowledge.markdown.headings import anchors
from skilljuror.knowledge.markdown.block_index import MarkdownIndex, markdown_index
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.plan import Copy, Generated, PlannedFile, Substitution
from skilljuror.transforms.editing.links import (
    is_local,
    link_between,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.transforms.editing.page_builder import Page

_Key = tuple[str, str]
_Pages = dict[str, _Key]
"""Source file -> (page, anchor of its section; "" for the page itself)."""
_Anchors = dict[_Key, _Key]
"""(source file, anchor in it) -> (page, anchor there)."""


class Places:
    """Where the source's files stand in the variant; the pages are read when a link asks."""

    def __init__(
        self, pages: Sequence[Page], shown: Mapping[str, tuple[str, int]], beside: Mapping[str, str]
    ) -> None:
        self._pages, self._shown = pages, shown
        self.beside = beside
        """Source file carried as a file -> its path in the variant."""

    def of(self, path: str, anchor: str, *, whole: bool) -> _Key | None:
        """(page, anchor there) of a heading of a source file, or else of the whole file where that
        will do; None for one that no page shows."""
        if path not in self._shown and path not in self._copied:
            return None
        pages, inside = self._read
        return inside.get((path, anchor)) or (pages.get(path) if whole else None)

    @cached_property
    def _copied(self) -> set[str]:
        return {
            piece.source for page in self._pages for piece in page.pieces if isinstance(piece, Copy)
        }

    @cached_property
    def _read(self) -> tuple[_Pages, _Anchors]:
        pages: _Pages = {}
        inside: _Anchors = {}
        for page in self._pages:
            markdown = markdown_index(tuple(page.lines))
            titles = anchors([one.title for one in markdown.headings])
            names = dict(zip((one.start for one in markdown.headings), titles, strict=True))
            for path, (where, line) in self._shown.items():
                if where == page.path:
                    pages[path] = (page.path, names.get(line, ""))
            inside.update(_anchor_pieces(page, names))
        return pages, inside


def linked(pages: Sequence[Page], places: Places, sources: BundleTexts) -> list[PlannedFile]:
    """The pages with the local links of their prose pointing at where things stand now."""
    found = []
    for page in pages:
        pieces = [
            _relinked(piece, page, places, sources) if isinstance(piece, Copy) else piece
            for piece in page.pieces
        ]
        found.append(PlannedFile(page.path, tuple(pieces)))
    return found


def _relinked(piece: Copy, page: Page, places: Places, sources: BundleTexts) -> Copy:
    if piece.end < piece.start or page.is_fenced(piece):
        return piece
    changes = tuple(_changes(piece, page, places, sources.markdown(piece.source)))
    return Copy(piece.source, piece.start, piece.end, piece.shift, changes) if changes else piece


def _changes(piece: Copy, page: Page, places: Places, markdown: MarkdownIndex) -> Iterator[Substitution]:
    def rewrite(target: str) -> str | None:
        return _moved(target, piece.source, page.path, places)

    defining = {line for one in markdown.definitions for line in range(one.start, one.end)}
    for number in range(piece.start, piece.end + 1):
        if number - 1 in markdown.prose_lines or number - 1 in defining:
            before = markdown.lines[number - 1]
            after = rewrite_links(before, rewrite)
            if after != before:
                yield Substitution(number, before, after, "link")


def _moved(target: str, source: str, page: str, places: Places) -> str | None:
    """The new target of a link, or None when it is right as it stands or was never right."""
    if not is_local(target):
        return None
    path, anchor = split_target(target)
    wanted = resolve_from(source, path) if path else source
    if path and wanted in places.beside:
        new = link_between(page, places.beside[wanted], anchor)
    else:
        place = places.of(wanted, anchor, whole=bool(path))
        new = link_between(page, *place) if place else ""
    return None if new == target or not new else new


def _anchor_pieces(page: Page, names: Mapping[int, str]) -> Iterator[tuple[_Key, _Key]]:
    """((source file, anchor in it), (page, anchor there)) of the headings that a page shows."""
    place = 0
    for piece in page.pieces:
        if isinstance(piece, Generated):
            place += 1
            continue
        markdown = page.sources.markdown(piece.source)
        own = anchors([one.title for one in markdown.headings])
        for heading, name in zip(markdown.headings, own, strict=True):
            line = place + heading.start - piece.start + 1
            if piece.start - 1 <= heading.start < piece.end and line in names:
                yield (piece.source, name), (page.path, names[line])
        place += max(0, piece.end - piece.start + 1)

"""Links of a flat page: what pointed at an embedded file points at its section."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skilljuror.knowledge.headings import anchors
from skilljuror.knowledge.markdown import Document, document_of
from skilljuror.knowledge.render import Sources
from skilljuror.models.plan import Copy, Generated, PlannedFile, Substitution
from skilljuror.transforms.links import (
    is_local,
    link_between,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.transforms.page import Page


@dataclass(slots=True)
class Places:
    """Where the source's files stand in the variant."""

    pages: dict[str, tuple[str, str]]
    """Source file -> (page, anchor of its section; "" for the page itself)."""
    anchors: dict[tuple[str, str], tuple[str, str]]
    """(source file, anchor in it) -> (page, anchor there)."""
    beside: dict[str, str]
    """Source file carried as a file -> its path in the variant."""


def linked(pages: Sequence[Page], places: Places, sources: Sources) -> list[PlannedFile]:
    """The pages with the local links of their prose pointing at where things stand now."""
    found = []
    for page in pages:
        pieces = [
            _relinked(piece, page, places, sources) if isinstance(piece, Copy) else piece
            for piece in page.pieces
        ]
        found.append(PlannedFile(page.path, tuple(pieces)))
    return found


def _relinked(piece: Copy, page: Page, places: Places, sources: Sources) -> Copy:
    if piece.end < piece.start or page.is_fenced(piece):
        return piece
    changes = tuple(_changes(piece, page, places, sources.document(piece.source)))
    return Copy(piece.source, piece.start, piece.end, piece.shift, changes) if changes else piece


def _changes(piece: Copy, page: Page, places: Places, document: Document) -> Iterator[Substitution]:
    def rewrite(target: str) -> str | None:
        return _moved(target, piece.source, page.path, places)

    defining = {line for one in document.definitions for line in range(one.start, one.end)}
    for number in range(piece.start, piece.end + 1):
        if number - 1 in document.prose or number - 1 in defining:
            before = document.lines[number - 1]
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
    elif (wanted, anchor) in places.anchors:
        new = link_between(page, *places.anchors[wanted, anchor])
    elif path and wanted in places.pages:
        new = link_between(page, *places.pages[wanted])
    else:
        return None
    return None if new == target or not new else new


def places_of(
    pages: Sequence[Page], shown: Mapping[str, tuple[str, int]], beside: Mapping[str, str]
) -> Places:
    """Where files and headings stand; `shown` tells each file's page and 0-based heading line."""
    found = Places({}, {}, {path: target for target, path in beside.items()})
    for page in pages:
        document = document_of(tuple(page.lines))
        names = dict(
            zip(
                (one.start for one in document.headings),
                anchors([one.title for one in document.headings]),
                strict=True,
            )
        )
        for path, (where, line) in shown.items():
            if where == page.path:
                found.pages[path] = (page.path, names.get(line, ""))
        _anchor_pieces(found, page, names)
    return found


def _anchor_pieces(found: Places, page: Page, names: Mapping[int, str]) -> None:
    place = 0
    for piece in page.pieces:
        if isinstance(piece, Generated):
            place += 1
            continue
        document = page.sources.document(piece.source)
        own = anchors([one.title for one in document.headings])
        for heading, name in zip(document.headings, own, strict=True):
            line = place + heading.start - piece.start + 1
            if piece.start - 1 <= heading.start < piece.end and line in names:
                found.anchors[piece.source, name] = (page.path, names[line])
        place += max(0, piece.end - piece.start + 1)

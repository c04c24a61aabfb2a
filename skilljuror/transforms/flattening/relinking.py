"""Relink a flat page: a link to a file becomes a link to the section that carries it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from skilljuror.knowledge.markdown.block_index import MarkdownIndex
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.plan import Copy, PlannedFile, Substitution
from skilljuror.transforms.editing.links import (
    is_local,
    link_between,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.transforms.editing.page_builder import PageBuilder

_Place = tuple[str, str]
"""(file, anchor in it); "" for the file itself."""


class ShownFiles:
    """The places of the source's files in the variant, computed on demand."""

    def __init__(
        self,
        pages: Sequence[PageBuilder],
        sections: Mapping[str, tuple[str, int]],
        sidecars: Mapping[str, str],
    ) -> None:
        """`sections`: source file -> (page, 0-based line of its section's heading); `sidecars`: variant path ->
        source file.
        """
        self._pages, self._sections = pages, sections
        self.sidecars = {source: path for path, source in sidecars.items()}

    def find(self, path: str, anchor: str, *, whole: bool) -> _Place | None:
        """Return the place of a heading, or of the `whole` file if allowed; None if no page has it."""
        if path not in self._sections and path not in self._copied:
            return None
        files, headings = self._places
        return headings.get((path, anchor)) or (files.get(path) if whole else None)

    @cached_property
    def _copied(self) -> set[str]:
        pieces = (piece for page in self._pages for piece in page.pieces)
        return {piece.source for piece in pieces if isinstance(piece, Copy)}

    @cached_property
    def _places(self) -> tuple[dict[str, _Place], dict[_Place, _Place]]:
        files: dict[str, _Place] = {}
        headings: dict[_Place, _Place] = {}
        for page in self._pages:
            anchor_at = page.anchor_at()
            for path, (shown_on, line) in self._sections.items():
                if shown_on == page.path:
                    files[path] = (page.path, anchor_at.get(line, ""))
            for source, line, anchor in page.copied_headings():
                before = page.parent_texts.markdown(source).anchor_at.get(line)
                if before is not None:
                    headings[source, before] = (page.path, anchor)
        return files, headings


def relink_pages(
    pages: Sequence[PageBuilder], files: ShownFiles, parent_texts: BundleTexts
) -> list[PlannedFile]:
    """Return the pages with local links of prose corrected."""
    planned = []
    for page in pages:
        pieces = [
            _relinked(piece, page, files, parent_texts) if isinstance(piece, Copy) else piece
            for piece in page.pieces
        ]
        planned.append(PlannedFile(page.path, tuple(pieces)))
    return planned


def _relinked(piece: Copy, page: PageBuilder, files: ShownFiles, parent_texts: BundleTexts) -> Copy:
    if piece.end < piece.start or page.is_fenced(piece):
        return piece
    changes = tuple(_substitutions(piece, page, files, parent_texts.markdown(piece.source)))
    return Copy(piece.source, piece.start, piece.end, piece.shift, changes) if changes else piece


def _substitutions(
    piece: Copy, page: PageBuilder, files: ShownFiles, markdown: MarkdownIndex
) -> Iterator[Substitution]:
    def rewrite(target: str) -> str | None:
        return _new_target(target, piece.source, page.path, files)

    for number in range(piece.start, piece.end + 1):
        if number - 1 in markdown.link_lines:
            before = markdown.lines[number - 1]
            after = rewrite_links(before, rewrite)
            if after != before:
                yield Substitution(number, before, after, "link")


def _new_target(target: str, source: str, page: str, files: ShownFiles) -> str | None:
    """The new target of a link; None if it is correct, or was already broken."""
    if not is_local(target):
        return None
    path, anchor = split_target(target)
    wanted = resolve_from(source, path) if path else source
    if path and wanted in files.sidecars:
        new = link_between(page, files.sidecars[wanted], anchor)
    else:
        place = files.find(wanted, anchor, whole=bool(path))
        new = link_between(page, *place) if place else ""
    return None if new == target or not new else new

"""The root page and the plan of a layout."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from skilljuror.base.skill import Copy, Omitted, Plan, PlannedFile
from skilljuror.layouts.disclosure.file_layout import FileLayout
from skilljuror.layouts.disclosure.relocated_lines import LineRelocator
from skilljuror.layouts.disclosure.routing_table import RoutingRow
from skilljuror.layouts.disclosure.sections import FlatSkill, SectionGroup, merged_ranges
from skilljuror.layouts.editing.links import supply_definitions
from skilljuror.layouts.editing.page_builder import PageBuilder


@dataclass(slots=True)
class DisclosureDraft:
    """A layout with a root, which may be too long."""

    layout: FileLayout
    root: PageBuilder
    indexes: list[PageBuilder] = field(default_factory=list)
    """Index pages of source skills or folders."""

    def plan(self, variant: str) -> Plan:
        """Return the plan, with links and labels corrected."""
        flat = self.layout.flat
        pages = [self.root, *self.indexes, *(one.page for one in self.layout.references)]
        relocator = LineRelocator(self.layout, pages)
        for page in pages:
            supply_definitions(page, flat.markdown, relocator.line)
        files = [relocator.planned(page) for page in pages]
        files += [planned for _, planned in self.layout.verbatim_files]
        flags = flat.texts.text(flat.path).flags
        return Plan(
            variant,
            "baseline",
            tuple(files),
            sidecars={path: path for path in self.layout.data_files},
            flags={flat.path: flags} if flags else {},
            omitted=_omitted(flat, files),
        )


def root_page(
    layout: FileLayout,
    kept: Sequence[SectionGroup],
    rows: Sequence[RoutingRow],
    pointers: Sequence[tuple[int, RoutingRow]] = (),
    index: PageBuilder | None = None,
) -> PageBuilder:
    """Return a root page: frontmatter, kept text with pointers to moved text, and the routing table.

    An `index`, an empty page, gets the same without frontmatter.
    """
    flat = layout.flat
    page = index or PageBuilder(flat.path, flat.texts)
    if index is None:
        page.copy(flat.path, 1, flat.markdown.frontmatter_lines)
    place = -1
    for start, end in merged_ranges([lines for group in kept for lines in group.ranges]):
        _add_pointers(page, [row for line, row in pointers if place <= line < start])
        page.gap()
        layout.copy_trimmed(page, start, end)
        place = start
    _add_pointers(page, [row for line, row in pointers if line >= place])
    if rows:
        page.gap()
        page.generate("routing")
        page.generate("blank")
        page.generate("routing-lead")
        page.generate("blank")
        for template, params in rows:
            page.generate(template, **params)
    return page


def _add_pointers(page: PageBuilder, rows: Sequence[RoutingRow]) -> None:
    for template, params in rows:
        page.gap()
        page.generate(template, **params)


def _omitted(flat: FlatSkill, files: Sequence[PlannedFile]) -> tuple[Omitted, ...]:
    covered = {
        line
        for file in files
        for piece in file.pieces
        if isinstance(piece, Copy)
        for line in range(piece.start, piece.end + 1)
    }
    return tuple(
        Omitted(flat.path, number, line)
        for number, line in enumerate(flat.lines, start=1)
        if number not in covered
    )

"""One layout as pages: the root, its table, pointers to what left, and the plan of it all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skilljuror.models.plan import Copy, Omitted, Plan, PlannedFile
from skilljuror.transforms.disclosure.trigger_cues import topics
from skilljuror.transforms.editing.link_references import supply
from skilljuror.transforms.disclosure.file_layout import Layout
from skilljuror.transforms.disclosure.relocated_lines import Moves
from skilljuror.transforms.editing.page_builder import Page
from skilljuror.transforms.disclosure.routing_table import Row
from skilljuror.transforms.disclosure.sections import FlatSkill, Group, joined


@dataclass(slots=True)
class Draft:
    """One layout with its root."""

    layout: Layout
    root: Page
    guides: list[Page] = field(default_factory=list)
    """Pages that route to the files of one skill each."""

    def plan(self, variant: str) -> Plan:
        """The plan, links and labels set right."""
        flat = self.layout.flat
        pages = [self.root, *self.guides, *(one.page for one in self.layout.references)]
        moves = Moves(self.layout, pages)
        for page in pages:
            supply(page, flat.markdown, moves.line)
        files = [moves.planned(page) for page in pages]
        files += [planned for _, planned in self.layout.verbatim]
        flags = self.root.sources.text(flat.path).flags
        return Plan(
            variant,
            "baseline",
            tuple(files),
            sidecars={path: path for path in self.layout.data},
            flags={flat.path: flags} if flags else {},
            omitted=_omitted(flat, files),
        )


def pointers(layout: Layout, kept: Sequence[Group]) -> Iterator[tuple[int, Row]]:
    """Where numbered steps left a section that stays: (line, row) for where they went."""
    stays = {(group.path, group.unit) for group in kept if group.is_step}
    stays |= {((*group.path, group.title), group.unit) for group in kept if group.title}
    for run, path in layout.runs:
        if (run[0].path, run[0].unit) in stays and all(group.is_step for group in run):
            shown = path.removeprefix(f"{layout.folder}/")
            about = topics(group.title for group in run)
            yield run[0].start, ("row-next", {"path": shown, "link": shown, "topics": about})


def root_page(
    layout: Layout,
    kept: Sequence[Group],
    rows: Sequence[Row],
    left: Sequence[tuple[int, Row]] = (),
    guide: Page | None = None,
) -> Page:
    """The root: frontmatter, what stays with pointers in its place to what left, the table. Or a
    `guide`, an empty page so far, which is the same without frontmatter."""
    flat = layout.flat
    page = guide or Page(flat.path, layout.sources)
    if guide is None:
        page.copy(flat.path, 1, flat.markdown.frontmatter_lines)
    place = 0
    for start, end in joined([one for group in kept for one in group.ranges]):
        _point(page, [row for line, row in left if place <= line < start])
        page.gap()
        layout.copy_trimmed(page, start, end)
        place = start
    _point(page, [row for line, row in left if line >= place])
    if rows:
        page.gap()
        page.make("routing")
        page.make("blank")
        page.make("routing-lead")
        page.make("blank")
        for template, params in rows:
            page.make(template, **params)
    return page


def _point(page: Page, rows: Sequence[Row]) -> None:
    for template, params in rows:
        page.gap()
        page.make(template, **params)


def _omitted(flat: FlatSkill, files: Sequence[PlannedFile]) -> tuple[Omitted, ...]:
    """The lines of the flat file that no file carries."""
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

"""pd: Progressive Disclosure. A short root that routes to files opened on demand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from skilljuror.errors import TransformError
from skilljuror.knowledge.classes import is_markdown
from skilljuror.knowledge.markers import is_structure
from skilljuror.knowledge.render import Sources
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Omitted, Plan, PlannedFile
from skilljuror.transforms.choose import Budget, Chooser, carry_bare
from skilljuror.transforms.cues import topics
from skilljuror.transforms.labels import supply
from skilljuror.transforms.layout import Layout
from skilljuror.transforms.moves import Moves
from skilljuror.transforms.page import Page
from skilljuror.transforms.routing import Routing, Row
from skilljuror.transforms.sections import FlatSkill, Group, joined

ROOT_LINES = 220
"""Lines of the root, frontmatter and routing table included."""
MERGE_TOKENS = 800
"""Estimated tokens up to which neighbouring sections share a reference."""
ROUNDS = 10


class ProgressiveDisclosure:
    """Reorganises a flat baseline, and nothing but the baseline."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan. `params["root_lines"]` overrides the root's budget of lines."""
        flat, sources = flat_skill(parent, self.variant)
        limit = int(params.get("root_lines", ROOT_LINES))
        draft = _within(parent, sources, flat, limit)
        return draft.plan(self.variant)


def flat_skill(parent: Bundle, variant: str) -> tuple[FlatSkill, Sources]:
    """The one skill of a flat bundle. Raises TransformError for any other bundle."""
    if len(parent.skills) != 1:
        raise TransformError(
            f"{variant!r} is made from a bundle of exactly one skill; {parent.name!r} has "
            f"{len(parent.skills)}; build the baseline first"
        )
    sources = Sources(parent.files)
    path = parent.skills[0].path
    return FlatSkill(path, sources.document(path)), sources


@dataclass(slots=True)
class Draft:
    """One layout with its root."""

    layout: Layout
    root: Page

    def plan(self, variant: str) -> Plan:
        """The plan, links and labels set right."""
        flat = self.layout.flat
        pages = [self.root, *(one.page for one in self.layout.references)]
        moves = Moves(self.layout, pages)
        for page in pages:
            supply(page, flat.document, moves.line)
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


def _within(parent: Bundle, sources: Sources, flat: FlatSkill, limit: int) -> Draft:
    """The draft whose root keeps within the limit: first less text stays, then rows are shared."""
    lines = max(24, limit - flat.document.skip - len(flat.embedded) - 8)
    merge = MERGE_TOKENS
    for _ in range(ROUNDS):
        draft = _draft(parent, sources, flat, Budget(lines), merge)
        over = len(draft.root.lines) - limit
        if over <= 0:
            break
        merge = merge if lines > 60 else 2 * merge
        lines = max(24, lines - over)
    return draft


def _draft(parent: Bundle, sources: Sources, flat: FlatSkill, budget: Budget, merge: int) -> Draft:
    must_move = not any(is_markdown(file.path) for file in flat.embedded)
    kept, moved = Chooser(flat, flat.groups(), budget).choose(must_move=must_move)
    kept, moved = carry_bare(kept, moved)
    kept = [group for group in kept if not (group.bare and is_structure(group.title))]
    layout = Layout(parent, sources, flat)
    layout.add_sections(moved, merge)
    layout.add_carried()
    pointers = list(_pointers(layout, kept))
    return Draft(layout, root_page(layout, kept, Routing(layout).rows(), pointers))


def _pointers(layout: Layout, kept: Sequence[Group]) -> Iterator[tuple[int, Row]]:
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
    pointers: Sequence[tuple[int, Row]] = (),
) -> Page:
    """The root: frontmatter, what stays with pointers in its place to what left, the table."""
    flat = layout.flat
    page = Page(flat.path, layout.sources)
    page.copy(flat.path, 1, flat.document.skip)
    place = 0
    for start, end in joined([one for group in kept for one in group.ranges]):
        _point(page, [row for line, row in pointers if place <= line < start])
        page.gap()
        layout.copy_trimmed(page, start, end)
        place = start
    _point(page, [row for line, row in pointers if line >= place])
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

"""pd: Progressive Disclosure, a short root that routes to files opened on demand."""

from typing import Any, ClassVar

from skilljuror.errors import TransformError
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Plan
from skilljuror.models.resource_class import is_markdown
from skilljuror.tokens import estimate
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.disclosure.index_pages import (
    MANY_SKILLS,
    TABLE_LINES,
    FolderIndexes,
    with_skill_indexes,
)
from skilljuror.transforms.disclosure.own_rows import OwnRows, keep_routing
from skilljuror.transforms.disclosure.root_page import DisclosureDraft, continuations, root_page
from skilljuror.transforms.disclosure.root_selection import (
    RootBudget,
    RootSelector,
    without_bare_structure,
)
from skilljuror.transforms.disclosure.routing_table import RoutingTable
from skilljuror.transforms.disclosure.sections import FlatSkill

ROOT_LINES = 220  # maximum lines of the root, frontmatter and routing table included
MERGE_TOKENS = 800  # estimated tokens up to which neighbouring sections share a reference
GROWN = 1.1
"""Size of a root, relative to the source's pages, above which it does not repeat their rows."""
ROUNDS = 10
STUCK = 3  # rounds without progress after which the root cannot get shorter


class ProgressiveDisclosure:
    """Reorganise a flat baseline."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan. `params["root_lines"]` overrides the root's maximum of lines."""
        limit = int(params.get("root_lines", ROOT_LINES))
        return _draft_within(flat_skill(parent, self.variant), limit).plan(self.variant)


def flat_skill(parent: Bundle, variant: str) -> FlatSkill:
    """Return the one skill of a flat bundle. Raises TransformError for any other bundle."""
    if len(parent.skills) != 1:
        raise TransformError(
            f"{variant!r} needs a bundle with exactly one skill, but {parent.name!r} has "
            f"{len(parent.skills)}; build the baseline first"
        )
    return FlatSkill(parent)


def _own_tokens(flat: FlatSkill) -> int:
    """Estimated tokens of the page without embedded files, which is the size of the source's roots."""
    edges = [0, *(line for lines in flat.embedded_ranges for line in lines), len(flat.lines)]
    return flat.tokens(list(zip(edges[::2], edges[1::2], strict=True)))


def _draft_within(flat: FlatSkill, limit: int) -> DisclosureDraft:
    """The draft whose root fits the limit: first less text stays, then rows are shared.

    If that fails, the skills of a union, or the folders of one skill, get index pages.
    """
    lines = max(24, limit - flat.markdown.frontmatter_lines - len(flat.embedded_files) - 8)
    merge = MERGE_TOKENS
    excess: list[int] = []
    rows = sum(not file.fenced for file in flat.embedded_files)
    hopeless = len(flat.skills) >= MANY_SKILLS or flat.markdown.frontmatter_lines + rows > limit
    for _ in range(ROUNDS):
        draft = _draft(flat, RootBudget(lines), merge)
        over = len(draft.root.lines) - limit
        if over <= 0:
            return draft
        excess.append(over)
        if hopeless or excess[-STUCK:] == [over] * STUCK:
            break
        merge = merge if lines > 60 else 2 * merge
        copied = sum(one.size for one in draft.root.pieces if isinstance(one, Copy))
        lines = min(lines, copied - flat.markdown.frontmatter_lines)
        lines = max(24, lines - over * len(excess))
    if len(flat.skills) > 1:
        return with_skill_indexes(flat, limit, MERGE_TOKENS)
    budget = RootBudget(max(24, (limit - flat.markdown.frontmatter_lines) // 2))
    indexed = _draft(flat, budget, MERGE_TOKENS, limit)
    return indexed if indexed.indexes else draft


def _draft(
    flat: FlatSkill, budget: RootBudget, merge: int, limit: int | None = None
) -> DisclosureDraft:
    """One attempt; with a limit of lines, excess rows go to index pages of folders."""
    must_move = not any(is_markdown(file.path) for file in flat.embedded_files)
    kept, moved = RootSelector(flat, flat.groups(), budget).choose(must_move=must_move)
    own = OwnRows(flat)
    kept, moved = keep_routing(own, kept, moved, budget.lines, must_move=must_move)
    kept = without_bare_structure(kept)
    layout = FileLayout(flat)
    layout.add_sections(moved, merge)
    layout.add_embedded()
    pointers = list(continuations(layout, kept))
    if limit is None:
        table = RoutingTable(layout, described=own.routed_in(kept))
        root = root_page(layout, kept, table.rows(), pointers)
        if estimate("\n".join(root.lines)) > GROWN * _own_tokens(flat):
            root = root_page(layout, kept, table.undescribed_rows(), pointers)
        return DisclosureDraft(layout, root)
    folders = FolderIndexes(layout, limit)
    room = limit - len(root_page(layout, kept, [], pointers).lines) - TABLE_LINES
    rows = folders.fitted(RoutingTable(layout, indexed=True).rows(), room)
    return DisclosureDraft(layout, root_page(layout, kept, rows, pointers), folders.pages)

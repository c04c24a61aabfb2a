"""pd: Progressive Disclosure. A short root that routes to files opened on demand."""

from typing import Any, ClassVar

from skilljuror.errors import TransformError
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Plan
from skilljuror.models.resource_class import is_markdown
from skilljuror.tokens import estimate
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.disclosure.folder_indexes import TABLE_LINES, FolderIndexes
from skilljuror.transforms.disclosure.own_rows import OwnRows, keep_routing
from skilljuror.transforms.disclosure.root_page import DisclosureDraft, continuations, root_page
from skilljuror.transforms.disclosure.root_selection import (
    RootBudget,
    RootSelector,
    without_bare_structure,
)
from skilljuror.transforms.disclosure.routing_table import RoutingTable
from skilljuror.transforms.disclosure.sections import FlatSkill
from skilljuror.transforms.disclosure.skill_indexes import MANY_SKILLS, with_skill_indexes

ROOT_LINES = 220
"""Lines of the root, frontmatter and routing table included."""
MERGE_TOKENS = 800
"""Estimated tokens up to which neighbouring sections share a reference."""
GROWN = 1.1
"""Share of the source's own pages from which a root is too long to repeat rows that they have."""
ROUNDS = 10
STUCK = 3
"""Rounds that change nothing, after which the root is as short as it gets."""


class ProgressiveDisclosure:
    """Reorganises a flat baseline, and nothing but the baseline."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan. `params["root_lines"]` overrides the root's budget of lines."""
        flat, parent_texts = flat_skill(parent, self.variant)
        limit = int(params.get("root_lines", ROOT_LINES))
        draft = _draft_within(parent, parent_texts, flat, limit)
        return draft.plan(self.variant)


def flat_skill(parent: Bundle, variant: str) -> tuple[FlatSkill, BundleTexts]:
    """The one skill of a flat bundle. Raises TransformError for any other bundle."""
    if len(parent.skills) != 1:
        raise TransformError(
            f"{variant!r} is made from a bundle of exactly one skill; {parent.name!r} has "
            f"{len(parent.skills)}; build the baseline first"
        )
    parent_texts = BundleTexts(parent.files)
    path = parent.skills[0].path
    return FlatSkill(path, parent_texts.markdown(path)), parent_texts


def _own_tokens(flat: FlatSkill) -> int:
    """Estimated tokens of the page without its embedded files: what the source's roots had."""
    edges = [0, *(line for lines in flat.embedded_ranges for line in lines), len(flat.lines)]
    return flat.tokens(list(zip(edges[::2], edges[1::2], strict=True)))


def _draft_within(
    parent: Bundle, parent_texts: BundleTexts, flat: FlatSkill, limit: int
) -> DisclosureDraft:
    """The draft whose root keeps within the limit: first less text stays, then rows are shared;
    of a union that still does not fit, every skill gets an index page, of one skill its folders do."""
    lines = max(24, limit - flat.markdown.frontmatter_lines - len(flat.embedded_files) - 8)
    merge = MERGE_TOKENS
    excess: list[int] = []
    rows = sum(not file.fenced for file in flat.embedded_files)
    hopeless = len(flat.skills) >= MANY_SKILLS or flat.markdown.frontmatter_lines + rows > limit
    for _ in range(ROUNDS):
        draft = _draft(parent, parent_texts, flat, RootBudget(lines), merge)
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
        return with_skill_indexes(parent, parent_texts, flat, limit, MERGE_TOKENS)
    budget = RootBudget(max(24, (limit - flat.markdown.frontmatter_lines) // 2))
    indexed = _draft(parent, parent_texts, flat, budget, MERGE_TOKENS, limit)
    return indexed if indexed.indexes else draft


def _draft(
    parent: Bundle,
    parent_texts: BundleTexts,
    flat: FlatSkill,
    budget: RootBudget,
    merge: int,
    limit: int | None = None,
) -> DisclosureDraft:
    """One try; with a limit of lines, rows that would break it go to index pages of folders."""
    must_move = not any(is_markdown(file.path) for file in flat.embedded_files)
    kept, moved = RootSelector(flat, flat.groups(), budget).choose(must_move=must_move)
    own = OwnRows(flat)
    kept, moved = keep_routing(own, kept, moved, budget.lines, must_move=must_move)
    kept = without_bare_structure(kept)
    layout = FileLayout(parent, parent_texts, flat)
    layout.add_sections(moved, merge)
    layout.add_embedded()
    pointers = list(continuations(layout, kept))
    if limit is None:
        table = RoutingTable(layout, told=own.told_in(kept))
        root = root_page(layout, kept, table.rows(), pointers)
        if estimate("\n".join(root.lines)) > GROWN * _own_tokens(flat):
            root = root_page(layout, kept, table.untold_rows(), pointers)
        return DisclosureDraft(layout, root)
    folders = FolderIndexes(layout, limit)
    room = limit - len(root_page(layout, kept, [], pointers).lines) - TABLE_LINES
    rows = folders.fitted(RoutingTable(layout, indexed=True).rows(), room)
    return DisclosureDraft(layout, root_page(layout, kept, rows, pointers), folders.pages)

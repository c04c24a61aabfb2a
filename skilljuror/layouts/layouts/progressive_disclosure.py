"""pd: Progressive Disclosure, the main path in the root and branches in files opened on demand."""

from typing import Any, ClassVar

from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Bundle, Copy, Plan
from skilljuror.layouts.disclosure.file_layout import FileLayout
from skilljuror.layouts.disclosure.index_pages import MANY_SKILLS, with_skill_indexes
from skilljuror.layouts.disclosure.own_rows import OwnRows
from skilljuror.layouts.disclosure.root_page import DisclosureDraft, root_page
from skilljuror.layouts.disclosure.root_scope import RootBudget, RootDivider
from skilljuror.layouts.disclosure.routing_table import RoutingTable
from skilljuror.layouts.disclosure.scope import scopes_of
from skilljuror.layouts.disclosure.sections import FlatSkill

ROOT_LINES = 300  # maximum lines of the root, as PD-1 has it
ROUNDS = 12


class ProgressiveDisclosure:
    """Reorganise a flat baseline by the scope of its sections."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan. `params["root_lines"]` overrides the root's maximum of lines; `params["scopes"]` has
        what a model or a person judged: key of an open section -> {"scope": main or branch, …}."""
        limit = int(params.get("root_lines", ROOT_LINES))
        flat = flat_skill(parent, self.variant)
        judged = {key: one["scope"] for key, one in params.get("scopes", {}).items()}
        divider = RootDivider(flat, scopes_of(flat, judged))
        return _draft_within(divider, limit).plan(self.variant)


def flat_skill(parent: Bundle, variant: str) -> FlatSkill:
    """Return the one skill of a flat bundle. Raises TransformError for any other bundle."""
    if len(parent.skills) != 1:
        raise TransformError(
            f"{variant!r} needs a bundle with exactly one skill, but {parent.name!r} has "
            f"{len(parent.skills)}; build the baseline first"
        )
    return FlatSkill(parent)


def _draft_within(divider: RootDivider, limit: int) -> DisclosureDraft:
    """The draft whose root fits the limit of lines: first less text stays; if that fails, the skills of a
    union get index pages."""
    flat = divider.flat
    lines = limit - flat.markdown.frontmatter_lines
    for _ in range(1 if len(flat.skills) >= MANY_SKILLS else ROUNDS):
        draft = _draft(divider, RootBudget(max(24, lines)))
        over = len(draft.root.lines) - limit
        if over <= 0:
            return draft
        copied = sum(one.size for one in draft.root.pieces if isinstance(one, Copy))
        lines = min(lines, copied - flat.markdown.frontmatter_lines) - over
    return with_skill_indexes(divider, limit) if len(flat.skills) > 1 else draft


def _draft(divider: RootDivider, budget: RootBudget) -> DisclosureDraft:
    division = divider.divide(budget)
    layout = FileLayout(divider.flat)
    layout.add_sections(division.units)
    layout.add_embedded()
    table = RoutingTable(layout, led=OwnRows(divider.flat).routed_in(division.kept))
    root = root_page(layout, division.kept, table.rows(), table.pointers())
    return DisclosureDraft(layout, root)

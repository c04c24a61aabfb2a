"""pd: Progressive Disclosure. A short root that routes to files opened on demand."""

from typing import Any, ClassVar

from skilljuror.errors import TransformError
from skilljuror.models.resource_class import is_markdown
from skilljuror.knowledge.generated.embedded_files import is_structural_heading
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan
from skilljuror.transforms.disclosure.root_selection import Budget, Chooser, carry_bare
from skilljuror.transforms.disclosure.skill_indexes import MANY, guided
from skilljuror.transforms.disclosure.file_layout import Layout
from skilljuror.transforms.disclosure.root_page import Draft, pointers, root_page
from skilljuror.transforms.disclosure.routing_table import Routing
from skilljuror.transforms.disclosure.sections import FlatSkill
from skilljuror.transforms.disclosure.folder_indexes import TABLE, Shelves

ROOT_LINES = 220
"""Lines of the root, frontmatter and routing table included."""
MERGE_TOKENS = 800
"""Estimated tokens up to which neighbouring sections share a reference."""
ROUNDS = 10
STUCK = 3
"""Rounds that change nothing, after which the root is as short as it gets."""


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


def flat_skill(parent: Bundle, variant: str) -> tuple[FlatSkill, BundleTexts]:
    """The one skill of a flat bundle. Raises TransformError for any other bundle."""
    if len(parent.skills) != 1:
        raise TransformError(
            f"{variant!r} is made from a bundle of exactly one skill; {parent.name!r} has "
            f"{len(parent.skills)}; build the baseline first"
        )
    sources = BundleTexts(parent.files)
    path = parent.skills[0].path
    return FlatSkill(path, sources.markdown(path)), sources


def _within(parent: Bundle, sources: BundleTexts, flat: FlatSkill, limit: int) -> Draft:
    """The draft whose root keeps within the limit: first less text stays, then rows are shared;
    of a union that still does not fit, every skill gets a guide, of one skill its folders do."""
    lines = max(24, limit - flat.markdown.frontmatter_lines - len(flat.embedded) - 8)
    merge = MERGE_TOKENS
    before: list[int] = []
    rows = sum(not file.fenced for file in flat.embedded)
    hopeless = len(flat.units) >= MANY or flat.markdown.frontmatter_lines + rows > limit
    for _ in range(ROUNDS):
        draft = _draft(parent, sources, flat, Budget(lines), merge)
        over = len(draft.root.lines) - limit
        if over <= 0:
            return draft
        before.append(over)
        if hopeless or before[-STUCK:] == [over] * STUCK:
            break
        merge = merge if lines > 60 else 2 * merge
        lines = max(24, lines - over)
    if len(flat.units) > 1:
        return guided(parent, sources, flat, limit, MERGE_TOKENS)
    budget = Budget(max(24, (limit - flat.markdown.frontmatter_lines) // 2))
    shelved = _draft(parent, sources, flat, budget, MERGE_TOKENS, limit)
    return shelved if shelved.guides else draft


def _draft(
    parent: Bundle,
    sources: BundleTexts,
    flat: FlatSkill,
    budget: Budget,
    merge: int,
    limit: int | None = None,
) -> Draft:
    """One try; with a limit of lines, rows that would break it are put on guides of folders."""
    must_move = not any(is_markdown(file.path) for file in flat.embedded)
    kept, moved = Chooser(flat, flat.groups(), budget).choose(must_move=must_move)
    kept, moved = carry_bare(kept, moved)
    kept = [group for group in kept if not (group.bare and is_structural_heading(group.title))]
    layout = Layout(parent, sources, flat)
    layout.add_sections(moved, merge)
    layout.add_carried()
    left = list(pointers(layout, kept))
    if limit is None:
        return Draft(layout, root_page(layout, kept, Routing(layout).rows(), left))
    shelves = Shelves(layout, limit)
    room = limit - len(root_page(layout, kept, [], left).lines) - TABLE
    rows = shelves.fitted(Routing(layout, shelved=True).rows(), room)
    return Draft(layout, root_page(layout, kept, rows, left), shelves.guides)

"""Guides: one page for each skill of a large union, so that the root needs one row for each.

A guide is to its skill what a root is to a bundle: its configuration, what should be known at once,
and a row for each of its files. It lies beside the root, so that all paths start at one folder.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.knowledge.plans.block_inventory import distinct_words
from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.knowledge.markdown.headings import slug
from skilljuror.knowledge.markdown.block_index import visible_text
from skilljuror.knowledge.generated.embedded_files import is_structural_heading
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle
from skilljuror.transforms.disclosure.root_selection import Budget, Chooser, carry_bare
from skilljuror.transforms.disclosure.trigger_cues import clip
from skilljuror.transforms.disclosure.file_layout import Layout
from skilljuror.transforms.editing.page_builder import Page
from skilljuror.transforms.disclosure.root_page import Draft, pointers, root_page
from skilljuror.transforms.disclosure.routing_table import Routing, Row
from skilljuror.transforms.disclosure.sections import FlatSkill, Group
from skilljuror.transforms.disclosure.folder_indexes import TABLE, Shelves

MANY = 12
"""Skills from which a page that does not fit its root gets guides at once."""
GUIDE_CUE = 300
"""Characters of a skill's description in its row."""


def guided(
    parent: Bundle, sources: BundleTexts, flat: FlatSkill, limit: int, merge_tokens: int
) -> Draft:
    """The draft of a union: a root with a row for each skill, and a guide behind each row."""
    layout = Layout(parent, sources, flat)
    units = [unit for _, unit in flat.units]
    paths = {unit: layout.reserved(f"{slug(unit)}.md") for unit in units}
    groups = flat.groups()
    kept: dict[str, list[Group]] = {}
    moved: list[Group] = []
    for unit in ["", *units]:
        mine = [group for group in groups if flat.home(group.start) == unit]
        files = sum(flat.home(file.heading.start) == unit for file in flat.embedded)
        budget = Budget(max(24, limit - files - 8))
        stays, goes = _parted(flat, mine, budget)
        kept[unit] = [one for one in stays if not (one.bare and is_structural_heading(one.title))]
        moved += goes
    layout.add_sections(sorted(moved, key=lambda group: group.start), merge_tokens)
    layout.add_carried()
    shelves = Shelves(layout, limit)
    guides = [
        root_page(
            layout,
            kept[unit],
            shelves.fitted(Routing(layout, unit).rows(), limit - _lines(kept[unit]), unit),
            list(pointers(layout, kept[unit])),
            Page(paths[unit], sources),
        )
        for unit in units
    ]
    rows = [_row(layout, unit, paths[unit]) for unit in units]
    rows += Routing(layout, "").rows()
    room = limit - flat.markdown.frontmatter_lines - _lines(kept[""])
    root = root_page(layout, kept[""], shelves.fitted(rows, room))
    return Draft(layout, root, [*guides, *shelves.guides])


def _lines(kept: Sequence[Group]) -> int:
    """Lines of a page that are no rows."""
    return sum(group.lines + 1 for group in kept) + TABLE


def _parted(
    flat: FlatSkill, groups: Sequence[Group], budget: Budget
) -> tuple[list[Group], list[Group]]:
    """(what a guide keeps, what moves): a skill that fits its guide stays whole."""
    lines = sum(group.lines for group in groups)
    tokens = sum(group.tokens for group in groups)
    if lines <= budget.lines and tokens <= budget.tokens:
        return list(groups), []
    return carry_bare(*Chooser(flat, groups, budget).choose(must_move=False))


def _row(layout: Layout, unit: str, path: str) -> Row:
    """What the root says of a skill: its title, its description, and where its files lie."""
    flat = layout.flat
    start = next(line for line, name in flat.units if name == unit)
    title = next(visible_text(one.title) for one in flat.markdown.headings if one.start == start)
    shown = path.removeprefix(f"{layout.folder}/")
    params = {"path": shown, "link": quote(shown), "topics": title}
    folders = sorted(_folders(layout, unit))
    if folders:
        params["folders"] = ", ".join(f"`{folder}/`" for folder in folders)
    cue = _description(flat, start)
    if cue:
        params["cue"] = cue
    return f"row-guide{'-folders' if folders else ''}{'-why' if cue else ''}", params


def _folders(layout: Layout, unit: str) -> set[str]:
    """The folders below the root's that hold a skill's files: its own and that of its references."""
    own = [one.page.path for one in layout.references if layout.home_of(one) == unit]
    own += [
        planned.path
        for file, planned in layout.verbatim
        if layout.flat.home(file.heading.start) == unit
    ]
    own += [path for path in layout.data if layout.unit_of(path) == unit]
    found = set()
    for path in own:
        parts = PurePosixPath(path.removeprefix(f"{layout.folder}/")).parts
        depth = 1 if parts[0] == unit else 2
        found.add("/".join(parts[: min(depth, len(parts) - 1)]))
    return found - {""}


def _description(flat: FlatSkill, start: int) -> str:
    """The skill's description, where its page says it in the same words and terms."""
    lines = list(_configuration(flat, start))
    fields, _ = parse_frontmatter(["---", *lines, "---"])
    told = clip((plain_field(fields, "description") or "").translate(_NO_LINKS), GUIDE_CUE)
    page = " ".join(line.strip() for line in lines)
    same = distinct_words([told]) <= distinct_words([page]) and set(critical_tokens(told)) <= set(critical_tokens(page))
    return told if same else ""


_NO_LINKS = str.maketrans("[]", "()")


def _configuration(flat: FlatSkill, start: int) -> Sequence[str]:
    """The lines of the frontmatter that a skill's section opens with."""
    end = flat.fixed.get(start, start)
    fence = next(
        (one for one in flat.markdown.blocks if start < one.start < end and one.kind == "fence"),
        None,
    )
    return flat.lines[fence.start + 1 : fence.end - 1] if fence else ()

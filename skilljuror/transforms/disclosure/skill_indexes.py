"""Index pages of skills: in a large union, the root has one row per skill.

An index is to its skill what a root is to a bundle: configuration, essential text, and a row for each
file. It is next to the root, so that all paths start at one folder.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from skilljuror.knowledge.markdown.block_index import visible_text
from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.knowledge.markdown.headings import slug
from skilljuror.knowledge.plans.block_inventory import distinct_words
from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.disclosure.folder_indexes import TABLE_LINES, FolderIndexes
from skilljuror.transforms.disclosure.root_page import DisclosureDraft, continuations, root_page
from skilljuror.transforms.disclosure.root_selection import (
    RootBudget,
    RootSelector,
    without_bare_structure,
)
from skilljuror.transforms.disclosure.routing_table import RoutingRow, RoutingTable
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup
from skilljuror.transforms.disclosure.trigger_cues import opening_sentences, without_brackets
from skilljuror.transforms.editing.page_builder import PageBuilder

MANY_SKILLS = 12
"""Number of skills from which an oversized page gets indexes at once."""
MAX_DESCRIPTION_CUE = 300
"""Maximum characters of a skill's description in its row."""


def with_skill_indexes(flat: FlatSkill, limit: int, merge_tokens: int) -> DisclosureDraft:
    """Return the draft of a union: a root with a row for each skill, and an index page behind each row."""
    layout = FileLayout(flat)
    skills = [skill for _, skill in flat.skills]
    paths = {skill: layout.reserve_path(f"{slug(skill)}.md") for skill in skills}
    groups = flat.groups()
    kept: dict[str, list[SectionGroup]] = {}
    moved: list[SectionGroup] = []
    for skill in ["", *skills]:
        own = [group for group in groups if flat.owner_at(group.start) == skill]
        files = sum(flat.owner_at(file.heading.start) == skill for file in flat.embedded_files)
        budget = RootBudget(max(24, limit - files - 8))
        stays, leaves = _divide(flat, own, budget)
        kept[skill] = without_bare_structure(stays)
        moved += leaves
    layout.add_sections(sorted(moved, key=lambda group: group.start), merge_tokens)
    layout.add_embedded()
    folders = FolderIndexes(layout, limit)
    indexes = [
        root_page(
            layout,
            kept[skill],
            folders.fitted(RoutingTable(layout, skill).rows(), limit - _lines(kept[skill]), skill),
            list(continuations(layout, kept[skill])),
            PageBuilder(paths[skill], flat.texts),
        )
        for skill in skills
    ]
    rows = [_row(layout, skill, paths[skill]) for skill in skills]
    rows += RoutingTable(layout, "").rows()
    room = limit - flat.markdown.frontmatter_lines - _lines(kept[""])
    root = root_page(layout, kept[""], folders.fitted(rows, room))
    return DisclosureDraft(layout, root, [*indexes, *folders.pages])


def _lines(kept: Sequence[SectionGroup]) -> int:
    """Lines of a page besides rows."""
    return sum(group.lines + 1 for group in kept) + TABLE_LINES


def _divide(
    flat: FlatSkill, groups: Sequence[SectionGroup], budget: RootBudget
) -> tuple[list[SectionGroup], list[SectionGroup]]:
    """(kept in the index, moved); a skill that fits its index stays whole."""
    lines = sum(group.lines for group in groups)
    tokens = sum(group.tokens for group in groups)
    if lines <= budget.lines and tokens <= budget.tokens:
        return list(groups), []
    return RootSelector(flat, groups, budget).choose(must_move=False)


def _row(layout: FileLayout, skill: str, path: str) -> RoutingRow:
    flat = layout.flat
    start = next(line for line, name in flat.skills if name == skill)
    headings = flat.markdown.headings
    title = next(visible_text(heading.title) for heading in headings if heading.start == start)
    shown = layout.shown(path)
    params = {"path": shown, "link": quote(shown), "topics": title}
    folders = sorted(_folders(layout, skill))
    if folders:
        params["folders"] = ", ".join(f"`{folder}/`" for folder in folders)
    cue = _description(flat, start)
    if cue:
        params["cue"] = cue
    return f"row-guide{'-folders' if folders else ''}{'-why' if cue else ''}", params


def _folders(layout: FileLayout, skill: str) -> set[str]:
    paths = [one.page.path for one in layout.references if layout.skill_of_reference(one) == skill]
    paths += [
        planned.path
        for file, planned in layout.verbatim_files
        if layout.flat.owner_at(file.heading.start) == skill
    ]
    paths += [path for path in layout.data_files if layout.skill_of_data(path) == skill]
    folders = set()
    for path in paths:
        parts = PurePosixPath(layout.shown(path)).parts
        depth = 1 if parts[0] == skill else 2
        folders.add("/".join(parts[: min(depth, len(parts) - 1)]))
    return folders - {""}


def _description(flat: FlatSkill, start: int) -> str:
    """The skill's description, if its page has it in the same words and terms."""
    lines = list(_configuration(flat, start))
    fields, _ = parse_frontmatter(["---", *lines, "---"])
    description = without_brackets(plain_field(fields, "description") or "")
    cue = opening_sentences(description, MAX_DESCRIPTION_CUE)
    page = " ".join(line.strip() for line in lines)
    same_words = distinct_words([cue]) <= distinct_words([page])
    return cue if same_words and set(critical_tokens(cue)) <= set(critical_tokens(page)) else ""


def _configuration(flat: FlatSkill, start: int) -> Sequence[str]:
    end = flat.skill_openings.get(start, start)
    blocks = (block for block in flat.markdown.blocks if start < block.start < end)
    fence = next((block for block in blocks if block.kind == "fence"), None)
    return flat.lines[fence.start + 1 : fence.end - 1] if fence else ()

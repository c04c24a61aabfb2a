"""Index pages of the skills of a union, for pages that would otherwise need too many rows."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from skilljuror.audit.plans.block_inventory import distinct_words
from skilljuror.layouts.disclosure.file_layout import FileLayout
from skilljuror.layouts.disclosure.own_rows import OwnRows
from skilljuror.layouts.disclosure.root_page import DisclosureDraft, root_page
from skilljuror.layouts.disclosure.root_scope import RootBudget, RootDivider
from skilljuror.layouts.disclosure.routing_table import RoutingRow, RoutingTable
from skilljuror.layouts.disclosure.sections import FlatSkill
from skilljuror.layouts.disclosure.trigger_cues import opening_sentences, without_brackets
from skilljuror.layouts.editing.page_builder import PageBuilder
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.markdown import parse_frontmatter, plain_field, slug, visible_text

MANY_SKILLS = 12  # number of skills from which a page that is too long gets indexes at once
MAX_DESCRIPTION_CUE = 300  # maximum characters of a skill's description in its row


def with_skill_indexes(divider: RootDivider, limit: int) -> DisclosureDraft:
    """Return the draft of a union: a root with a row for each skill, and an index page behind each row."""
    flat = divider.flat
    layout = FileLayout(flat)
    skills = [skill for _, skill in flat.skills]
    paths = {skill: layout.reserve_path(f"{slug(skill)}.md") for skill in skills}
    divisions = {}
    for skill in ["", *skills]:
        files = sum(flat.owner_at(file.heading.start) == skill for file in flat.embedded_files)
        divisions[skill] = divider.divide(RootBudget(max(24, limit - files - 8)), skill)
    units = [unit for one in divisions.values() for unit in one.units]
    layout.add_sections(sorted(units, key=lambda one: one.groups[0].start))
    layout.add_embedded()
    own, indexes = OwnRows(flat), []
    for skill in skills:
        kept = divisions[skill].kept
        table = RoutingTable(layout, skill, led=own.routed_in(kept))
        page = PageBuilder(paths[skill], flat.texts)
        indexes.append(root_page(layout, kept, table.rows(), table.pointers(), page))
    shared = RoutingTable(layout, "", led=own.routed_in(divisions[""].kept))
    rows = [*(_row(layout, skill, paths[skill]) for skill in skills), *shared.rows()]
    root = root_page(layout, divisions[""].kept, rows, shared.pointers())
    return DisclosureDraft(layout, root, indexes)


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

"""Index pages of folders, for pages that would otherwise need too many rows.

The index of a folder is a page `<folder>.md` next to it, or below it if the folder is cut into runs, so
that a row which names the folder names its indexes too. All paths of an index start at its own folder.
"""

import re
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import PurePosixPath
from posixpath import dirname, relpath
from urllib.parse import quote

from skilljuror.knowledge.markdown.block_index import slug, visible_text
from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.knowledge.plans.block_inventory import distinct_words
from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.disclosure.root_page import DisclosureDraft, continuations, root_page
from skilljuror.transforms.disclosure.root_selection import (
    RootBudget,
    RootSelector,
    without_bare_structure,
)
from skilljuror.transforms.disclosure.routing_table import FOLDED, RoutingRow, RoutingTable
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup
from skilljuror.transforms.disclosure.trigger_cues import (
    MAX_TOPIC_CHARS,
    opening_sentences,
    topics,
    without_brackets,
)
from skilljuror.transforms.editing.page_builder import PageBuilder

TABLE_LINES = 7
"""Lines of an index besides rows: its title, the table's heading and lead, blank lines."""
RUN_ROWS = 40  # rows per index of a folder that is too large for one page
_OVERVIEWS = ("readme", "index", "overview")
_FOLDER_ROWS = frozenset({"row-folder", "row-data-folder", "row-parts"})
_CODE = re.compile(r"`([^`]+)`")


class FolderIndexes:
    """The index pages of folders of one layout."""

    def __init__(self, layout: FileLayout, limit: int) -> None:
        """`limit` is the maximum number of lines of a page."""
        self.layout = layout
        self.room = max(RUN_ROWS, limit - TABLE_LINES)
        self.pages: list[PageBuilder] = []

        self._own_sections = {
            layout.shown(reference.page.path)
            for reference in layout.references
            if reference.embedded is None
        }
        self._titles = {
            layout.shown(reference.page.path): visible_text(reference.titles[0])
            for reference in layout.references
            if reference.titles
        }

    def fitted(self, rows: Sequence[RoutingRow], room: int, folder: str = "") -> list[RoutingRow]:
        """Return at most `room` rows for a page: the given rows if they fit, else index rows in place of
        file rows. Sections of the page itself keep their rows in up to half of the room.

        `folder` is the folder that the page describes, relative to the root's; its indexes go into it, and all
        paths are relative to the root's folder. `room` is at least `RUN_ROWS`.
        """
        room = max(RUN_ROWS, room)
        own = [row for row in rows if row[1]["path"] in self._own_sections]
        if len(rows) <= room or len(own) > room // 2:
            return self._fitted(rows, room, folder)
        rest = [row for row in rows if row[1]["path"] not in self._own_sections]
        return [*own, *self._fitted(rest, room - len(own), folder)]

    def _fitted(self, rows: Sequence[RoutingRow], room: int, folder: str) -> list[RoutingRow]:
        if len(rows) <= room:
            return list(rows)
        groupings = list(self._groupings(rows, folder))
        chosen = next((groups for groups in groupings if len(groups) <= room), groupings[-1])
        fitted = [self._index_row(group, rows) if group else rows[0] for group, rows in chosen]
        return fitted if len(fitted) <= room else self._runs(fitted, room, folder)

    def _groupings(self, rows: Sequence[RoutingRow], folder: str) -> Iterator[list["_FolderRows"]]:
        least = len(_parts(folder)) + 1
        deepest = max(len(_parts(_folder_of(row))) for row in rows)
        for depth in range(max(least, deepest), least - 1, -1):
            yield _grouped(rows, depth)

    def _index_row(self, folder: str, rows: Sequence[RoutingRow]) -> RoutingRow:
        path = self._reserved(f"{folder}.md")
        overview = next((row for row in rows if _is_overview(row, folder)), None)
        title = self._titles.get(overview[1]["path"], "") if overview else ""
        title = title or self._title(rows, folder)
        self._add_page(path, title, self._fitted(rows, self.room, folder))
        params = self._params(path, rows, folder) | {"folders": f"`{folder}/`"}
        cue = overview[1].get("cue", "") if overview else ""
        if cue:
            return "row-guide-folders-why", params | {"cue": cue}
        return "row-guide-folders", params

    def _runs(self, rows: Sequence[RoutingRow], room: int, folder: str) -> list[RoutingRow]:
        count = min(room, ceil(len(rows) / RUN_ROWS))
        edges = [len(rows) * number // count for number in range(count + 1)]
        name = PurePosixPath(folder or self.layout.folder).name
        index_rows: list[RoutingRow] = []
        for number in range(count):
            run = rows[edges[number] : edges[number + 1]]
            path = self._reserved(f"{folder}/{name}-{number + 1}.md".lstrip("/"))
            self._add_page(path, self._title(run, folder or name), run)
            names = ", ".join(dict.fromkeys(name for row in run for name in _names(row)))
            params = self._params(path, run, folder or name) | {"names": names}
            index_rows.append(("row-guide-names", params))
        return index_rows

    def _title(self, rows: Sequence[RoutingRow], folder: str) -> str:
        """The name of a folder of the source, or the headings in a folder of references."""
        references = all(row[1]["path"] in self._own_sections for row in rows)
        return (topics(self._topic(row) for row in rows) if references else "") or folder

    def _add_page(self, path: str, title: str, rows: Sequence[RoutingRow]) -> None:
        page = PageBuilder(f"{self.layout.folder}/{path}", self.layout.flat.texts)
        page.generate("reference-title", title=title)
        rebased = [_rebased(row, dirname(path)) for row in rows]
        self.pages.append(root_page(self.layout, [], rebased, index=page))

    def _params(self, path: str, rows: Sequence[RoutingRow], other: str) -> dict[str, str]:
        about = topics((self._topic(row) for row in rows), MAX_TOPIC_CHARS)
        return {"path": path, "link": quote(path), "topics": about or other}

    def _topic(self, row: RoutingRow) -> str:
        path = row[1]["path"]
        return self._titles.get(path) or row[1].get("topics", "") or PurePosixPath(path).stem

    def _reserved(self, name: str) -> str:
        return self.layout.shown(self.layout.reserve_path(name))


_FolderRows = tuple[str, list[RoutingRow]]  # a folder with its rows, or "" with one ungrouped row


def _grouped(rows: Sequence[RoutingRow], depth: int) -> list[_FolderRows]:
    by_folder: dict[str, list[RoutingRow]] = {}
    for number, row in enumerate(rows):
        parts = _parts(_folder_of(row))
        folder = "/".join(parts[:depth]) if len(parts) >= depth else f"\0{number}"
        by_folder.setdefault(folder, []).append(row)
    groups: list[_FolderRows] = []
    for folder, below in by_folder.items():
        if folder.startswith("\0") or len(below) < FOLDED:
            groups += [("", [row]) for row in below]
        else:
            groups.append((folder, below))
    return groups


def _folder_of(row: RoutingRow) -> str:
    return dirname(row[1]["path"])


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _is_overview(row: RoutingRow, folder: str) -> bool:
    path = PurePosixPath(row[1]["path"])
    named = path.stem.lower() in {*_OVERVIEWS, PurePosixPath(folder).name.lower()}
    return str(path.parent) == folder and named and path.suffix.lower() == ".md"


def _names(row: RoutingRow) -> list[str]:
    template, params = row
    own = f"`{params['path']}/`" if template in _FOLDER_ROWS else f"`{params['path']}`"
    return [own, *(f"`{name}`" for name in _CODE.findall(params.get("folders", "")))]


def _rebased(row: RoutingRow, base: str) -> RoutingRow:
    template, params = row
    rebased = dict(params)
    for hole in rebased.keys() & {"path", "whole"}:
        rebased[hole] = _from(rebased[hole], base)
    if "link" in rebased:
        rebased["link"] = quote(rebased["path"])
    if template.startswith("row-guide"):
        for hole in rebased.keys() & {"folders", "names"}:
            rebased[hole] = _CODE.sub(lambda code: f"`{_from(code[1], base)}`", rebased[hole])
    return template, rebased


def _from(path: str, base: str) -> str:
    return relpath(path, base or ".") + ("/" if path.endswith("/") else "")


MANY_SKILLS = 12  # number of skills from which an oversized page gets indexes at once
MAX_DESCRIPTION_CUE = 300  # maximum characters of a skill's description in its row


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

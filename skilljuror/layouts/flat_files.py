"""flat-files, baseline's page without the files that commands need, and flat-toc, its control with the rows of pd."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath, relpath
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from skilljuror.audit.comparison.code_paths import commanded_paths
from skilljuror.audit.plans.render import BundleTexts, copies_of
from skilljuror.base.skill import Bundle, Copy, Generated, Plan, PlannedFile
from skilljuror.layouts.conditions import plain
from skilljuror.layouts.editing import PageBuilder
from skilljuror.layouts.flattening import PlanParts, finish_plan
from skilljuror.layouts.sections import FlatSkill, LineRange, flat_skill, omitted_lines, page_plan
from skilljuror.skill.generated import TEMPLATES, EmbeddedFile, embedded_files, is_operational
from skilljuror.skill.markdown import without_blank_edges


class FlatFiles:
    """All prose on one page; scripts, templates and data next to it, byte for byte.

    Prose is Markdown that no command names.
    """

    variant: ClassVar[str] = "flat-files"
    parent: ClassVar[str] = "baseline"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        flat = flat_skill(parent, self.variant)
        folder = str(PurePosixPath(flat.path).parent)
        commanded = {path for _, path in commanded_paths(parent)}
        extracted = {
            file: f"{folder}/{file.path}"
            for file in flat.embedded_files
            if is_operational(file, f"{folder}/{file.path}" in commanded)
        }
        page = PageBuilder(flat.path, flat.texts)
        for start, end in _kept(flat, [*extracted]):
            page.gap()
            page.copy(flat.path, start + 1, end)
        flags = flat.texts.text(flat.path).flags
        parts = PlanParts(
            pages=[page],
            sidecars={path: path for path in parent.files if path != flat.path},
            extracted={
                (flat.path, flat.markdown.anchor_at[file.heading.start]): path
                for file, path in extracted.items()
            },
            flags={flat.path: flags} if flags else {},
        )
        parts.files += (_verbatim(flat.path, path, file) for file, path in extracted.items())
        parts.omitted += omitted_lines(flat, [page.planned(), *parts.files])
        return finish_plan(self.variant, self.parent, parts, flat.texts)


def _kept(flat: FlatSkill, extracted: list[EmbeddedFile]) -> Iterator[LineRange]:
    """The page's ranges without markers and content of the extracted files, and without a title of shared
    files that has nothing left below it."""
    out = {line for file in extracted for line in range(file.heading.start, file.end + 1)}
    kept = [n for n, line in enumerate(flat.lines) if n not in out and line.strip()]
    if kept and flat.lines[kept[-1]] == TEMPLATES["shared"]:
        out.add(kept[-1])
    start = 0
    for stop in [*sorted(out), len(flat.lines)]:
        first, end = without_blank_edges(flat.lines, start, stop)
        if first < end:
            yield first, end
        start = stop + 1


def _verbatim(page: str, path: str, file: EmbeddedFile) -> PlannedFile:
    piece, text = Copy(page, file.start + 1, file.end), file.text
    return PlannedFile(path, (piece,), file.executable, text.final_newline, text.bom, text.crlf)


_HOLES = frozenset({"path", "link", "topics", "cue", "when", "why"})
"""Parameters of rows about text."""


class FlatToc:
    """The page of flat-files, and below it every row of pd: to a heading of the page, or to a file on disk."""

    variant: ClassVar[str] = "flat-toc"
    parent: ClassVar[str] = "flat-files"
    reads: ClassVar[tuple[str, ...]] = ("pd",)

    def plan(self, parent: Bundle, params: dict[str, Any], plans: Mapping[str, Plan] = {}) -> Plan:
        """Return the plan; `plans` has those of flat-files and pd."""
        flat = flat_skill(parent, self.variant)
        path, texts = flat.path, flat.texts
        page = PageBuilder(path, texts)
        page.copy(path, 1, len(texts.text(path).lines))
        page.gap()
        for template in ("contents", "blank", "contents-lead", "blank"):
            page.generate(template)
        for row in dict.fromkeys(_Rows(parent, plans[self.parent], plans["pd"]).rows()):
            page.generate(row[0], **dict(row[1]))
        return page_plan(flat, (self.variant, self.parent), page.pieces)


_Row = tuple[str, tuple[tuple[str, str], ...]]  # template and parameters


class _Rows:
    """The rows of one pd, led to the places of a flat page."""

    def __init__(self, flat: Bundle, flat_plan: Plan, pd_plan: Plan) -> None:
        self._flat, self._pd = flat, pd_plan
        self._root = flat.skills[0].path
        self._folder = dirname(self._root)
        self._markdown = BundleTexts(flat.files).markdown(self._root)
        self._pages = {planned.path: planned for planned in pd_plan.files}
        self._line: dict[int, int] = {}
        """Line of the flat parent that both share -> line of the page; both 0-based."""
        page = next(one for one in flat_plan.files if one.path == self._root)
        for piece, first in copies_of(page):
            for number in range(piece.size):
                self._line[piece.start - 1 + number] = first + number

    def rows(self) -> Iterator[_Row]:
        """Yield rows in the order of pd's pages, the root first."""
        found = [
            (
                piece,
                normpath(
                    join(
                        dirname(planned.path),
                        unquote(piece.params.get("link") or piece.params["path"]),
                    )
                ),
            )
            for planned in self._pd.files
            for piece in planned.pieces
            if isinstance(piece, Generated) and piece.template.startswith("row-")
        ]
        for row, target in found:
            yield from self._row(row, target)

    def _row(self, row: Generated, target: str) -> Iterator[_Row]:
        """The row in its place; pointers and rows of index pages become rows with the same words."""
        template, params = row.template, dict(row.params)
        linked = "link" in params
        if linked and "topics" in params:
            template = "row-file-why" if "cue" in params else "row-file"
            params = {hole: text for hole, text in params.items() if hole in _HOLES}
        place = None
        if any(one == target or one.startswith(f"{target}/") for one in self._flat.files):
            path = relpath(target, self._folder)
            place = path, quote(path)
        elif linked and target in self._pages:
            place = self._place(self._pages[target])
        if place is not None:
            params |= {"path": place[0], "link": place[1]} if linked else {"path": place[0]}
            yield template, tuple(params.items())

    def _place(self, planned: PlannedFile) -> tuple[str, str] | None:
        """(name, link) of the section that holds the beginning of a page: the marker of a carried file, or the
        nearest heading above."""
        marked = self._carried.get(planned.path)
        if marked is not None:
            return relpath(planned.path, self._folder), self._link(marked)
        first = next((one.start - 1 for one in planned.pieces if isinstance(one, Copy)), -1)
        place = bisect_right(self._headings, self._line.get(first, -1)) - 1
        if place < 0:
            return None
        title = plain(self._markdown.headings[place].title)
        return (title, self._link(self._headings[place])) if title.strip() else None

    def _link(self, line: int) -> str:
        return f"#{quote(self._markdown.anchor_at[line], safe='-_')}"

    @cached_property
    def _headings(self) -> list[int]:
        return [heading.start for heading in self._markdown.headings]

    @cached_property
    def _carried(self) -> dict[str, int]:
        """Path of each carried file -> line of its marker."""
        folder = PurePosixPath(self._folder)
        files = embedded_files(self._markdown)
        return {str(folder / file.path): file.heading.start for file in files}

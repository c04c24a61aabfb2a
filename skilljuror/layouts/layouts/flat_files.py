"""flat-files: baseline's page without the files that commands need; those are on disk."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, ClassVar

from skilljuror.audit.comparison.code_paths import commanded_paths
from skilljuror.base.skill import Bundle, Copy, Omitted, Plan, PlannedFile
from skilljuror.layouts.disclosure import flat_skill
from skilljuror.layouts.editing.page_builder import PageBuilder
from skilljuror.layouts.flattening import PlanParts, finish_plan
from skilljuror.layouts.sections import FlatSkill, LineRange
from skilljuror.skill.generated import TEMPLATES, EmbeddedFile, is_operational
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
            omitted=[*_omitted(flat, page, [*extracted])],
        )
        parts.files += (_verbatim(flat.path, path, file) for file, path in extracted.items())
        return finish_plan(self.variant, self.parent, parts, flat.texts)


def _kept(flat: FlatSkill, extracted: list[EmbeddedFile]) -> Iterator[LineRange]:
    """The page's ranges without markers and content of the extracted files, and without a title of shared
    files that has nothing left below it."""
    out = {line for file in extracted for line in range(file.heading.start, file.end + 1)}
    last = next((n for n in reversed(range(len(flat.lines))) if _stays(flat, n, out)), -1)
    if last >= 0 and flat.lines[last] == TEMPLATES["shared"]:
        out.add(last)
    start = 0
    for stop in [*sorted(out), len(flat.lines)]:
        first, end = without_blank_edges(flat.lines, start, stop)
        if first < end:
            yield first, end
        start = stop + 1


def _stays(flat: FlatSkill, line: int, out: set[int]) -> bool:
    return line not in out and bool(flat.lines[line].strip())


def _omitted(
    flat: FlatSkill, page: PageBuilder, extracted: list[EmbeddedFile]
) -> Iterator[Omitted]:
    carried = {line for file in extracted for line in range(file.start, file.end)}
    for piece in page.pieces:
        if isinstance(piece, Copy):
            carried.update(range(piece.start - 1, piece.end))
    for number, line in enumerate(flat.lines):
        if number not in carried:
            yield Omitted(flat.path, number + 1, line)


def _verbatim(page: str, path: str, file: EmbeddedFile) -> PlannedFile:
    piece, text = Copy(page, file.start + 1, file.end), file.text
    return PlannedFile(path, (piece,), file.executable, text.final_newline, text.bom, text.crlf)

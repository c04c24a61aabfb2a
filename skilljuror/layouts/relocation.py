"""Where the text of a flat page goes, and how links and mentions of files in it follow."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from skilljuror.audit.comparison.inline_spans import command_spans
from skilljuror.audit.comparison.normalised_text import folders_above
from skilljuror.audit.plans.render import can_shift, copies_of
from skilljuror.audit.plans.working_folders import WorkingFolders, names_folder
from skilljuror.base.skill import (
    Copy,
    Generated,
    Plan,
    PlannedFile,
    Substitution,
    SubstitutionKind,
    is_root_name,
)
from skilljuror.layouts.editing import (
    PageBuilder,
    is_local,
    link_between,
    link_spans,
    linked_paths,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.layouts.sections import FlatSkill, LineRange, SectionNode, merged_ranges, ranges_of
from skilljuror.skill.generated import EmbeddedFile
from skilljuror.skill.markdown import Heading, slug, visible_text, without_blank_edges

NAME_WORDS = 6
"""Words of a title in the name of a file."""


class AsWritten(NamedTuple):
    """A line of the source, of which the flat page has a copy."""

    file: str
    text: str | None  # its text where the flat page changed it
    shift: int  # by how many levels its heading was moved


def _as_written(page: str, plan: Plan) -> dict[int, AsWritten]:
    """0-based line of the flat page -> the line of the source."""
    found: dict[int, AsWritten] = {}
    for planned in plan.files:
        for piece, first in copies_of(planned) if planned.path == page else ():
            before = {change.line: change.before for change in piece.substitutions}
            for number in range(piece.size):
                text = before.get(piece.start + number)
                found[first + number] = AsWritten(piece.source, text, piece.shift)
    return found


class FileLayout:
    """The files of a variant: the text of sections that leave, and the files that the page carries."""

    def __init__(self, flat: FlatSkill, flattened: Plan | None = None) -> None:
        """`flattened` is the plan of the flat page; with it the author's links and levels come back as they were."""
        self.flat = flat
        self.folder = str(PurePosixPath(flat.path).parent)
        self.written = _as_written(flat.path, flattened) if flattened else {}
        self._flags = flattened.flags if flattened else {}
        whole = self.written.get(0)  # of several skills, the page has a frontmatter of its own
        self._source = f"{PurePosixPath(whole.file).parent}/" if whole else ""
        self.data_files = [path for path in flat.bundle.files if path != flat.path]
        self.pages: list[PageBuilder] = []
        self.page_of: dict[int, PageBuilder] = {}
        """First line of a section that left -> its page."""
        self.verbatim_files: list[PlannedFile] = []
        """Carried files that are extracted byte for byte."""
        self.variant_paths: dict[str, str] = {}
        """Path in a marker -> path in the variant."""
        fixed = [
            f"{self.folder}/{one.path}" for one in flat.embedded_files if self._keeps_path(one)
        ]
        self._taken = {path.casefold() for path in [*self.data_files, flat.path, *fixed]}
        self._taken_folders = {one for path in self._taken for one in folders_above(path)}
        self._taken |= {path.casefold() for path in flat.linked_paths} - self._taken_folders
        number, self._references = 2, "references"
        while f"{self.folder}/{self._references}".casefold() in self._taken:
            self._references, number = f"references-{number}", number + 1

    def shown(self, path: str) -> str:
        """Return a variant path relative to the skill's folder."""
        return path.removeprefix(f"{self.folder}/")

    def has(self, path: str) -> bool:
        """Whether the layout has a file or folder at `path`."""
        files = [*self.data_files, self.flat.path, *(page.path for page in self.pages)]
        files += [planned.path for planned in self.verbatim_files]
        return any(file == path or file.startswith(f"{path}/") for file in files)

    def reserve_path(self, path: str) -> str:
        """Reserve and return a path below the skill's folder that differs, ignoring case, from all files and folders
        and from link targets of the source: a broken link must not lead to unrelated text."""
        pure = PurePosixPath(f"{self.folder}/{path}")
        candidate, number = str(pure), 2
        while (
            (key := candidate.casefold()).endswith("/skill.md")
            or key in self._taken
            or key in self._taken_folders
        ):
            candidate, number = (
                str(pure.with_name(f"{pure.stem}-{number}{pure.suffix}")),
                number + 1,
            )
        self._taken.add(candidate.casefold())
        self._taken_folders.update(folders_above(candidate.casefold()))
        return candidate

    def add_section(self, node: SectionNode) -> None:
        """Add a page for a section that leaves."""
        title = visible_text(node.title).partition(" (")[0]
        name = slug(" ".join(title.split()[:NAME_WORDS]), empty="section")
        ranges = merged_ranges(list(ranges_of(node)))
        page = PageBuilder(
            self.reserve_path(f"{self._folder_of(node.start)}/{name}.md"), self.flat.texts
        )
        shift = 1 - node.level
        self._copy_ranges(page, ranges, shift if can_shift(self._headings_in(ranges), shift) else 0)
        self.pages.append(page)
        self.page_of[node.start] = page

    def add_embedded(self) -> None:
        """Add the carried files: Markdown as pages, everything else unchanged."""
        for file in self.flat.embedded_files:
            path = self._path_of(file)
            self.variant_paths[file.path] = path
            if file.fenced:
                piece, text = Copy(self.flat.path, file.start + 1, file.end), file.text
                flags = text.final_newline, text.bom, text.crlf
                self.verbatim_files.append(PlannedFile(path, (piece,), file.executable, *flags))
            else:
                headings = self._headings_in([(file.start, file.end)])
                shift = 1 - min((heading.level for heading in headings), default=1)
                if headings and headings[0].start in self.written:
                    shift = -self.written[headings[0].start].shift
                page = PageBuilder(path, self.flat.texts)
                shift = shift if can_shift(headings, shift) else 0
                self._copy_ranges(page, [(file.start, file.end)], shift)
                self.pages.append(page)

    def line_as_written(self, line: int, page: str) -> str | None:
        """Return a line of the flat page as its author wrote it, if it stands in the author's file again."""
        known = self.written.get(line)
        if known is None or self.flat.skills or not self._is_file(known.file, page):
            return None
        return self.flat.lines[line] if known.text is None else known.text

    def flags_of(self, page: PageBuilder) -> dict[str, bool]:
        """Return the line ends and the mark that the author's file had, for a page that is this file again."""
        flags = next(
            (one for path, one in self._flags.items() if self._is_file(path, page.path)), ()
        )
        return {
            "final_newline": "no-final-newline" not in flags or isinstance(page.pieces[-1], Generated),
            "bom": "bom" in flags, "crlf": "crlf" in flags,
        }  # fmt: skip

    def _is_file(self, path: str, page: str) -> bool:
        return path == f"{self._source}{self.shown(page)}"

    def _keeps_path(self, file: EmbeddedFile) -> bool:
        """Whether a carried file keeps its path: all but the roots of further Skills, which are pages now."""
        return not self.flat.skills or not is_root_name(file.path)

    def _path_of(self, file: EmbeddedFile) -> str:
        if self._keeps_path(file):
            return f"{self.folder}/{file.path}"
        skill = self.flat.skill_at(file.heading.start)
        name = PurePosixPath(self.flat.inner_path(file)).parent.name or skill or "skill"
        return self.reserve_path(f"{self._folder_of(file.heading.start)}/{name}.md")

    def _folder_of(self, line: int) -> str:
        skill = self.flat.skill_at(line)
        return f"{self._references}/{slug(skill)}" if skill else self._references

    def _copy_ranges(self, page: PageBuilder, ranges: list[LineRange], shift: int) -> None:
        """Copy ranges; below the title, name the folder to run commands from where the page does not."""
        headings = self._headings_in(ranges)
        folder = self._missing_folder(ranges)
        if folder and headings and headings[0].start == ranges[0][0]:
            page.copy(self.flat.path, headings[0].start + 1, headings[0].end, shift)
            ranges = [(headings[0].end, ranges[0][1]), *ranges[1:]]
        if folder:
            page.gap()
            page.generate("directory", path=folder)
        for start, end in ranges:
            page.gap()
            self.copy_trimmed(page, start, end, shift)

    def _missing_folder(self, ranges: Sequence[LineRange]) -> str | None:
        needed = (one for start, end in ranges for one in self._working_folders.needed(start, end))
        _, folder = next(needed, (0, None))
        lines = [line for start, end in ranges for line in self.flat.lines[start:end]]
        return None if folder is None or names_folder(lines, folder) else folder

    @cached_property
    def _working_folders(self) -> WorkingFolders:
        return WorkingFolders(self.flat.bundle, self.flat.path, self.flat.markdown)

    def _headings_in(self, ranges: Iterable[LineRange]) -> list[Heading]:
        inside = [range(start, end) for start, end in ranges]
        every = self.flat.markdown.headings
        return [one for one in every if any(one.start in lines for lines in inside)]

    def copy_trimmed(self, page: PageBuilder, start: int, end: int, shift: int = 0) -> None:
        """Copy lines of the flat page without blank ones at their edges."""
        start, end = without_blank_edges(self.flat.lines, start, end)
        if end > start:
            page.copy(self.flat.path, start + 1, end, shift)


class LineRelocator:
    """Rewrite the copied lines of the pages of one layout."""

    def __init__(self, layout: FileLayout, pages: Sequence[PageBuilder]) -> None:
        self.layout = layout
        self.flat = layout.flat
        self.pages = pages
        self._lines: dict[str, list[int]] = defaultdict(list)
        """Anchor in the flat file -> 0-based lines of its headings."""
        for line, anchor in self.flat.markdown.anchor_at.items():
            self._lines[anchor].append(line)
        self._embedded = {
            file.heading.start: (layout.variant_paths[file.path], "")
            for file in self.flat.embedded_files
        }
        self._places: dict[str, tuple[str, str] | None] = {}
        self._anchors: dict[str, list[tuple[int, str]]] = {}
        self._mentions = PathMentions(layout)
        renamed = {path for old, path in layout.variant_paths.items() if layout.shown(path) != old}
        self._new = renamed | {page.path for page in layout.page_of.values()}

    def planned(self, page: PageBuilder) -> PlannedFile:
        pieces = [
            piece if isinstance(piece, Generated) else self._relocated(piece, page)
            for piece in page.pieces
        ]
        return PlannedFile(page.path, tuple(pieces), **self.layout.flags_of(page))

    def line(self, number: int, page: str) -> str:
        """Return line `number` (0-based) of the flat file, corrected for a page."""
        return self._relocated_line(number, page)[0]

    def _relocated(self, piece: Copy, page: PageBuilder) -> Copy:
        changes = tuple(self._substitutions(piece, page.path))
        if not changes:
            return piece
        return Copy(piece.source, piece.start, piece.end, piece.shift, changes)

    def _substitutions(self, piece: Copy, page: str) -> Iterator[Substitution]:
        first = max(piece.start, self.flat.markdown.frontmatter_lines + 1)
        for number in range(first, piece.end + 1):
            after, kind = self._relocated_line(number - 1, page)
            before = self.flat.lines[number - 1]
            if after != before:
                yield Substitution(number, before, after, kind)

    def _relocated_line(self, line: int, page: str) -> tuple[str, SubstitutionKind]:
        """Correct a line of prose. Code is unchanged: it must mean the same in every layout."""
        before = self.flat.lines[line]
        if line not in self.flat.markdown.link_lines:
            return before, "link"
        skill = self.flat.skill_at(line)
        text = rewrite_links(before, lambda target: self._new_target(target, page, skill))
        renamed = self._mentions.renamed(text, skill)
        written = self.layout.line_as_written(line, page)
        moved = renamed != text or not self._new.isdisjoint(linked_paths(text, page))
        if written is not None and not moved:
            marks = len(before) - len(
                before.lstrip("#")
            )  # its level is set by the shift of the copy
            return before[:marks] + (written.lstrip("#") if marks else written), "link"
        return renamed, ("link" if renamed == text else "mention")

    def _new_target(self, target: str, page: str, skill: str) -> str | None:
        if not is_local(target):
            return None
        path, anchor = split_target(target)
        if not path:
            place = self._place(anchor)
            new = link_between(page, *place) if place else target
        else:
            sources = (self.flat.path, f"{self.layout.folder}/{skill or '.'}/SKILL.md")
            wanted = (resolve_from(source, path) for source in sources)
            known = next(filter(self.layout.has, wanted), None)
            new = link_between(page, known, anchor) if known else target
        return None if new == target else new

    def _place(self, anchor: str) -> tuple[str, str] | None:
        """(file, anchor there) of an anchor in the flat file; the last page counts if several hold its heading."""
        if anchor not in self._places:
            place = None
            for line in self._lines.get(anchor, ()):
                place = self._embedded.get(line, place)
            for page in self.pages if anchor in self._lines else ():
                place = self._on_page(page, anchor) or place
            self._places[anchor] = place
        return self._places[anchor]

    def _on_page(self, page: PageBuilder, anchor: str) -> tuple[str, str] | None:
        lines = set(self._lines[anchor])
        copies = [piece for piece in page.pieces if isinstance(piece, Copy)]
        if not any(piece.start <= line + 1 <= piece.end for piece in copies for line in lines):
            return None
        if page.path not in self._anchors:
            self._anchors[page.path] = [(line, name) for _, line, name in page.copied_headings()]
        names = [name for line, name in self._anchors[page.path] if line in lines]
        return (page.path, names[-1]) if names else None


Renaming = tuple[re.Pattern[str], Mapping[str, str]]
"""Pattern of the old names, and the new name of each."""


class PathMentions:
    """New names of one layout's files, relative to the skill's folder."""

    def __init__(self, layout: FileLayout) -> None:
        self.layout = layout
        self._renamings = {
            skill: _renaming(names) for skill, names in self._new_names().items() if names
        }

    def renamed(self, text: str, skill: str) -> str:
        """Return text of a source skill with mentions of moved files corrected."""
        for key in dict.fromkeys((skill, "")):
            renaming = self._renamings.get(key)
            if renaming is not None:
                text = _rename_in_prose(text, *renaming)
        return text

    def _new_names(self) -> dict[str, dict[str, str]]:
        """Source skill ("" for any) -> old name of a moved file -> path from the root."""
        flat, anywhere = self.layout.flat, dict[str, str]()
        new_names: dict[str, dict[str, str]] = {"": anywhere}
        for file in flat.embedded_files:
            path = self.layout.shown(self.layout.variant_paths[file.path])
            if path != file.path:
                anywhere[file.path] = path
                skill = flat.skill_at(file.heading.start)
                new_names.setdefault(skill, {})[flat.inner_path(file)] = path
        return new_names


def _renaming(names: Mapping[str, str]) -> Renaming:
    longest = sorted(names, key=lambda name: (-len(name), name))
    alternatives = "|".join(re.escape(name) for name in longest)
    return re.compile(rf"(?<![\w./-])(?:{alternatives})(?![\w/-]|\.\w)"), names


def _rename_in_prose(text: str, pattern: re.Pattern[str], names: Mapping[str, str]) -> str:
    kept = sorted([*link_spans(text), *command_spans(text)])
    parts, place = [], 0
    for start, end in [*kept, (len(text), len(text))]:
        if start >= place:
            parts.append(pattern.sub(lambda match: names[match[0]], text[place:start]))
            parts.append(text[start:end])
            place = end
    return "".join(parts)

"""Assign the text of a flat skill to files for Progressive Disclosure, before links are set."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from skilljuror.audit.comparison.normalised_text import folders_above
from skilljuror.audit.plans.render import can_shift
from skilljuror.audit.plans.working_folders import WorkingFolders, names_folder
from skilljuror.base.skill import Copy, PlannedFile, is_markdown
from skilljuror.layouts.disclosure.root_scope import FileUnit
from skilljuror.layouts.disclosure.sections import (
    FlatSkill,
    LineRange,
    merged_ranges,
)
from skilljuror.layouts.disclosure.trigger_cues import (
    GENERIC,
    opening_sentences,
    short_title,
    topics,
)
from skilljuror.layouts.editing.page_builder import PageBuilder
from skilljuror.skill.generated import EmbeddedFile
from skilljuror.skill.markdown import Heading, slug, visible_text, without_blank_edges

LONG_LINES = 100  # lines from which a reference opens with a table of contents


@dataclass(slots=True)
class ReferenceFile:
    """A Markdown file to which the root routes."""

    page: PageBuilder
    titles: tuple[str, ...]  # headings that describe it, the widest first
    embedded: EmbeddedFile | None = None  # its embedded file; None for sections of the root
    skill: str = ""  # folder of its source skill, if the page holds several
    unit: FileUnit | None = None  # the sections that it holds


class FileLayout:
    """The assignment of a flat skill's text to the files of a variant."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        self.folder = str(PurePosixPath(flat.path).parent)
        self.data_files = [path for path in flat.bundle.files if path != flat.path]
        self.references: list[ReferenceFile] = []
        self.verbatim_files: list[tuple[EmbeddedFile, PlannedFile]] = []
        """Embedded files that are extracted byte for byte."""
        self.variant_paths: dict[str, str] = {}  # path in a marker -> path in the variant
        fixed = [f"{self.folder}/{one.path}" for one in flat.embedded_files if self.keeps_path(one)]
        self._taken = {path.casefold() for path in [*self.data_files, flat.path, *fixed]}
        self._taken_folders = {one for path in self._taken for one in folders_above(path)}
        linked = {path.casefold() for path in flat.linked_paths}
        self._taken |= linked - self._taken_folders
        self._last_count: dict[str, int] = {}  # contested path -> last number appended to it
        self._references_folder = self._free_folder("references")

    def shown(self, path: str) -> str:
        """Return a variant path relative to the skill's folder."""
        return path.removeprefix(f"{self.folder}/")

    def keeps_path(self, file: EmbeddedFile) -> bool:
        """Whether an embedded file keeps its path: all but SKILL.md, which would become a second skill."""
        return PurePosixPath(file.path).name.lower() != "skill.md"

    def reserve_path(self, name: str) -> str:
        """Reserve and return a free path next to the root, named `name` or similar."""
        return self._free(f"{self.folder}/{name}")

    def skill_of_reference(self, reference: ReferenceFile) -> str:
        """Return the source skill's folder, or "" for shared files."""
        file = reference.embedded
        return self.flat.owner_at(file.heading.start) if file else reference.skill

    def skill_of_data(self, path: str) -> str:
        """Return the source skill whose folder holds a data file, or "" for shared files."""
        shown = self.shown(path)
        holders = [skill for _, skill in self.flat.skills if shown.startswith(f"{skill}/")]
        return max(holders, key=len, default="")

    def add_sections(self, units: Iterable[FileUnit]) -> None:
        """Add a reference for each unit that leaves the root."""
        for unit in units:
            first = unit.groups[0]
            name = self._file_name(unit)
            title = visible_text(first.title) or name
            path = self._free(
                f"{self._folder_of(first.skill)}/{slug(name, empty=slug(self.opening(unit)))}.md"
            )
            page = PageBuilder(path, self.flat.texts)
            tops = [one.title or title for one in unit.groups]
            self._fill(page, unit.ranges, topics(tops) or title)
            headings = self.headings_in(unit.ranges)
            titles = [*tops, *(one.title for one in headings if one.start not in first.above)]
            self.references.append(
                ReferenceFile(page, tuple(dict.fromkeys(titles)), skill=first.skill, unit=unit)
            )

    def opening(self, unit: FileUnit) -> str:
        """Return the first sentence of a file, "" if it has none."""
        passages = (one for lines in unit.ranges for one in self.flat.markdown.passages_in(*lines))
        return opening_sentences(next((one.text for one in passages), ""), 0)

    def _file_name(self, unit: FileUnit) -> str:
        """The title of a section; of several, or of one with a general title, that of the heading above."""
        first = unit.groups[0]
        above = visible_text(first.path[-1]) if len(first.path) > 1 else ""
        title = short_title(first.title)
        if len(unit.groups) > 1 and above:
            return short_title(above)
        if title.lower() in GENERIC and above not in {"", first.skill}:
            return f"{short_title(above)} {title}"
        return title or above or PurePosixPath(self.folder).name

    def _folder_of(self, skill: str) -> str:
        folder = f"{self.folder}/{self._references_folder}"
        return f"{folder}/{slug(skill)}" if skill else folder

    def add_embedded(self) -> None:
        """Add embedded files: Markdown as references, everything else unchanged."""
        for file in self.flat.embedded_files:
            path = self._path_of(file)
            self.variant_paths[file.path] = path
            if file.fenced and not is_markdown(file.path):
                self.verbatim_files.append((file, self._verbatim(path, file)))
            else:
                self._add_markdown(path, file)

    def has(self, path: str) -> bool:
        """Whether the layout has a file or folder at `path`."""
        files = [*self.data_files, self.flat.path]
        files += [reference.page.path for reference in self.references]
        files += [planned.path for _, planned in self.verbatim_files]
        return any(file == path or file.startswith(f"{path}/") for file in files)

    def _path_of(self, file: EmbeddedFile) -> str:
        if self.keeps_path(file):
            return f"{self.folder}/{file.path}"
        skill = self.flat.skill_at(file.heading.start)
        name = PurePosixPath(self.flat.inner_path(file)).parent.name or skill or "skill"
        return self._free(f"{self._folder_of(skill)}/{name}.md")

    def _free_folder(self, name: str) -> str:
        candidate, count = name, 2
        while f"{self.folder}/{candidate}".casefold() in self._taken:
            candidate, count = f"{name}-{count}", count + 1
        return candidate

    def _free(self, path: str) -> str:
        """Reserve a path that differs, ignoring case, from all files and folders and from link targets of
        the source: a broken link must not lead to unrelated text."""
        pure = PurePosixPath(path)
        candidate, count = path, self._last_count.get(path, 1)
        while self._is_taken(candidate):
            count += 1
            candidate = str(pure.with_name(f"{pure.stem}-{count}{pure.suffix}"))
        self._last_count[path] = count
        self._taken.add(candidate.casefold())
        self._taken_folders.update(folders_above(candidate.casefold()))
        return candidate

    def _is_taken(self, path: str) -> bool:
        key = path.casefold()
        return key.endswith("/skill.md") or key in self._taken or key in self._taken_folders

    def _fill(self, page: PageBuilder, ranges: Sequence[LineRange], title: str) -> None:
        """Copy ranges, promoted so that the page opens with one level-1 heading."""
        headings = self.headings_in(ranges)
        level = min((heading.level for heading in headings), default=1)
        tops = [heading for heading in headings if heading.level == level]
        alone = len(tops) == 1 and tops[0].start == ranges[0][0]
        if not alone:
            page.generate("reference-title", title=title or PurePosixPath(page.path).stem)
        shift = min(0, (1 if alone else 2) - level)
        self._copy_ranges(page, ranges, shift if can_shift(headings, shift) else 0)

    def _copy_ranges(self, page: PageBuilder, ranges: Sequence[LineRange], shift: int) -> None:
        """Copy ranges; add the working folder of commands and, to a long page, a table of contents."""
        rest = merged_ranges(ranges)
        headings = self.headings_in(rest)
        lines = sum(end - start for start, end in rest)
        listed = [
            visible_text(heading.title)
            for heading in headings
            if 2 <= heading.level + shift <= 3 and visible_text(heading.title)
        ]
        has_list = any("contents" in heading.title.lower() for heading in headings)
        opens = bool(headings) and headings[0].start == rest[0][0]
        opens = opens and headings[0].level + shift == 1
        long = lines > LONG_LINES and len(listed) >= 3 and not has_list
        folder = self._missing_folder(rest)
        if opens and (long or folder):
            page.copy(self.flat.path, headings[0].start + 1, headings[0].end, shift)
            rest[0] = (headings[0].end, rest[0][1])
        if folder:
            page.gap()
            page.generate("directory", path=folder)
        if long and page.lines:
            page.contents(listed)
        for start, end in rest:
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

    def headings_in(self, ranges: Sequence[LineRange]) -> list[Heading]:
        headings = self.flat.markdown.headings

        def place(line: int) -> int:
            return bisect_left(headings, line, key=lambda heading: heading.start)

        numbers = {n for start, end in ranges for n in range(place(start), place(end))}
        return [headings[number] for number in sorted(numbers)]

    def copy_trimmed(self, page: PageBuilder, start: int, end: int, shift: int = 0) -> None:
        start, end = without_blank_edges(self.flat.lines, start, end)
        if end > start:
            page.copy(self.flat.path, start + 1, end, shift)

    def _verbatim(self, path: str, file: EmbeddedFile) -> PlannedFile:
        piece = Copy(self.flat.path, file.start + 1, file.end)
        text = file.text
        return PlannedFile(path, (piece,), file.executable, text.final_newline, text.bom, text.crlf)

    def _add_markdown(self, path: str, file: EmbeddedFile) -> None:
        if file.fenced:
            self.verbatim_files.append((file, self._verbatim(path, file)))
            return
        ranges = [(file.start, file.end)]
        headings = self.headings_in(ranges)
        level = min((heading.level for heading in headings), default=1)
        shift = 1 - level if can_shift(headings, 1 - level) else 0
        page = PageBuilder(path, self.flat.texts)
        titles = tuple(heading.title for heading in headings)
        reference = ReferenceFile(page, titles, file, skill=self.flat.skill_at(file.start))
        self.references.append(reference)
        self._copy_ranges(page, ranges, shift)

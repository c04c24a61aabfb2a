"""Assign the text of a flat skill to files for Progressive Disclosure, before links are set."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import unquote

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.knowledge.markdown.block_index import (
    Heading,
    can_shift,
    markdown_index,
    slug,
    visible_text,
)
from skilljuror.knowledge.markdown.text_file import without_blank_edges
from skilljuror.knowledge.plans.working_folders import WorkingFolders, names_folder
from skilljuror.knowledge.units.normalised_text import folders_above
from skilljuror.models.plan import Copy, Generated, PlannedFile
from skilljuror.models.resource_class import is_markdown
from skilljuror.tokens import estimate
from skilljuror.transforms.disclosure.sections import (
    FlatSkill,
    LineRange,
    SectionGroup,
    merged_ranges,
)
from skilljuror.transforms.disclosure.trigger_cues import all_topics, topics
from skilljuror.transforms.editing.links import link_between
from skilljuror.transforms.editing.page_builder import PageBuilder

MERGED = 4  # maximum number of sections that share a file
SMALL = 3  # a section may take at most 1/`SMALL` of a shared file's limit
SEQUENCE_TOKENS = 5_000  # estimated tokens up to which ordered text stays in one file


@dataclass(frozen=True, slots=True)
class FileUnit:
    """The content of one file."""

    groups: tuple[SectionGroup, ...]
    tops: tuple[SectionGroup, ...]
    """The complete sections, which name the file; a heading above the first does not count."""

    @property
    def ranges(self) -> list[LineRange]:
        return [lines for group in self.groups for lines in group.ranges]

    @property
    def tokens(self) -> int:
        return sum(group.tokens for group in self.groups)

    def goes_on(self, before: "FileUnit") -> bool:
        """Whether it continues the text of the file before."""
        first = self.groups[0]
        return first.continued and first.sequence == before.groups[-1].sequence

    def joined(self, other: "FileUnit") -> "FileUnit":
        return FileUnit(self.groups + other.groups, self.tops + other.tops)


def file_units(
    moved: Sequence[SectionGroup], merge_tokens: int, processes: frozenset[int] = frozenset()
) -> list[FileUnit]:
    """Return the files for sections in document order.

    A section and its subsections form one file; above `merge_tokens`, it is cut between its children.
    Small neighbours below one heading share a file. Ordered text, such as one of the `processes`, is cut
    only if it is too long for one file.
    """
    units: list[FileUnit] = []
    for section in _sections(moved, processes):
        ordered = section[0].continued or section[0].sequence in processes
        cut = _in_order(section) if ordered else _by_outline(section, merge_tokens)
        for unit in cut:
            if units and not ordered and _share(units[-1], unit, merge_tokens):
                units[-1] = units[-1].joined(unit)
            else:
                units.append(unit)
    return units


def _sections(
    moved: Sequence[SectionGroup], processes: frozenset[int] = frozenset()
) -> Iterator[list[SectionGroup]]:
    """Group sections by subtree; a process, or the rest of a sequence, is one subtree."""
    section: list[SectionGroup] = []
    for group in moved:
        first = section[0] if section else None
        inside = first is not None and (
            first.start in group.above
            or (
                first.sequence == group.sequence
                and (first.continued or first.sequence in processes)
                and not group.continued
            )
        )
        if section and not inside:
            yield section
            section = []
        section.append(group)
    if section:
        yield section


def _by_outline(section: Sequence[SectionGroup], limit: int) -> list[FileUnit]:
    head = section[0]
    whole = FileUnit(tuple(section), (head,))
    if len(section) == 1 or whole.tokens <= limit:
        return [whole]
    units: list[FileUnit] = []
    for child in _sections(section[1:]):
        for unit in _by_outline(child, limit):
            if units and _share(units[-1], unit, limit):
                units[-1] = units[-1].joined(unit)
            else:
                units.append(unit)
    tops = units[0].tops if head.heading_only else (head, *units[0].tops)
    units[0] = FileUnit((head, *units[0].groups), tops)
    return units


def _in_order(section: Sequence[SectionGroup]) -> list[FileUnit]:
    """One file, or several that are each filled up before the next."""
    units: list[FileUnit] = []
    parts = list(_sections([replace(group, continued=False) for group in section]))
    if len(parts) == 1 and sum(group.tokens for group in section) > SEQUENCE_TOKENS:
        parts = [parts[0][:1], *_sections(parts[0][1:])]
    for part in parts:
        unit = FileUnit(tuple(part), (part[0],))
        if units and units[-1].tokens + unit.tokens <= SEQUENCE_TOKENS:
            units[-1] = units[-1].joined(unit)
        else:
            units.append(unit)
    return [_begun(unit, section[0].continued or number > 0) for number, unit in enumerate(units)]


def _begun(unit: FileUnit, continued: bool) -> FileUnit:
    return replace(unit, groups=(replace(unit.groups[0], continued=continued), *unit.groups[1:]))


def _share(left: FileUnit, right: FileUnit, limit: int) -> bool:
    last, first = left.tops[-1], right.tops[0]
    siblings = (last.above, last.skill) == (first.above, first.skill)
    small = all(unit.tokens <= limit // SMALL * len(unit.tops) for unit in (left, right))
    adjoining = left.ranges[-1][1] == right.ranges[0][0]
    whole = not (left.groups[-1].continued or right.groups[0].continued)
    fits = left.tokens + right.tokens <= limit and len(left.tops) + len(right.tops) <= MERGED
    return siblings and small and adjoining and whole and fits


LONG_LINES = 100  # lines from which a reference opens with a table of contents
SPLIT_TOKENS = 6_000  # estimated tokens from which an embedded Markdown file is split into parts
PART_TOKENS = 3_000
PART_TITLES = 500  # characters of headings in the row of a part


@dataclass(slots=True)
class ReferenceFile:
    """A Markdown file to which the root routes."""

    page: PageBuilder
    titles: tuple[str, ...]  # headings that describe it, the widest first
    embedded: EmbeddedFile | None = None  # its embedded file; None for sections of the root
    part_of: "ReferenceFile | None" = None
    skill: str = ""  # folder of its source skill, if the page holds several
    parent_heading: str = ""  # the heading above its sections, other than the skill's title


class FileLayout:
    """The assignment of a flat skill's text to the files of a variant."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        self.folder = str(PurePosixPath(flat.path).parent)
        self.data_files = [path for path in flat.bundle.files if path != flat.path]
        self.references: list[ReferenceFile] = []
        self.moved_units: list[tuple[FileUnit, str]] = []
        """Sections that left the root, and their new file."""
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
        file = (reference.part_of or reference).embedded
        return self.flat.owner_at(file.heading.start) if file else reference.skill

    def skill_of_data(self, path: str) -> str:
        """Return the source skill whose folder holds a data file, or "" for shared files."""
        shown = self.shown(path)
        holders = [skill for _, skill in self.flat.skills if shown.startswith(f"{skill}/")]
        return max(holders, key=len, default="")

    def add_sections(self, moved: Sequence[SectionGroup], merge_tokens: int) -> None:
        """Add references made of sections that leave the root."""
        before: tuple[FileUnit, PageBuilder] | None = None
        for unit in file_units(moved, merge_tokens, self.flat.processes):
            first = unit.tops[0]
            title = visible_text(first.title) or visible_text("".join(first.path[-1:]))
            title = title or PurePosixPath(self.folder).name
            path = self._free(f"{self._folder_of(first.skill)}/{slug(title)}.md")
            page = PageBuilder(path, self.flat.texts)
            self._fill(
                page, unit.ranges, topics([one.title or title for one in unit.tops]) or title
            )
            titles = [one.title for one in unit.tops]
            headings = self.headings_in(unit.ranges)
            titles += [heading.title for heading in headings if heading.start not in first.above]
            reference = ReferenceFile(page, tuple(titles), skill=first.skill)
            reference.parent_heading = self._parent_heading(first)
            self.references.append(reference)
            self.moved_units.append((unit, page.path))
            if before and unit.goes_on(before[0]):
                template, params = next_row(link_between(before[1].path, path), unit)
                before[1].gap()
                before[1].generate(template, **params)
            before = unit, page

    def _folder_of(self, skill: str) -> str:
        folder = f"{self.folder}/{self._references_folder}"
        return f"{folder}/{slug(skill)}" if skill else folder

    def _parent_heading(self, group: SectionGroup) -> str:
        own = 2 if group.skill else 1
        return group.path[-1] if len(group.path) > own else ""

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
        parts = self._parts(file, level) if shift or level == 1 else []
        if not parts:
            self._copy_ranges(page, ranges, shift)
            return
        self._copy_ranges(page, [(file.start, parts[0][0][0])], shift)
        for part in parts:
            self._add_part(reference, part)

    def _parts(self, file: EmbeddedFile, top: int) -> list[list[LineRange]]:
        if estimate("\n".join(file.text.lines)) <= SPLIT_TOKENS:
            return []
        headings = self.headings_in([(file.start, file.end)])
        tops = [heading for heading in headings if heading.level == top]
        level = top + 1 if len(tops) == 1 else top
        later = (heading for heading in headings if heading.start > file.start)
        edges = [*(heading.start for heading in later if heading.level <= level), file.end]
        runs: list[list[LineRange]] = []
        size = 0
        for start, end in pairwise(edges):
            tokens = self.flat.tokens([(start, end)])
            if runs and size + tokens <= PART_TOKENS:
                runs[-1].append((start, end))
                size += tokens
            else:
                runs.append([(start, end)])
                size = tokens
        return runs if len(runs) > 1 else []

    def _add_part(self, whole: ReferenceFile, ranges: Sequence[LineRange]) -> None:
        titles = tuple(heading.title for heading in self.headings_in(ranges))
        folder = str(PurePosixPath(whole.page.path).with_suffix(""))
        path = self._free(f"{folder}/{slug(visible_text(titles[0]))}.md")
        page = PageBuilder(path, self.flat.texts)
        self._fill(page, ranges, topics(titles[:3]))
        part = ReferenceFile(page, titles, whole.embedded, whole)
        self.references.append(part)
        self._route_part(whole.page, part)

    def _route_part(self, page: PageBuilder, part: ReferenceFile) -> None:
        if not (page.pieces and _is_row(page.pieces[-1])):
            page.gap()
            page.generate("routing")
            page.generate("blank")
        link = link_between(page.path, part.page.path)
        headings = markdown_index(tuple(part.page.lines)).headings
        titles = (one.title for one in headings if one.level <= 2 and one.title in part.titles)
        about = all_topics(titles, PART_TITLES) or PurePosixPath(part.page.path).stem
        page.generate("row-read", path=unquote(link), link=link, topics=about)


def next_row(path: str, unit: FileUnit) -> tuple[str, dict[str, str]]:
    """Return the row that leads to the continuation of a text; `path` is a link to it."""
    about = topics(one.title for one in unit.tops) or PurePosixPath(path).stem
    return "row-next", {"path": unquote(path), "link": path, "topics": about}


def _is_row(piece: Copy | Generated) -> bool:
    return isinstance(piece, Generated) and piece.template.startswith("row-")

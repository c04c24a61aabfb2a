"""Lay text out for Progressive Disclosure: which file holds what, before any link is set."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import unquote

from skilljuror.models.resource_class import is_markdown
from skilljuror.knowledge.markdown.headings import can_shift, slug
from skilljuror.knowledge.markdown.block_index import Heading, visible_text
from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.knowledge.markdown.text_file import without_blank_edges
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Generated, PlannedFile
from skilljuror.tokens import estimate
from skilljuror.transforms.disclosure.trigger_cues import topics
from skilljuror.transforms.editing.links import link_between
from skilljuror.transforms.editing.page_builder import Page
from skilljuror.transforms.disclosure.sections import FlatSkill, Group, Range, joined

MERGED = 4
"""Most sections that share one reference."""
LONG_LINES = 100
"""Lines from which a reference opens with a list of its contents."""
SPLIT_TOKENS = 6_000
"""Estimated tokens from which a carried Markdown file is split into parts."""
PART_TOKENS = 3_000


@dataclass(slots=True)
class Reference:
    """A Markdown file that the root routes to."""

    page: Page
    titles: tuple[str, ...]
    """Headings that say what it is about, the widest first."""
    file: EmbeddedFile | None = None
    """The carried file it comes from; None for sections of the root."""
    whole: "Reference | None" = None
    """The file it is a part of."""
    unit: str = ""
    """Folder of the source skill it comes from, where the page holds several."""
    merged: bool = False
    """Whether it holds several sections that stood side by side."""
    above: str = ""
    """The heading that its sections stood under, where that is not the skill's own title."""


class Layout:
    """The files of one layout."""

    def __init__(self, parent: Bundle, sources: BundleTexts, flat: FlatSkill) -> None:
        self.flat = flat
        self.sources = sources
        self.folder = str(PurePosixPath(flat.path).parent)
        self.data = [path for path in parent.files if path != flat.path]
        self.references: list[Reference] = []
        self.runs: list[tuple[list[Group], str]] = []
        """Sections that left the root, and the file they went to."""
        self.verbatim: list[tuple[EmbeddedFile, PlannedFile]] = []
        self.placed: dict[str, str] = {}
        """Path in a marker -> path in the variant."""
        fixed = [f"{self.folder}/{one.path}" for one in flat.embedded if self.keeps_path(one)]
        self._names = {path.casefold() for path in [*self.data, flat.path, *fixed]}
        self._home = self._free_folder("references")

    def keeps_path(self, file: EmbeddedFile) -> bool:
        """Whether a carried file goes back to its own path: all but a SKILL.md, since a second one
        would be taken for a skill."""
        return PurePosixPath(file.path).name.lower() != "skill.md"

    def reserved(self, name: str) -> str:
        """A path beside the root, by this name or one like it, that no other file will take."""
        return self._free(f"{self.folder}/{name}")

    def home_of(self, reference: Reference) -> str:
        """The folder of the source skill that a reference is of; "" outside of any."""
        file = (reference.whole or reference).file
        return self.flat.home(file.heading.start) if file else reference.unit

    def unit_of(self, path: str) -> str:
        """The source skill whose folder holds a data file; "" outside of any."""
        shown = path.removeprefix(f"{self.folder}/")
        inside = [unit for _, unit in self.flat.units if shown.startswith(f"{unit}/")]
        return max(inside, key=len, default="")

    def add_sections(self, moved: Sequence[Group], merge_tokens: int) -> None:
        """References out of sections that leave the root."""
        for run in merged(moved, merge_tokens):
            title = visible_text(run[0].title) or visible_text(run[0].path[-1] if run[0].path else "")
            title = title or PurePosixPath(self.folder).name
            place = f"{self._home}/{slug(run[0].unit)}" if run[0].unit else self._home
            page = Page(self._free(f"{self.folder}/{place}/{slug(title)}.md"), self.sources)
            ranges = [one for group in run for one in group.ranges]
            self._fill(page, ranges, topics([group.title or title for group in run]) or title)
            titles = [group.title for group in run]
            titles += [one.title for one in self.headings_in(ranges)]
            self.references.append(
                Reference(
                    page,
                    tuple(titles),
                    unit=run[0].unit,
                    merged=len(run) > 1,
                    above=self._above(run[0]),
                )
            )
            self.runs.append((run, page.path))

    def _above(self, group: Group) -> str:
        """The nearest heading above a group, below the title of its skill."""
        own = 2 if group.unit else 1
        return group.path[-1] if len(group.path) > own else ""

    def add_carried(self) -> None:
        """Files out of markers: Markdown as references, everything else as it was."""
        for file in self.flat.embedded:
            path = self._path_of(file)
            self.placed[file.path] = path
            if file.fenced and not is_markdown(file.path):
                self.verbatim.append((file, self._verbatim(path, file)))
            else:
                self._carried_markdown(path, file)

    def has(self, path: str) -> bool:
        """Whether the layout has a file or a folder at the path."""
        files = [*self.data, self.flat.path]
        files += [one.page.path for one in self.references]
        files += [planned.path for _, planned in self.verbatim]
        return any(one == path or one.startswith(f"{path}/") for one in files)

    def _path_of(self, file: EmbeddedFile) -> str:
        if self.keeps_path(file):
            return f"{self.folder}/{file.path}"
        unit = self.flat.unit_at(file.heading.start)
        inner = file.path.removeprefix(f"{unit}/") if unit else file.path
        inner = f"{PurePosixPath(inner).parent.name or unit or 'skill'}.md"
        place = f"{self._home}/{slug(unit)}" if unit else self._home
        return self._free(f"{self.folder}/{place}/{inner}")

    def _free_folder(self, name: str) -> str:
        """A folder name that no file of the variant has."""
        candidate, count = name, 2
        while f"{self.folder}/{candidate}".casefold() in self._names:
            candidate, count = f"{name}-{count}", count + 1
        return candidate

    def _free(self, path: str) -> str:
        """A path that no other file or folder takes, whatever the case."""
        pure = PurePosixPath(path)
        candidate, count = path, 2
        while self._is_taken(candidate):
            candidate = str(pure.with_name(f"{pure.stem}-{count}{pure.suffix}"))
            count += 1
        self._names.add(candidate.casefold())
        return candidate

    def _is_taken(self, path: str) -> bool:
        key = path.casefold()
        return (
            key.endswith("/skill.md")
            or key in self._names
            or any(name.startswith(f"{key}/") for name in self._names)
        )

    def _fill(self, page: Page, ranges: Sequence[Range], title: str) -> None:
        """Copy ranges, promoted so that the page opens with one heading of level one."""
        inside = self.headings_in(ranges)
        level = min((one.level for one in inside), default=1)
        tops = [one for one in inside if one.level == level]
        alone = len(tops) == 1 and tops[0].start == ranges[0][0]
        if not alone:
            page.make("reference-title", title=title or PurePosixPath(page.path).stem)
        shift = min(0, (1 if alone else 2) - level)
        self.lay(page, ranges, shift if can_shift(inside, shift) else 0)

    def lay(self, page: Page, ranges: Sequence[Range], shift: int) -> None:
        """Copy ranges with gaps between them; a long page gets a list of its contents."""
        whole = joined(ranges)
        inside = self.headings_in(whole)
        lines = sum(end - start for start, end in whole)
        listed = [one for one in inside if 2 <= one.level + shift <= 3 and visible_text(one.title)]
        told = any("contents" in one.title.lower() for one in inside)
        opens = bool(inside) and inside[0].start == whole[0][0] and inside[0].level + shift == 1
        if lines > LONG_LINES and len(listed) >= 3 and not told and (opens or page.lines):
            if opens:
                page.copy(self.flat.path, inside[0].start + 1, inside[0].end, shift)
                whole[0] = (inside[0].end, whole[0][1])
            _contents(page, listed)
        for start, end in whole:
            page.gap()
            self.copy_trimmed(page, start, end, shift)

    def headings_in(self, ranges: Sequence[Range]) -> list[Heading]:
        """The top-level headings within the ranges."""
        headings, starts = self.flat.markdown.headings, self._starts
        inside = {
            number
            for start, end in ranges
            for number in range(bisect_left(starts, start), bisect_left(starts, end))
        }
        return [headings[number] for number in sorted(inside)]

    @cached_property
    def _starts(self) -> list[int]:
        return [one.start for one in self.flat.markdown.headings]

    def copy_trimmed(self, page: Page, start: int, end: int, shift: int = 0) -> None:
        """Copy lines without the blank ones at the edges."""
        start, end = without_blank_edges(self.flat.lines, start, end)
        if end > start:
            page.copy(self.flat.path, start + 1, end, shift)

    def _verbatim(self, path: str, file: EmbeddedFile) -> PlannedFile:
        piece = Copy(self.flat.path, file.start + 1, file.end)
        text = file.text
        return PlannedFile(path, (piece,), file.executable, text.final_newline, text.bom, text.crlf)

    def _carried_markdown(self, path: str, file: EmbeddedFile) -> None:
        if file.fenced:
            self.verbatim.append((file, self._verbatim(path, file)))
            return
        ranges = [(file.start, file.end)]
        inside = self.headings_in(ranges)
        level = min((one.level for one in inside), default=1)
        shift = 1 - level if can_shift(inside, 1 - level) else 0
        page = Page(path, self.sources)
        titles = tuple(one.title for one in inside)
        reference = Reference(page, titles, file, unit=self.flat.unit_at(file.start))
        self.references.append(reference)
        parts = self._parts(file, level) if shift or level == 1 else []
        if not parts:
            self.lay(page, ranges, shift)
            return
        self.copy_trimmed(page, file.start, parts[0][0][0], shift)
        for part in parts:
            self._add_part(reference, part)

    def _parts(self, file: EmbeddedFile, top: int) -> list[list[Range]]:
        """The sections of a large carried file, in runs small enough to be read alone."""
        if estimate("\n".join(file.text.lines)) <= SPLIT_TOKENS:
            return []
        heads = self.headings_in([(file.start, file.end)])
        tops = [one for one in heads if one.level == top]
        level = top + 1 if len(tops) == 1 else top
        starts = [one.start for one in heads if one.level <= level and one.start > file.start]
        edges = [*starts, file.end]
        runs: list[list[Range]] = []
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

    def _add_part(self, whole: Reference, part: Sequence[Range]) -> None:
        titles = tuple(one.title for one in self.headings_in(part))
        folder = str(PurePosixPath(whole.page.path).with_suffix(""))
        page = Page(self._free(f"{folder}/{slug(visible_text(titles[0]))}.md"), self.sources)
        self._fill(page, part, topics(titles[:3]))
        part_of = Reference(page, titles, whole.file, whole)
        self.references.append(part_of)
        self._route_part(whole.page, part_of)

    def _route_part(self, page: Page, part: Reference) -> None:
        """A row, in the file that was split, for one of its parts."""
        if not (page.pieces and _is_row(page.pieces[-1])):
            page.gap()
            page.make("routing")
            page.make("blank")
        link = link_between(page.path, part.page.path)
        about = topics(part.titles) or PurePosixPath(part.page.path).stem
        page.make("row-read", path=unquote(link), link=link, topics=about)


def _is_row(piece: Copy | Generated) -> bool:
    return isinstance(piece, Generated) and piece.template.startswith("row-")


def _contents(page: Page, headings: Sequence[Heading]) -> None:
    page.gap()
    page.make("contents")
    page.make("blank")
    for one in headings:
        page.make("contents-row", title=visible_text(one.title))


def merged(moved: Sequence[Group], merge_tokens: int) -> list[list[Group]]:
    """Groups side by side below the same heading share a reference while they are small."""
    runs: list[list[Group]] = []
    for group in moved:
        last = runs[-1] if runs else []
        size = sum(one.tokens for one in last) + group.tokens
        same = bool(last) and _adjoins(last[-1], group)
        if same and not group.headless and size <= merge_tokens and len(last) < MERGED:
            last.append(group)
        else:
            runs.append([group])
    return runs


def _adjoins(left: Group, right: Group) -> bool:
    same = (left.path, left.unit) == (right.path, right.unit)
    return same and left.ranges[-1][1] == right.ranges[0][0]

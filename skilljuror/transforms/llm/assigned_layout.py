"""A file layout chosen by a model: each file holds sections from anywhere."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.block_index import visible_text
from skilljuror.knowledge.markdown.headings import can_shift
from skilljuror.transforms.disclosure.file_layout import LONG_LINES, FileLayout, ReferenceFile
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup, merged_ranges
from skilljuror.transforms.disclosure.trigger_cues import topics
from skilljuror.transforms.editing.page_builder import PageBuilder

LISTED = 3
"""Sections from which a long file opens with a table of contents."""


class AssignedLayout(FileLayout):
    """A layout that places embedded files first, so that their paths are known."""

    def __init__(self, flat: FlatSkill) -> None:
        super().__init__(flat)
        self.add_embedded()
        self._embedded_references = self.references
        self.references = []

    def is_taken(self, path: str) -> bool:
        """Whether another file or folder has the path (below the skill's folder)."""
        return self._is_taken(self._variant_path(path))

    def shown_path(self, path: str) -> str:
        """Return a path of an answer or of the variant, relative to the root's folder."""
        inside = path.startswith(f"{self.folder}/")
        return self.shown(path if inside else self._variant_path(path))

    def _variant_path(self, path: str) -> str:
        """The variant path of a file that an answer puts below `references/`."""
        return f"{self._folder_of('')}/{path.removeprefix('references/')}"

    def add_file(self, path: str, groups: Sequence[SectionGroup]) -> None:
        """Add a reference at `path` with the groups in the given order."""
        page = PageBuilder(self._free(self._variant_path(path)), self.flat.texts)
        ranges = [lines for group in groups for lines in group.ranges]
        runs = [list(run) for _, run in groupby(groups, lambda group: (group.path, group.skill))]
        if len(runs) == 1:
            self._fill(page, ranges, self._title(groups))
        else:
            self._fill_runs(page, runs, self._title(groups))
        titles = [group.title for group in groups]
        titles += [heading.title for heading in self.headings_in(ranges)]
        self.references.append(ReferenceFile(page, tuple(titles)))

    def finish(self) -> None:
        """Move the references of embedded files behind those that were added."""
        self.references += self._embedded_references

    def _title(self, groups: Sequence[SectionGroup]) -> str:
        """The headings inside; for text that starts without its heading, that heading."""
        continued = not self.headings_in(groups[0].ranges[:1])
        titles = [group.title or "".join(group.path[-1:]) for group in groups]
        return topics(titles[:1] if continued else titles) or PurePosixPath(self.folder).name

    def _fill_runs(
        self, page: PageBuilder, runs: Sequence[Sequence[SectionGroup]], title: str
    ) -> None:
        page.generate("reference-title", title=title)
        titles = [visible_text(run[0].title) for run in runs if visible_text(run[0].title)]
        if len(titles) >= LISTED and sum(group.lines for run in runs for group in run) > LONG_LINES:
            page.contents(titles)
        for run in runs:
            ranges = merged_ranges([lines for group in run for lines in group.ranges])
            headings = self.headings_in(ranges)
            shift = 2 - min((heading.level for heading in headings), default=2)
            shift = shift if can_shift(headings, shift) else 0
            for start, end in ranges:
                page.gap()
                self.copy_trimmed(page, start, end, shift)

"""A layout whose files somebody else chose: sections from anywhere, in one file each."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.headings import can_shift
from skilljuror.knowledge.markdown.block_index import visible_text
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle
from skilljuror.transforms.disclosure.trigger_cues import topics
from skilljuror.transforms.disclosure.file_layout import LONG_LINES, Layout, Reference
from skilljuror.transforms.editing.page_builder import Page
from skilljuror.transforms.disclosure.sections import FlatSkill, Group, joined

LISTED = 3
"""Sections from which a long file opens with a list of its contents."""


class AssignedLayout(Layout):
    """Carried files are placed first, so that the paths they take are known."""

    def __init__(self, parent: Bundle, sources: BundleTexts, flat: FlatSkill) -> None:
        super().__init__(parent, sources, flat)
        self.add_carried()
        self._carried = self.references
        self.references = []

    def is_taken(self, path: str) -> bool:
        """Whether another file or folder has the path (below the skill's folder)."""
        return self._is_taken(self._placed(path))

    def shown_path(self, path: str) -> str:
        """A path as the root names it."""
        whole = path if path.startswith(f"{self.folder}/") else self._placed(path)
        return whole.removeprefix(f"{self.folder}/")

    def _placed(self, path: str) -> str:
        return f"{self.folder}/{self._home}/{path.removeprefix('references/')}"

    def add_file(self, path: str, groups: Sequence[Group]) -> None:
        """A reference at `path` that holds the groups in the order given."""
        page = Page(self._free(self._placed(path)), self.sources)
        ranges = [one for group in groups for one in group.ranges]
        runs = [list(run) for _, run in groupby(groups, lambda one: (one.path, one.unit))]
        if len(runs) == 1:
            self._fill(page, ranges, self._title(groups))
        else:
            self._fill_runs(page, runs, self._title(groups))
        titles = [group.title for group in groups]
        titles += [one.title for one in self.headings_in(ranges)]
        self.references.append(Reference(page, tuple(titles)))

    def finish(self) -> None:
        """Put the carried references behind those that were added."""
        self.references += self._carried

    def _title(self, groups: Sequence[Group]) -> str:
        """Headings of what is inside; of a text that stands first without its heading, that one."""
        headless = not self.headings_in(groups[0].ranges[:1])
        titles = [group.title or (group.path[-1] if group.path else "") for group in groups]
        told = topics(titles[:1] if headless else titles)
        return told or PurePosixPath(self.folder).name

    def _fill_runs(self, page: Page, runs: Sequence[Sequence[Group]], title: str) -> None:
        """Sections from several places of the document, each brought to level two."""
        page.make("reference-title", title=title)
        tops = [visible_text(run[0].title) for run in runs if visible_text(run[0].title)]
        if len(tops) >= LISTED and sum(one.lines for run in runs for one in run) > LONG_LINES:
            page.gap()
            page.make("contents")
            page.make("blank")
            for one in tops:
                page.make("contents-row", title=one)
        for run in runs:
            ranges = joined([one for group in run for one in group.ranges])
            inside = self.headings_in(ranges)
            shift = 2 - min((one.level for one in inside), default=2)
            shift = shift if can_shift(inside, shift) else 0
            for start, end in ranges:
                page.gap()
                self.copy_trimmed(page, start, end, shift)

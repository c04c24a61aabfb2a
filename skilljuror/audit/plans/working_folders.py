"""The folder to run commands from, which every layout must state.

A page of several skills names it at the start of each skill's section. A section that leaves the page
takes its commands along, so the sentence must be repeated there.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from posixpath import dirname

from skilljuror.audit.comparison.code_paths import commanded_paths
from skilljuror.audit.plans.render import BundleTexts, copies_of
from skilljuror.base.skill import Bundle, Generated, Plan, PlannedFile
from skilljuror.skill.generated import DIRECTORY, directory_path, embedded_files
from skilljuror.skill.markdown import MarkdownIndex


class WorkingFolders:
    """The folders that a flat page names for running its commands."""

    def __init__(self, bundle: Bundle, path: str, markdown: MarkdownIndex) -> None:
        marks: dict[int, str | None] = dict(_directory_lines(markdown))
        self.named = {folder for folder in marks.values() if folder}
        if self.named:
            marks |= {one.start: None for one in markdown.headings if one.level == 1}
        self._starts = sorted(marks)
        self._folders = [marks[line] for line in self._starts]
        carried = embedded_files(markdown) if self.named else ()
        files = {f"{dirname(path)}/{file.path}" for file in carried} | bundle.files.keys()
        whole = {n for file in carried if file.fenced for n in range(file.start, file.end)}
        self._commanded = {
            line
            for unit, place in (commanded_paths(bundle) if self.named else ())
            if unit.file == path and place in files
            for line in range(unit.start - 1, unit.end)
            if line not in whole
        }

    def needed(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield (line, folder) of every command in a range of lines (0-based, half-open) that names a file of
        the bundle, if the page names its folder. Fenced files do not count: they move byte for byte."""
        for line in range(start, end):
            place = bisect_right(self._starts, line) if line in self._commanded else 0
            folder = self._folders[place - 1] if place else None
            if folder is not None:
                yield line, folder


def _directory_lines(markdown: MarkdownIndex) -> Iterator[tuple[int, str]]:
    for line in markdown.prose_lines:
        folder = directory_path(markdown.lines[line])
        if folder is not None:
            yield line, folder


def names_folder(lines: Sequence[str], folder: str) -> bool:
    """Whether one of the lines names the folder to run commands from."""
    return any(directory_path(line) == folder for line in lines)


def folder_problems(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[tuple[str, str]]:
    """Yield (page, problem) for commands with a missing or different folder, and for unknown folders."""
    parent_texts, variant_texts = BundleTexts(parent.files), BundleTexts(variant.files)
    sources = {piece.source for file in plan.files for piece, _ in copies_of(file)}
    folders = {
        path: WorkingFolders(parent, path, parent_texts.markdown(path)) for path in sorted(sources)
    }
    known = {skill.directory for skill in parent.skills}
    known = known.union(*(one.named for one in folders.values()))
    for file in plan.files:
        for made in file.pieces:
            if isinstance(made, Generated) and made.template == DIRECTORY:
                named = {made.params["path"]}
                yield from (
                    (file.path, f"names an unknown working folder: {one!r}")
                    for one in named - known
                )
        stated = dict(_directory_lines(variant_texts.markdown(file.path))) if known else {}
        for place, folder in _needed_on(file, folders):
            if stated.get(max((at for at in stated if at < place), default=-1)) != folder:
                yield file.path, f"does not say to run its commands from {folder!r}"


def _needed_on(
    file: PlannedFile, folders: Mapping[str, WorkingFolders]
) -> Iterator[tuple[int, str]]:
    """(line of the file, folder) of every command with a folder in the parent."""
    for piece, first in copies_of(file):
        for line, folder in folders[piece.source].needed(piece.start - 1, piece.end):
            yield first + line + 1 - piece.start, folder
